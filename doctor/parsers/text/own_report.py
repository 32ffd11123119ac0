"""This program's own JSON report (`doctor.report/2`, pasted or out of a bundle) -> the facts of its snapshot.

Each fact is one that the report's `origins` name; what was unknown there stays unknown, with its reason.

>>> sheet = read('{"schema": "doctor.report/2", "snapshot": {"gpus": [{"key": "0000:c1:00.0", "arch": "gfx942"}],'
...              ' "origins": {"gpus[0000:c1:00.0].arch": {"state": "value", "source": "file:x"}}}}')
>>> sheet.get("gpus[0000:c1:00.0].arch")
'gfx942'
"""

from __future__ import annotations

import re
from typing import Any

from doctor.errors import ParserError
from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.json_text import JsonText, table
from doctor.parsers.lib.source_lines import printable

PASTED = ({"trust": 220, "words": ("doctor.report/",)},)

_NAME = re.compile(
    r"[a-z0-9_]{1,40}(?:\[[^\]\x00-\x1f]{0,200}\])?(?:\.[a-z0-9_]{1,40}(?:\[[^\]\x00-\x1f]{0,200}\])?){0,5}$"
)
_STEP = re.compile(r"([a-z0-9_]+)(?:\[([^\]]*)\])?")
_SCHEMA = '"doctor.report/'
_LIMIT = 20_000
_TEXT_LIMIT = 4000


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without a whole report. Symptoms are not taken over: they are looked for in the text again."""
    if _SCHEMA not in text:
        raise ParserError("no report of this program")
    held = JsonText(text)
    snapshot = table(table(held.value).get("snapshot"))
    sheet = FactSheet()
    lines = _lines(text)
    for name, origin in list(table(snapshot.get("origins")).items())[:_LIMIT]:
        if not _NAME.match(name) or printable(name) != name or name.startswith("symptoms"):
            continue
        where = f"{source}:{lines.get(name, 1)}"
        state = table(origin).get("state")
        value = _clean(_found(snapshot, name))
        if state == "value" and value is not None:
            sheet.put(name, value, where)
        elif state == "absent":
            sheet.absent(name, where, value)
        elif state in _UNKNOWN:
            sheet.miss(name, State(state), where)
    if not len(sheet):
        raise ParserError("the report's snapshot holds no fact")
    return sheet


_UNKNOWN = {state.value for state in State} - {"value", "absent"}


def _lines(text: str) -> dict[str, int]:
    """Name of a fact -> the line on which `origins` begins to mention it."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        name, colon, _ = line.strip().partition('": {')
        if colon and name.startswith('"'):
            found[name[1:]] = number
    return found


def _found(tree: Any, name: str) -> Any:
    for step in _STEP.finditer(name):
        tree = table(tree).get(step[1])
        if step[2] is not None:
            tree = tree.get(step[2]) if isinstance(tree, dict) else _member(tree, step[2])
        if tree is None:
            return None
    return tree


def _member(rows: Any, key: str) -> Any:
    members = rows if isinstance(rows, list) else []
    return next((row for row in members if isinstance(row, dict) and row.get("key") == key), None)


def _clean(value: Any, depth: int = 0) -> Any:
    """Plain data of bounded depth and printable text."""
    if isinstance(value, str):
        return printable(value[:_TEXT_LIMIT])
    if isinstance(value, dict) and depth < 6:
        return {printable(str(k)[:200]): _clean(v, depth + 1) for k, v in list(value.items())[:5000]}
    if isinstance(value, list) and depth < 6:
        return [_clean(v, depth + 1) for v in value[:5000]]
    return value if isinstance(value, (bool, int, float)) else None
