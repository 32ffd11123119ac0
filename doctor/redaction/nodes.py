"""The values in a text and the keys that they stand under: JSON (whole, cut off, or inside a log), YAML, INI, TOML, `Key: value`
and `Key = value` lines, `KEY=value` anywhere, options of commands.

>>> [node.value for node in nodes('{"node": {"name": "ash1", "gpus": 4}} --team blue-ml') if node.above]
['ash1']
>>> [node.above for node in nodes("metadata:\\n  namespace: birds\\n")]
[(), ('metadata',)]
"""

# ruff: noqa: E501 -- patterns
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from doctor.redaction.lazy import Lazy

_Q = r"\\{0,7}[\"']"
_BARE = r"[^\s\0\"'`;|&<>(){}\[\]$,=]{1,80}(?:\[[\d,-]{1,80}\])?"
_VALUE = rf"(?={_Q}([^\"'\\\n]{{2,160}})|([A-Za-z0-9_@%+.\\]{_BARE}(?:,(?![\w.-]{{1,40}}=){_BARE}){{0,20}}))"
_PAIR = Lazy(
    rf"(?<![\w./$%-])(?<![${{]{{)(-{{0,2}}[A-Za-z_@][\w./-]{{1,60}})((?:{_Q})?)([ \t]{{0,12}}(?:=>|[=:])[ \t]{{0,12}}){_VALUE}"
)
_SENTENCE = Lazy(r" [a-z]{2,20}(?![\w.-]*\s?[=:])")
_FLAG = Lazy(rf"(?<![\w-])(--[a-z][\w-]{{1,40}})(?:{_Q},)?[ \t]{_VALUE}")
_XML = Lazy(r"<([A-Za-z_][\w.-]{1,60})(?: [Nn]ame=[\"']([\w.-]{1,60})[\"'])?>([^<>\n]{2,160})</")
_JSON = Lazy(r"[{}\[\]]|\\{0,7}\"([^\"\\\n]{0,300})\\{0,7}\"(\s{0,8}:)?")
_LINE = Lazy(
    r"([ \t]*(?:- +)*)([\"']?[A-Za-z_@][\w ./@+()-]{0,60}?[\"']?)[ \t]{0,40}(:|=)(?:[ \t]+|(?<==)|$)(.{0,300})\Z"
)
_SECTION = Lazy(r"\s*\[+([\w .:\"'-]{1,80})\]+\s*\Z")
_ITEM = Lazy(r"([ \t]*)- +([^\s:{\[][^:\n]{0,160})\Z")
_TWO = Lazy(r"[ \t]{0,20}([A-Za-z][\w.-]{1,40})([ \t]{1,40})([A-Za-z][\w.@-]{1,80})[ \t\r]{0,20}\Z")
"""A setting of two words; with one space between them only beside another one."""
_DEEPEST = 12


class Node(NamedTuple):
    """A value and its key. `firm` when quotes, `=` or a flag say that this is one, and no sentence."""

    key: str
    above: tuple[str, ...]
    value: str
    firm: bool
    at: int
    """Where the value stands in the text."""


def nodes(text: str) -> Iterator[Node]:
    if '":' in text or '" :' in text:
        yield from _of_json(text)
    if "=" in text or ":" in text or "--" in text or "</" in text:
        yield from _pairs(text)
    if "\n" in text or ":" in text or "=" in text:
        yield from _of_lines(text)


def _pairs(text: str) -> Iterator[Node]:
    for found in _PAIR.finditer(text):
        key, quoted, sign = found[1], found[2], found[3]
        if sign[-1] in " \t" and not found[4] and _SENTENCE.made.match(text, found.end(5)):
            continue
        firm = bool(quoted or found[4] or "=" in sign or key.startswith("-"))
        if firm or (sign[-1] in " \t" and "-" not in key):
            yield Node(key.strip("-"), (), found[4] or found[5], firm, found.end())
    if "</" in text:
        for found in _XML.finditer(text):
            yield Node(found[2] or found[1], (), found[3], True, found.start(3))
    if "--" in text:
        for found in _FLAG.finditer(text):
            yield Node(found[1].strip("-"), (), found[2] or found[3], True, found.end())


def _of_json(text: str) -> Iterator[Node]:
    stack: list[str] = []
    key = name = ""
    for found in _JSON.finditer(text):
        sign = found[0]
        if sign in "{[":
            if len(stack) < _DEEPEST:
                stack.append(key)
            key = "" if sign == "{" else key
        elif sign in "}]":
            key = ""
            if stack:
                stack.pop()
        elif found[2]:
            key = found[1]
        elif found[1]:
            low = key.lower()
            yield Node(name if low == "value" and name else key, tuple(stack[-3:]), found[1], True, found.start(1))
            name = found[1] if low in ("name", "key") else ""


def _of_lines(text: str) -> Iterator[Node]:
    """By their indentation, as YAML has it; a section of INI is above all that follow. Three in a row are a record."""
    stack: list[tuple[int, str]] = []
    section = name = ""
    lines = text.replace("**", "").split("\n")
    starts = accumulate((len(line) + 1 for line in lines), initial=0)
    found = [_LINE.match(line) if 3 < len(line) < 400 and line[-1] not in "{[" else None for line in lines]
    for number, (line, start) in enumerate(zip(lines, starts, strict=False)):
        pair = found[number]
        if len(line) < 400 and line.lstrip()[:1] == "[" and (opened := _SECTION.match(line)):
            section, stack = opened[1].replace('"', " ").split()[0].rpartition(".")[2], []
        elif not pair:
            if (
                len(line) < 200
                and (two := _TWO.match(line))
                and (two[2] != " " or any(_TWO.match(x) for x in lines[max(0, number - 1) : number + 2] if x != line))
            ):
                yield Node(two[1], (), two[3], True, start + two.start(3))
            if stack and len(line) < 400 and (item := _ITEM.match(line)):
                yield Node(stack[-1][1], tuple(key for _, key in stack[-4:-1]), item[2], False, start + item.start(2))
        else:
            indent, key, value = len(pair[1]), pair[2].strip("\"' ."), pair[4].partition(" #")[0].strip()
            while stack and stack[-1][0] >= indent:
                stack.pop()
            above = tuple(k for _, k in stack[-3:]) or ((section,) if section else ())
            if value[:1] == "{" and value[-1:] == "}":
                inner = start + line.index(value, pair.end(3)) + 1
                for node in _pairs(value[1:-1]):
                    yield node._replace(above=(*above, key), firm=True, at=node.at + inner)
            elif value.strip("\"'"):
                firm = pair[3] == "=" or value[:1] in "\"'" or (key.islower() and " " not in value)
                firm = firm or "  " in line[pair.end(3) : pair.start(4)] or _in_a_row(found, number)
                yield Node(name if key == "value" and name else key, above, value, firm, start + pair.end(3))
                name = value if key in ("name", "key") else ""
            elif len(stack) < _DEEPEST:
                stack.append((indent, key))


def _in_a_row(found: Sequence[object], number: int) -> bool:
    """Whether it is one of three pairs on consecutive lines."""
    return any(n >= 0 and n + 3 <= len(found) and all(found[n : n + 3]) for n in range(number - 2, number + 1))
