"""Text of a compose file -> its services as plain data, and the line of each key and item.

>>> file = read("services:\\n  a:\\n    image: x\\n    group_add:\\n      - video\\n")
>>> file.services["a"]["group_add"], file.line("services", "a", "group_add", 0)
(['video'], 5)

YAML's own composer with its safe tags; anchors and merge keys count, aliases are bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from doctor.errors import ParserError

MAX_TEXT = 1 << 20
_NODES = 50_000
_DEPTH = 60
Path = tuple["str | int", ...]


@dataclass(frozen=True)
class ComposeFile:
    services: Mapping[str, Mapping[str, Any]]
    lines: Mapping[Path, int] = field(default_factory=dict)

    def line(self, *path: str | int) -> int:
        """Of a key or item; of the nearest above it, where it has none."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read(text: str) -> ComposeFile:
    """Raises ParserError where it is no YAML, or has no services."""
    if len(text) > MAX_TEXT:
        raise ParserError("more than a compose file can be")
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        raise ParserError(f"{where}no YAML: {getattr(error, 'problem', None) or type(error).__name__}") from error
    walk = _Walk()
    data = walk.plain(root, (), 0) if root is not None else None
    services = data.get("services") if isinstance(data, dict) else None
    if not isinstance(services, dict) or not any(isinstance(s, dict) for s in services.values()):
        raise ParserError("no services in the text")
    return ComposeFile({str(k): s for k, s in services.items() if isinstance(s, dict)}, walk.lines)


class _Walk:
    def __init__(self) -> None:
        self.lines: dict[Path, int] = {}
        self.nodes = 0

    def plain(self, node: yaml.Node, path: Path, depth: int) -> Any:
        self.nodes += 1
        if self.nodes > _NODES or depth > _DEPTH:
            raise ParserError("too many or too deep values (aliases count each time they are used)")
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(item, (*path, n), depth + 1) for n, item in enumerate(node.value)]
        return _scalar(node)

    def mapping(self, node: yaml.MappingNode, path: Path, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            name = str(key.value)[:200] if isinstance(key, yaml.ScalarNode) else ""
            if name == "<<":
                parts = value.value if isinstance(value, yaml.SequenceNode) else [value]
                for part in parts:
                    more = self.plain(part, path, depth + 1)
                    merged |= more if isinstance(more, dict) else {}
                continue
            below = (*path, name)
            self.lines[below] = key.start_mark.line + 1
            found[name] = self.plain(value, below, depth + 1)
        return {**merged, **found}


def _scalar(node: yaml.Node) -> Any:
    """Booleans and null as such; all else as the text that was written."""
    value = str(node.value)
    shown = "".join(c if c.isprintable() else " " for c in value[:4000])
    if node.tag == "tag:yaml.org,2002:bool":
        return value.lower() in ("true", "yes", "on")
    return None if node.tag == "tag:yaml.org,2002:null" else shown
