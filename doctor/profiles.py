"""Profiles: one known-good stack each. Found, read, composed, validated, matched to a machine, and judged.

A profile is TOML (docs/profiles.md). `extends` names other files of the same folder without `.toml`; what a file says
itself wins over what it extends. Every fault of a file is listed at once, with its key and what would be right.
"""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from doctor.errors import DataFileError, InputError
from doctor.facts import Snapshot
from doctor.findings import ProfileVerdict
from doctor.system.given import read_given
from doctor.versions import Dotted

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Scalar = bool | int | float | str
Answer = Literal["holds", "deviates", "unknown"]
_FACT = re.compile(r"[a-z0-9_]+(\[[^\]]*\])?(\.[a-z0-9_]+(\[[^\]]*\])?)*\Z")
_DEPTH = 8


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Source(_Data):
    """Where a value comes from, as of when, and who says so."""

    url: str = Field(min_length=1)
    as_of: datetime.date
    says: Literal["vendor", "measured", "community"]


class Hardware(_Data):
    """Which machines a profile is for. A key that is left out matches everything."""

    vendor: Literal["amd", "nvidia"] | None = None
    arch: tuple[str, ...] = ()
    pci_ids: tuple[str, ...] = ()
    count: int | None = Field(default=None, ge=1)


class Expectation(_Data):
    """What a fact should be: exactly one of the bounds. `gpus[*].x` is x of every GPU."""

    fact: str
    why: str = Field(min_length=1)
    source: Source
    rule: str | None = None
    """The rule whose severity and bounds this sets; without one it is judged as `profile-expectation-unmet`."""
    severity: Literal["error", "warning", "info"] | None = None
    equals: Scalar | None = None
    one_of: tuple[Scalar, ...] | None = None
    at_least: int | float | str | None = None
    at_most: int | float | str | None = None
    series: str | None = None
    """A version's leading numbers: `7.2` holds for 7.2.1."""

    @model_validator(mode="after")
    def _one_bound(self) -> Expectation:
        given = [b for b in ("equals", "one_of", "at_least", "at_most", "series") if getattr(self, b) is not None]
        if len(given) != 1:
            raise ValueError(f"one of equals, one_of, at_least, at_most, series is wanted; {len(given)} are given")
        if not _FACT.match(self.fact):
            raise ValueError(f"fact: {self.fact!r} is no fact's name, such as host.numa_balancing or gpus[*].arch")
        return self

    @property
    def wants(self) -> str:
        """The bound in words: `0`, `at least 7.2`."""
        if self.one_of is not None:
            return "one of " + ", ".join(map(str, self.one_of))
        for name, words in (("at_least", "at least "), ("at_most", "at most "), ("series", "")):
            if getattr(self, name) is not None:
                return f"{words}{getattr(self, name)}{'.*' if name == 'series' else ''}"
        return str(self.equals)

    def values(self, machine: Snapshot) -> list[tuple[str, Any]]:
        """(fact name, value or None) of every place that the fact names."""
        if "[*]" not in self.fact:
            return [(self.fact, machine.get(self.fact))]
        head, _, rest = self.fact.partition("[*]")
        members = machine.get(head)
        if not members:
            return [(self.fact, None)]
        names = [f"{head}[{m.key}]{rest}" for m in members]
        return [(name, machine.get(name)) for name in names]

    def unmet(self, machine: Snapshot) -> list[tuple[str, Any]]:
        """The places whose known value is not as it should be."""
        return [(name, value) for name, value in self.values(machine) if value is not None and not self._meets(value)]

    def judge(self, machine: Snapshot) -> Answer:
        if self.unmet(machine):
            return "deviates"
        return "unknown" if any(value is None for _, value in self.values(machine)) else "holds"

    def _meets(self, value: Any) -> bool:
        if self.one_of is not None:
            return value in self.one_of
        if self.series is not None:
            width = len(Dotted(self.series).numbers)
            return Dotted(str(value)).numbers[:width] == Dotted(self.series).numbers
        if self.at_least is not None:
            return _order(value, self.at_least) >= 0
        if self.at_most is not None:
            return _order(value, self.at_most) <= 0
        return bool(value == self.equals)


def _order(value: Any, bound: Any) -> int:
    if isinstance(value, (int, float)) and isinstance(bound, (int, float)):
        return (value > bound) - (value < bound)
    return Dotted(str(value)).compare(str(bound))


class Value(_Data):
    p50: float
    unit: str
    min: float | None = None
    max: float | None = None


class Baseline(_Data):
    """A number to compare with: what was measured, how, and on which software."""

    what: str
    value: Value
    method: str
    dtype: str | None = None
    shape: str | None = None
    software: Mapping[str, str]
    source: Source


