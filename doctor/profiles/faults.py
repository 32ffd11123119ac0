"""What is wrong with a profile, in words: where, which key, what is wrong, and what would be right."""

from __future__ import annotations

import datetime
import difflib
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from doctor.errors import in_plain_words
from doctor.profiles.expectation import Expectation
from doctor.profiles.model import Profile
from doctor.profiles.parts import Apt, Baseline, Flag, Need, Pip

Loc = tuple[str | int, ...]


class Fault(NamedTuple):
    """`file` and `line` are those of the part that holds the key."""

    file: Path
    line: int
    key: str
    wrong: str

    def message(self, of: Path) -> str:
        """`line 12: expect[1].why: …`; with the part's name where the key came from one."""
        part = "" if self.file == of else f"in {self.file.parent.name}/{self.file.name} "
        return f"{part}line {self.line}: {self.key}: {self.wrong}"


_RIGHT = {
    "schema": "1",
    "name": '"farm-mi300x"',
    "about": '"MI300X nodes with ROCm 7.2"',
    "status": '"vendor-matrix", "wheels-exist", "resolved", "built", "run-here", "community" or "captured"',
    "evidence": '{ url = "https://…", as_of = 2026-05-29 }',
    "order": "10",
    "extends": '["boards/mi300x", "stacks/rocm7.2"]',
    "fact": '"host.iommu"',
    "why": '"one line that says why"',
    "source": '{ url = "https://…", as_of = 2026-05-29, status = "vendor-matrix" }',
    "url": '"https://…"',
    "as_of": "2026-05-29 (a date without quotes)",
    "value": '{ floor = 120.0, unit = "TFLOP/s" } of a baseline, "1" of a flag, "8G" of a need',
    "kind": "one of those that docs/profiles.md lists",
    "unit": '"TFLOP/s"',
    "what": '"gemm bf16 4864x4096x8192"',
    "method": '"how it was measured"',
    "dtype": '"bf16"',
    "shape": '"4864x4096x8192"',
    "library": '"hipBLASLt"',
    "software": '{ rocm = "7.2.4" }',
    "version": '"2.13.0"',
}
"""What would be right for a key that is missing or of another type."""


def text(error: Mapping[str, Any]) -> str:
    """One of pydantic's errors, and what would be right."""
    loc = bare(tuple(error["loc"]))
    last = next((str(step) for step in reversed(loc) if isinstance(step, str)), "")
    right = f"; right would be {_RIGHT[last]}" if last in _RIGHT else ""
    kind, given = error["type"], _shown(error.get("input"))
    if kind == "missing":
        return f"is missing{right}"
    if kind == "extra_forbidden":
        return _unknown(loc)
    plain = in_plain_words(str(error["msg"]))
    return plain if kind == "value_error" else f"is {given}; {plain}{right}"


_TAGS = ("bool", "int", "float", "str", "constrained-str", "tuple[union[bool,int,float,str],...]")
"""Steps that pydantic puts in for the members of a union."""


def bare(loc: Loc) -> Loc:
    """Without the steps that only pydantic knows."""
    return tuple(step for step in loc if step not in _TAGS)


def place(loc: Loc) -> str:
    """`expect[1].source.as_of`"""
    where = ""
    for step in bare(loc):
        where += f"[{step + 1}]" if isinstance(step, int) else f".{step}"
    return where.lstrip(".") or "file"


def _unknown(loc: Loc) -> str:
    known = _keys(loc[:-1])
    near = difflib.get_close_matches(str(loc[-1]), known, 1, 0.6)
    hint = f"did you mean {near[0]}?" if near else f"the keys here are {', '.join(known)}"
    return f"is not a key of a profile; {hint}"


def _keys(loc: Loc) -> list[str]:
    model: Any = Profile
    for step in loc:
        if isinstance(step, str) and step in getattr(model, "model_fields", {}):
            model = _inner(model.model_fields[step].annotation) or model
    return [field.alias or name for name, field in model.model_fields.items()]


def _inner(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for a in typing.get_args(annotation) if (found := _inner(a))), None)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f'the text "{value[:40]}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (dict, list, tuple)):
        return "a table" if isinstance(value, dict) else "a list"
    return str(value)[:40]


_ROWS: Mapping[Loc, type[BaseModel]] = {
    ("expect",): Expectation,
    ("flag",): Flag,
    ("need",): Need,
    ("image", "pip"): Pip,
    ("image", "apt"): Apt,
    ("baseline",): Baseline,
}
_STAND_IN: Mapping[str, Any] = {
    "why": "x",
    "source": {"url": "x", "as_of": datetime.date(2026, 1, 1), "status": "community"},
    "severity": "info",
    "rule": "x",
}
"""Right values in place of wrong ones while the rest of a row is looked at."""


def second_look(table: Mapping[str, Any], known: Sequence[Loc]) -> list[tuple[Loc, str]]:
    """Faults between the keys of a row of which single keys are wrong too: these are otherwise found only after the
    first are corrected. `known`: where faults were found already."""
    found = []
    for at, model in _ROWS.items():
        held: Any = table
        for step in at:
            held = held.get(step) if isinstance(held, dict) else None
        for number, row in enumerate(held if isinstance(held, tuple) else ()):
            loc: Loc = (*at, number)
            wrong = {str(t[len(loc)]) for t in known if t[: len(loc)] == loc and len(t) > len(loc)}
            if wrong and isinstance(row, dict):
                found += [(loc, fault) for fault in _between(model, row, wrong)]
    return found


def _between(model: type[BaseModel], row: Mapping[str, Any], wrong: set[str]) -> list[str]:
    corrected = {k: v for k, v in row.items() if k not in wrong}
    corrected |= {k: _STAND_IN[k] for k in wrong if k in _STAND_IN}
    try:
        model.model_validate(corrected)
    except ValidationError as error:
        return [text(fault) for fault in error.errors() if fault["type"] == "value_error" and not fault["loc"]]
    return []
