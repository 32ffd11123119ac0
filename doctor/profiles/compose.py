"""Reads a profile with all that it extends, and validates it: a Profile, or every fault with file, line and key."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from doctor.errors import DataFileError, InputError
from doctor.profiles import places
from doctor.profiles.faults import Fault, Loc, bare, place, second_look, text
from doctor.profiles.lines import line_of, lines
from doctor.profiles.model import Profile
from doctor.profiles.toml_text import table
from doctor.system.given import read_given

_DEPTH = 8
_LISTS: dict[Loc, tuple[str, ...]] = {
    ("expect",): ("fact", "when", "contains"),
    ("baseline",): ("what",),
    ("flag",): ("name", "only"),
    ("need",): ("kind", "only"),
    ("image", "pip"): ("name",),
    ("image", "apt"): ("name",),
}
"""Lists of tables, and what tells their rows apart: a later row with the same key replaces the earlier one. Several
capabilities or devices stand beside each other."""
_BESIDE = ("cap", "device")


@dataclass
class Composed:
    """A whole profile as plain data; `origin`: where each of its tables and rows was written."""

    table: dict[str, Any]
    origin: dict[Loc, tuple[Path, Loc]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def locate(self, loc: Loc, file: Path) -> tuple[Path, Loc]:
        """The file that a key of the whole was written in, and what the key is called there."""
        for cut in range(len(loc), 0, -1):
            if loc[:cut] in self.origin:
                path, own = self.origin[loc[:cut]]
                return path, (*own, *loc[cut:])
        return file, loc

    def fault(self, loc: Loc, file: Path, wrong: str) -> Fault:
        path, own = self.locate(loc, file)
        return Fault(path, line_of(_lines(path), bare(own)), place(own), wrong)


def load(name: str, base: Path | None = None) -> Profile:
    """A profile by its name or by the path of a file (what it extends lies beside it, in the user's folder, or among
    the shipped ones). Raises InputError for an unknown name, DataFileError with all faults of the file."""
    path = find(name, base)
    composed = compose(path, places.where_parts_lie(path, base))
    profile, faults = _validated(composed, path)
    faults = [*composed.faults, *faults]
    if not places.is_shipped(path):  # what is shipped is held to it by a test, and a check has no time for it
        faults += _unknown_rules(composed, path)
    called = composed.table.get("name")
    if isinstance(called, str) and called != path.stem and "/" not in name:
        wrong = f"is {called[:60]!r}; the file is called {path.stem!r}, and both are to be the same"
        faults.append(composed.fault(("name",), path, wrong))
    if profile is None or faults:
        raise DataFileError(str(path), [f.said(path) for f in sorted(set(faults), key=lambda f: (f.file != path, f))])
    return profile


def find(name: str, base: Path | None = None) -> Path:
    """The file of a profile. A text that ends in .toml or holds a slash is a path."""
    if name.endswith(".toml") or "/" in name:
        path = Path(name)
        if not path.is_file():
            raise InputError(f"no file {name!r}; expected a profile's name or the path of a .toml file")
        return path
    there = places.files(base)
    if name not in there:
        near = difflib.get_close_matches(name, there, 3, 0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "`doctor profiles list` shows all"
        raise InputError(f"no profile {name[:60]!r}; {hint}; the path of a .toml file is taken too")
    return there[name]


def compose(path: Path, bases: Sequence[Path], depth: int = 0) -> Composed:
    """The file over what it extends. Faults that keep nothing from being read further are collected."""
    if depth > _DEPTH:
        raise DataFileError(str(path), ["extends: goes in a circle, or deeper than 8"])
    table = parse(path)
    whole = Composed({})
    for number, name in enumerate(_extends(table)):
        part = find_part(name, bases)
        if part is None:
            wrong = f"there is no part {str(name)[:60]!r} beside the file, in your folder or among the shipped ones"
            line = line_of(_lines(path), ("extends", number))
            whole.faults.append(Fault(path, line, f"extends[{number + 1}]", f"{wrong}{_near_part(name, bases)}"))
            continue
        below = compose(part, bases, depth + 1)
        whole.faults += below.faults
        _over(whole, below.table, below.origin)
    _over(whole, table, dict(_origins(table, path)))
    return whole


def parse(path: Path) -> dict[str, Any]:
    """The table of one file; not to be changed. Raises DataFileError where it is no TOML."""
    return _parsed(path, _stamp(path))


def _stamp(path: Path) -> tuple[int, int] | None:
    """What makes a changed file another one; None where it can't be looked at, which reading it will say."""
    try:
        told = path.stat()
    except OSError:
        return None
    return told.st_mtime_ns, told.st_size


@lru_cache(maxsize=256)
def _text(path: Path, stamp: tuple[int, int] | None) -> str:  # noqa: ARG001
    return read_given(path)


@lru_cache(maxsize=256)
def _parsed(path: Path, stamp: tuple[int, int] | None) -> dict[str, Any]:
    return table(str(path), _text(path, stamp))


def _lines(path: Path) -> dict[Loc, int]:
    return lines(_text(path, _stamp(path)))