class Profile(_Data):
    """One known-good stack."""

    schema_: Literal[1] = Field(alias="schema")
    name: str
    about: str = ""
    status: Literal["vendor-matrix", "community", "captured", "run-here"] = "community"
    extends: tuple[str, ...] = ()
    hardware: Hardware = Hardware()
    expect: tuple[Expectation, ...] = ()
    baseline: tuple[Baseline, ...] = ()

    def expectation(self, rule: str) -> Expectation | None:
        """What this profile says about a rule's fact; None when nothing."""
        return next((e for e in self.expect if e.rule == rule), None)

    def verdict(self, machine: Snapshot, chosen: Literal["named", "matched"], why: str) -> ProfileVerdict:
        """How each expectation came out, by fact name."""
        answers: dict[Answer, list[str]] = {"holds": [], "deviates": [], "unknown": []}
        for expectation in self.expect:
            answers[expectation.judge(machine)].append(expectation.fact)
        return ProfileVerdict(
            name=self.name,
            status=self.status,
            chosen=chosen,
            why=why,
            holds=tuple(answers["holds"]),
            deviates=tuple(answers["deviates"]),
            unknown=tuple(answers["unknown"]),
        )


def folder() -> Path:
    """Where the profiles lie: in the wheel, else at the top of the repository."""
    here = Path(__file__).resolve().parent
    shipped = here / "_profiles"
    return shipped if shipped.is_dir() else here.parent / "profiles"


def names(base: Path | None = None) -> tuple[str, ...]:
    """Profiles that can be named: files at the top of the folder; parts lie in its subfolders."""
    return tuple(sorted(p.stem for p in (base or folder()).glob("*.toml")))


def load(name: str, base: Path | None = None) -> Profile:
    """A profile by its name or by the path of a file (what it extends lies beside it, or among the shipped ones).
    Raises InputError for an unknown name, DataFileError with all faults of the file."""
    base = base or folder()
    path = Path(name) if name.endswith(".toml") else base / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(names(base)) or "none"
        raise InputError(f"no profile {name!r}; there are: {known}; or give the path of a .toml file")
    table = _composed(path, (path.parent, base), 0)
    try:
        return Profile.model_validate(table)
    except ValidationError as error:
        raise DataFileError(str(path), list(_faults(error))) from error


def _composed(path: Path, bases: Sequence[Path], depth: int) -> dict[str, Any]:
    if depth > _DEPTH:
        raise DataFileError(str(path), ["extends: goes in a circle, or deeper than 8"])
    try:
        table = tomllib.loads(read_given(path))
    except tomllib.TOMLDecodeError as error:
        raise DataFileError(str(path), [f"not TOML: {error}"]) from error
    extends = table.get("extends", [])
    if not isinstance(extends, list) or not all(isinstance(e, str) for e in extends):
        raise DataFileError(str(path), ["extends: a list of names is wanted"])
    whole: dict[str, Any] = {}
    for name in extends:
        part = next((b / f"{name}.toml" for b in bases if (b / f"{name}.toml").is_file()), None)
        if part is None or ".." in Path(name).parts:
            raise DataFileError(str(path), [f"extends: no file {name}.toml beside it or among the shipped profiles"])
        whole = _over(whole, _composed(part, bases, depth + 1))
    return _over(whole, table)


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """`above` wins: tables key by key, expectations fact by fact, baselines by what they measure."""
    whole = {**below, **above}
    if isinstance(below.get("hardware"), dict) and isinstance(above.get("hardware"), dict):
        whole["hardware"] = {**below["hardware"], **above["hardware"]}
    for key, by in (("expect", "fact"), ("baseline", "what")):
        rows = [*_rows(below, key), *_rows(above, key)]
        if rows:
            unique = {(r.get(by) if isinstance(r, dict) else None) or number: r for number, r in enumerate(rows)}
            whole[key] = list(unique.values())
    return whole


def _rows(table: dict[str, Any], key: str) -> list[Any]:
    rows = table.get(key, [])
    return rows if isinstance(rows, list) else [rows]


def _faults(error: ValidationError) -> Iterator[str]:
    for fault in error.errors():
        where = ""
        for step in fault["loc"]:
            where += f"[{step + 1}]" if isinstance(step, int) else f".{step}"
        text = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "extra_forbidden":
            text = "unknown key"
        yield f"{where.lstrip('.') or 'file'}: {text}"


def match(machine: Snapshot, base: Path | None = None) -> tuple[Profile | None, str]:
    """The shipped profile whose hardware this machine has, and why; None where none or several fit equally."""
    fitting: list[tuple[int, Profile]] = []
    for name in names(base):
        profile = load(name, base)
        points = _fit(profile.hardware, machine)
        if points:
            fitting.append((points, profile))
    if not fitting:
        return None, "no profile is for this hardware"
    best = max(points for points, _ in fitting)
    winners = [profile for points, profile in fitting if points == best]
    if len(winners) > 1:
        return None, "several fit: " + ", ".join(p.name for p in winners) + "; name one with --profile"
    return winners[0], "its hardware is this machine's"


def _fit(hardware: Hardware, machine: Snapshot) -> int:
    """0: not for this machine; else the more is told of the hardware, the higher."""
    gpus = machine.gpus or ()
    if not gpus or not (hardware.arch or hardware.pci_ids):
        return 0
    if hardware.vendor and any(g.vendor != hardware.vendor for g in gpus):
        return 0
    if hardware.count and hardware.count != len(gpus):
        return 0
    points = 1 + bool(hardware.count)
    if hardware.pci_ids and all(g.pci_id for g in gpus):
        return points + 2 if all(g.pci_id in hardware.pci_ids for g in gpus) else 0
    if hardware.arch and not hardware.pci_ids:
        return points + 1 if all(g.arch in hardware.arch for g in gpus) else 0
    return 0
