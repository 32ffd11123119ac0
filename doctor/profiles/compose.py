"""Reads a profile with all that it extends, and validates it: a Profile, or every fault with file, line and key."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from doctor.errors import DataFileError, InputError
from doctor.profiles import places
from doctor.profiles.faults import Fault, Loc, bare, place, second_look, text
from doctor.profiles.lines import line_of
from doctor.profiles.model import Profile
from doctor.profiles.pairs import BOARDS, STACKS, Pair, former_names, pairs
from doctor.profiles.reading import lines_of, parse

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
capabilities or devices are beside each other."""
_BESIDE = ("cap", "device")


@dataclass
class Composed:
    """A whole profile as plain data; `origin`: where each of its tables and rows was written."""

    table: dict[str, Any]
    origin: dict[Loc, tuple[Path, Loc]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    stacks: set[str] = field(default_factory=set)
    on: list[tuple[str, Any, Path]] = field(default_factory=list)
    """What boards add on some stacks or for a workload, until that is known: (which, tables, file)."""

    def locate(self, loc: Loc, file: Path) -> tuple[Path, Loc]:
        """The file that a key of the whole was written in, and what the key is called there."""
        for cut in range(len(loc), 0, -1):
            if loc[:cut] in self.origin:
                path, own = self.origin[loc[:cut]]
                return path, (*own, *loc[cut:])
        return file, loc

    def fault(self, loc: Loc, file: Path, wrong: str) -> Fault:
        path, own = self.locate(loc, file)
        return Fault(path, line_of(lines_of(path), bare(own)), place(own), wrong)


def load(name: str, base: Path | None = None) -> Profile:
    """A profile by its name, an older name of it, or the path of a file (what it extends lies beside it, in the user's
    folder, or among the shipped ones). Raises InputError for an unknown name, DataFileError with all faults."""
    return loaded(find(name, base), base, is_path="/" in name)


def loaded(found: Path | Pair, base: Path | None = None, *, is_path: bool = False) -> Profile:
    """The same of one that `named` or `find` found; `is_path`: its file may have another name."""
    path = found.file if isinstance(found, Pair) else found
    composed = compose(found, places.where_parts_lie(path, base))
    profile, faults = _validated(composed, path)
    faults = [*composed.faults, *faults]
    if not is_shipped(found):  # what is shipped is held to it by a test, and a check has no time for it
        faults += _unknown_rules(composed, path)
    called = composed.table.get("name")
    if isinstance(found, Path) and isinstance(called, str) and called != path.stem and not is_path:
        wrong = f"is {called[:60]!r}; the file is called {path.stem!r}, and both are to be the same"
        faults.append(composed.fault(("name",), path, wrong))
    if profile is None or faults:
        ordered = sorted(set(faults), key=lambda f: (f.file != path, f))
        raise DataFileError(str(path), [f.message(path) for f in ordered])
    return profile


def named(base: Path | None = None) -> dict[str, Path | Pair]:
    """Each profile by its name; a file wins over a board and stack."""
    there: dict[str, Path | Pair] = {**pairs(base), **places.files(base)}
    return dict(sorted(there.items()))


def names(base: Path | None = None) -> tuple[str, ...]:
    return tuple(named(base))


def is_shipped(what: Path | Pair) -> bool:
    return what.is_shipped if isinstance(what, Pair) else places.is_shipped(what)


def knows(name: str) -> bool:
    """Whether a profile has this name, or had it."""
    return name in named() or name in former_names()


def find(name: str, base: Path | None = None) -> Path | Pair:
    """The file of a profile, or the board and stack of its name. What ends in .toml or holds a slash is a path."""
    if name.endswith(".toml") or "/" in name:
        path = Path(name)
        if not path.is_file():
            raise InputError(f"no file {name!r}; expected a profile's name or the path of a .toml file")
        return path
    there = named(base)
    if name in there:
        return there[name]
    former = former_names(base)
    if name in former:
        return there[former[name]]
    part = name.strip("+")  # a board or a stack alone
    holding = [each for each in there if f"+{part}+" in f"+{each}+"] or [
        each for each in there if each.startswith(part)
    ]
    near = sorted(holding, key=len)[:3] or difflib.get_close_matches(name, [*there, *former], 3, 0.5)
    near = list(dict.fromkeys(former.get(each, each) for each in near))
    hint = f"did you mean {', '.join(near)}?" if near else "`doctor profiles list` shows all."
    raise InputError(f"no profile {name[:60]!r}; {hint} The path of a .toml file works too.")


def compose(what: Path | Pair, bases: Sequence[Path], depth: int = 0) -> Composed:
    """A file, or a board and a stack, over what it extends. Faults that keep nothing from being read further are
    collected."""
    path, table = (what.file, what.table) if isinstance(what, Pair) else (what, parse(what))
    if depth > _DEPTH:
        raise DataFileError(str(path), ["extends: goes in a circle, or deeper than 8"])
    whole = Composed({})
    for number, name in enumerate(_extends(table)):
        part = find_part(name, bases)
        if part is None:
            wrong = f"there is no part {str(name)[:60]!r} beside the file, in your folder or among the shipped ones"
            line = line_of(lines_of(path), ("extends", number))
            whole.faults.append(Fault(path, line, f"extends[{number + 1}]", f"{wrong}{_near_part(name, bases)}"))
            continue
        below = compose(part, bases, depth + 1)
        whole.faults += below.faults
        whole.stacks |= below.stacks
        whole.on += below.on
        _over(whole, below.table, below.origin)
    _over_on(whole)
    own = {key: value for key, value in table.items() if not (depth and key in _left_out(what))}
    if "status" in own:
        whole.table.pop("evidence", None)  # it is behind the status of what is extended
    _over(whole, own, dict(_origins(own, path)))
    if depth and isinstance(table.get("on"), dict):  # of a file: what a pair's board adds is over it already
        whole.on += [(key, rows, path) for key, rows in table["on"].items()]
    if depth and f"{path.parent.name}/" == STACKS and isinstance(what, Path):
        whole.stacks.add(path.stem)
    return whole


def _left_out(part: Path | Pair) -> tuple[str, ...]:
    """Keys that a part does not hand on: what a board and a stack are called, and whoever is behind the two."""
    if isinstance(part, Pair):
        return "name", "about", "status", "evidence"
    return "for", "formerly", "on", *(("about",) if f"{part.parent.name}/" in (BOARDS, STACKS) else ())


def _over_on(whole: Composed) -> None:
    """Put over it what its boards say of the stacks and the workload that it has."""
    words = [word for stack in whole.stacks for word in stack.split("+")]
    words += [whole.table["workload"]] if isinstance(whole.table.get("workload"), str) else []
    left = []
    for key, rows, path in whole.on:
        if not isinstance(rows, dict) or not any(re.fullmatch(rf"{re.escape(key)}[\d.]*", word) for word in words):
            left.append((key, rows, path))
            continue
        _over(whole, rows, {loc: (file, ("on", key, *own)) for loc, (file, own) in _origins(rows, path)})
    whole.on = left


def _extends(table: dict[str, Any]) -> list[Any]:
    names = table.get("extends", [])
    return names if isinstance(names, list) else []


def find_part(name: Any, bases: Sequence[Path]) -> Path | Pair | None:
    """The file of a part, or the board and stack of a profile's name. What leads out of the folders is none."""
    if not isinstance(name, str) or ".." in Path(name).parts or Path(name).is_absolute():
        return None
    file = next((b / f"{name}.toml" for b in bases if (b / f"{name}.toml").is_file()), None)
    if file or "/" in name:
        return file
    there = pairs()
    return there.get(name) or there.get(former_names().get(name, ""))


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
    """What tells a row from the others; None for one that lacks its first field, which then is kept apart."""
    if not isinstance(row, dict) or row.get(fields[0]) is None:
        return None
    values = [str(row.get(f)) for f in fields]
    return tuple([*values, str(row.get("value"))] if row[fields[0]] in _BESIDE else values)


def _validated(composed: Composed, path: Path) -> tuple[Profile | None, list[Fault]]:
    try:
        return Profile.model_validate(_tuples(composed.table)), []
    except ValidationError as error:
        problems = [(tuple(fault["loc"]), text(fault)) for fault in error.errors()]
        problems += second_look(_tuples(composed.table), [bare(loc) for loc, _ in problems])
        return None, [composed.fault(loc, path, wrong) for loc, wrong in problems]


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
