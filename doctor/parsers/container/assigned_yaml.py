"""Compose files and Kubernetes manifests -> (line, name, value, how, scope) of each variable that they set.

The scope is the container. A command that is a script comes as how "script", its text as the value; an env_file as
how "file", its path as the value; what is not walked any more as one row of how "cut".

>>> list(rows("services:\\n  a:\\n    environment:\\n      NCCL_DEBUG: INFO\\n"))
[(4, 'NCCL_DEBUG', 'INFO', 'set', 'line 3')]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from doctor.parsers.lib.yaml_compose import composed

Row = tuple[int, str, str | None, str, str]
_Cell = tuple[int, str, str | None, str]
_COMMANDS = ("command", "args", "entrypoint", "before_script", "script", "after_script", "run")
MOST_NODES = 50_000

_TEMPLATE = re.compile(r"\{\{.{0,2000}?\}\}|\{%.{0,2000}?%\}|\{#.{0,2000}?#\}", re.DOTALL)
_NAME_LINE = re.compile(r"\s{0,80}-\s{0,9}name:\s{1,9}[\"']?([A-Za-z_][A-Za-z0-9_]{0,127})[\"']?\s{0,9}$")
_VALUE_LINE = re.compile(r"\s{0,80}value:\s{1,9}(\S.{0,4000})$")


def templated(text: str) -> str:
    """A template of Helm's or Jinja's as the YAML that is left of it: lines that are nothing but one are blank, a value
    that one computes is `$(template)`. Lines keep their numbers."""
    out = []
    for line in _TEMPLATE.sub(lambda m: "\0" + "\n" * m[0].count("\n"), text).split("\n"):
        bare = line.replace("\0", "").strip(" \t-")
        out.append("" if "\0" in line and not bare else line.replace("\0", "$(template)"))
    return "\n".join(out)


def line_by_line(text: str) -> Iterator[Row]:
    """`- name: NAME` with `value: TEXT` on the next line, for text that is not YAML. Strings and numbers are read
    alike."""
    name = ""
    for number, line in enumerate(text.split("\n"), 1):
        found = _VALUE_LINE.match(line) if name else None
        if found:
            value = found[1].split(" #")[0].strip()
            yield number, name, value.strip("\"'"), "set", "line by line"
        opened = _NAME_LINE.match(line)
        name = opened[1] if opened else (name if not line.strip() else "")


def rows(text: str) -> Iterator[Row]:
    """Raises ParserError for what is no YAML. Nodes are walked without building objects of them; an alias once."""
    seen: set[int] = set()
    waiting = list(reversed(composed(text)))
    while waiting and len(seen) < MOST_NODES:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting.extend(reversed(node.value))
        elif isinstance(node, yaml.MappingNode):
            scope = f"line {_line(node)}"
            for key, value in node.value:
                named = getattr(key, "value", "")
                if named in ("environment", "env") or (named == "variables" and isinstance(value, yaml.MappingNode)):
                    yield from ((*cell, scope) for cell in _variables(value))
                elif named == "env_file":
                    yield from ((*cell, scope) for cell in _files(value))
                elif named in _COMMANDS:
                    yield from ((*cell, scope) for cell in _scripts(value))
            waiting.extend(value for _, value in reversed(node.value))
    if waiting:
        yield _line(waiting[-1]), "", None, "cut", ""


def _variables(node: yaml.Node) -> Iterator[_Cell]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(value, yaml.ScalarNode):
                yield _line(key), key.value, None if value.tag.endswith(":null") else value.value, "set"
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _item(item)


def _item(node: yaml.Node) -> Iterator[_Cell]:
    if isinstance(node, yaml.ScalarNode):
        name, sign, value = node.value.partition("=")
        yield _line(node), name, value if sign else None, "set"
    elif isinstance(node, yaml.MappingNode):
        held = {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
        name, value = held.get("name"), held.get("value")
        if isinstance(name, yaml.ScalarNode):
            text = value.value if isinstance(value, yaml.ScalarNode) else None
            other = isinstance(value, yaml.ScalarNode) and not value.tag.endswith((":str", ":null"))
            yield _line(value or name), name.value, text, "number" if other else "set"


def _files(node: yaml.Node) -> Iterator[_Cell]:
    """`env_file`: a path, or a list of paths or of mappings with one."""
    for item in node.value if isinstance(node, yaml.SequenceNode) else [node]:
        held = (
            {k.value: v for k, v in item.value if isinstance(k, yaml.ScalarNode)}
            if isinstance(item, yaml.MappingNode)
            else {"path": item}
        )
        path = held.get("path")
        if isinstance(path, yaml.ScalarNode) and path.value:
            yield _line(path), "", path.value, "file"


def _scripts(node: yaml.Node) -> Iterator[_Cell]:
    """Texts of a command that a shell runs: those of several lines, or with an export."""
    held = node.value if isinstance(node, yaml.SequenceNode) else [node]
    for item in held:
        if isinstance(item, yaml.ScalarNode) and ("\n" in item.value.strip() or "export " in item.value):
            first = _line(item) + (item.style in ("|", ">"))
            yield first, "", item.value, "script"


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