def _extends(table: dict[str, Any]) -> list[Any]:
    names = table.get("extends", [])
    return names if isinstance(names, list) else []


def find_part(name: Any, bases: Sequence[Path]) -> Path | None:
    """The file of a part. A name that leads out of the folders is none."""
    if not isinstance(name, str) or ".." in Path(name).parts or Path(name).is_absolute():
        return None
    return next((b / f"{name}.toml" for b in bases if (b / f"{name}.toml").is_file()), None)


def _near_part(name: Any, bases: Sequence[Path]) -> str:
    there = [str(p.relative_to(b).with_suffix("")) for b in bases for p in b.glob("*/*.toml")]
    near = difflib.get_close_matches(str(name)[:80], there, 1, 0.5)
    return f"; did you mean {near[0]}?" if near else ""


def _origins(table: dict[str, Any], path: Path) -> Iterator[tuple[Loc, tuple[Path, Loc]]]:
    for key, value in table.items():
        yield (key,), (path, (key,))
        if isinstance(value, dict):
            for inner, held in value.items():
                yield (key, inner), (path, (key, inner))
                if isinstance(held, list):
                    for number in range(len(held)):
                        yield (key, inner, number), (path, (key, inner, number))
        elif isinstance(value, list):
            for number in range(len(value)):
                yield (key, number), (path, (key, number))


def _over(whole: Composed, above: dict[str, Any], origin: dict[Loc, tuple[Path, Loc]]) -> None:
    """Put a table over the whole: tables key by key, lists of tables row by row, the rest replaced."""
    _merge(whole.table, above, (), whole.origin, origin)


def _merge(
    below: dict[str, Any], above: dict[str, Any], at: Loc, mine: dict[Loc, tuple[Path, Loc]], theirs: dict[Loc, Any]
) -> None:
    for key, value in above.items():
        loc = (*at, key)
        if loc in _LISTS and isinstance(value, list) and isinstance(below.get(key, []), list):
            below[key] = _rows(below.get(key, []), value, loc, mine, theirs)
        elif isinstance(value, dict) and isinstance(below.get(key, {}), dict) and len(at) < 1:
            below[key] = dict(below.get(key, {}))
            _merge(below[key], value, loc, mine, theirs)
        else:
            below[key] = value
            for gone in [m for m in mine if m[: len(loc)] == loc]:
                del mine[gone]
        if loc in theirs and (loc not in mine or loc not in _LISTS):
            mine[loc] = theirs[loc]


def _rows(old: list[Any], new: list[Any], loc: Loc, mine: dict[Loc, Any], theirs: dict[Loc, Any]) -> list[Any]:
    whose = {number: mine.get((*loc, number)) for number in range(len(old))}
    rows = list(old)
    for number, row in enumerate(new):
        key = _key(row, _LISTS[loc])
        same = next((n for n, r in enumerate(rows) if key is not None and _key(r, _LISTS[loc]) == key), None)
        if same is None:
            same = len(rows)
            rows.append(row)
        rows[same] = row
        whose[same] = theirs.get((*loc, number))
    for number, owner in whose.items():
        if owner is not None:
            row_at: Loc = (*loc, number)
            mine[row_at] = owner
    return rows


def _key(row: Any, fields: tuple[str, ...]) -> tuple[Any, ...] | None:
    """What tells a row from the others; None for one that lacks its first field, which then stands alone."""
    if not isinstance(row, dict) or row.get(fields[0]) is None:
        return None
    values = [str(row.get(f)) for f in fields]
    return tuple([*values, str(row.get("value"))] if row[fields[0]] in _BESIDE else values)


def _validated(composed: Composed, path: Path) -> tuple[Profile | None, list[Fault]]:
    try:
        return Profile.model_validate(_tuples(composed.table)), []
    except ValidationError as error:
        told = [(tuple(fault["loc"]), text(fault)) for fault in error.errors()]
        told += second_look(_tuples(composed.table), [bare(loc) for loc, _ in told])
        return None, [composed.fault(loc, path, wrong) for loc, wrong in told]


def _unknown_rules(composed: Composed, path: Path) -> Iterator[Fault]:
    """Rules that an expectation names and no version of this program has."""
    rows = composed.table.get("expect")
    named = [
        (n, row.get("rule")) for n, row in enumerate(rows if isinstance(rows, list) else ()) if isinstance(row, dict)
    ]
    if not any(isinstance(rule, str) for _, rule in named):
        return
    from doctor.rule_ids import rule_ids

    known = sorted(rule_ids())
    for number, rule in named:
        if isinstance(rule, str) and rule not in known:
            near = difflib.get_close_matches(rule[:80], known, 1, 0.6)
            hint = f"did you mean {near[0]}?" if near else "`doctor rules` lists them"
            yield composed.fault(("expect", number, "rule"), path, f"{rule[:60]!r} is not a rule; {hint}")


def _tuples(value: Any) -> Any:
    """TOML's lists as the tuples that the models hold."""
    if isinstance(value, list):
        return tuple(_tuples(v) for v in value)
    return {k: _tuples(v) for k, v in value.items()} if isinstance(value, dict) else value
