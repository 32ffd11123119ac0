"""One expectation of a profile: what a fact should be, why, and who says so; and whether a machine meets it."""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

from doctor.facts import Snapshot
from doctor.profiles.facts import Kind, all_names, kind_of
from doctor.profiles.text import Line, Name
from doctor.versions import Dotted

Scalar = bool | int | float | str
Status = Literal["vendor-matrix", "wheels-exist", "resolved", "built", "run-here", "community", "captured"]
"""What is known of a value or a whole profile: the vendor's matrix, guide or image lists it; its wheels are published;
a resolver accepted them together; the image was built; it ran; people report it; a machine was captured."""
Answer = Literal["holds", "deviates", "unknown"]
_BOUNDS = ("equals", "one_of", "at_least", "at_most", "series", "contains")


class Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class Evidence(Data):
    """Where something comes from, as of when."""

    url: Line
    """An address; repository@revision:path; or the program that showed it, and on what."""
    as_of: datetime.date


class Source(Evidence):
    """Where a value comes from, as of when, and who is behind it."""

    status: Status


def known_fact(name: str) -> Kind:
    """Raises ValueError, with the nearest name, for a name of no fact."""
    kind = kind_of(name) if name.count("[*]") < 2 else None
    if kind is None:
        near = difflib.get_close_matches(name, all_names(), 1, 0.6)
        hint = f"did you mean {near[0]}?" if near else "expected a fact's name, such as host.iommu or gpus[*].arch"
        raise ValueError(f"{name[:60]!r} is not a fact that can be compared; {hint}")
    return kind


def _named(name: str) -> str:
    known_fact(name)
    return name


FactName = Annotated[str, AfterValidator(_named)]
"""`host.iommu`; `gpus[*].arch` of every GPU."""


class When(Data):
    """A condition on a fact. Where the fact is known to be otherwise, what hangs on it does not apply."""

    fact: FactName
    equals: Scalar | None = None
    one_of: tuple[Scalar, ...] | None = None

    @model_validator(mode="after")
    def _comparable(self) -> When:
        kind = known_fact(self.fact)
        if (self.equals is None) == (self.one_of is None):
            raise ValueError("expected one of equals, one_of")
        fitting(self.fact, kind, (self.equals,) if self.one_of is None else self.one_of)
        return self

    def applies(self, machine: Snapshot) -> bool | None:
        """None: the fact is unknown."""
        value = machine.get(self.fact)
        if value is None:
            return None
        return bool(value == self.equals) if self.one_of is None else value in self.one_of


class Expectation(Data):
    """What a fact should be: exactly one of the bounds. `gpus[*].x` is x of every GPU that the profile is for."""

    fact: FactName
    why: Line
    source: Source
    rule: Name | None = None
    """The rule whose severity and bounds this sets; without one it is judged as `profile-expectation-unmet`."""
    severity: Literal["error", "warning", "info"] | None = None
    when: When | None = None
    equals: Scalar | None = None
    one_of: tuple[Scalar, ...] | None = None
    at_least: int | float | str | None = None
    at_most: int | float | str | None = None
    series: str | None = None
    """A version's leading numbers: `7.2` holds for 7.2.1."""
    contains: str | None = None
    """A word of a text, or a member of a list."""

    @model_validator(mode="after")
    def _one_bound(self) -> Expectation:
        kind = known_fact(self.fact)
        given = [b for b in _BOUNDS if getattr(self, b) is not None]
        if len(given) != 1:
            raise ValueError(f"expected exactly one of {', '.join(_BOUNDS)}; there are {len(given)}")
        if self.equals is not None or self.one_of is not None:
            fitting(self.fact, kind, (self.equals,) if self.one_of is None else self.one_of)
        if self.one_of == ():
            raise ValueError("one_of is empty; expected the values that are right")
        if self.series is not None and not Dotted(self.series).numbers:
            raise ValueError(f"series: {self.series!r} is not a version; expected its leading numbers, such as 7.2")
        for bound in (self.at_least, self.at_most):
            if bound is not None and isinstance(bound, str) != (kind.types == (str,)):
                raise ValueError(f"{self.fact} is {kind.words}; {bound!r} can't be compared with it")
            if isinstance(bound, str) and not Dotted(bound).numbers:
                raise ValueError(f"{bound!r} is not a version; expected numbers with dots, such as 580.65.06")
        return self

    @property
    def status(self) -> Status:
        return self.source.status

    @property
    def wants(self) -> str:
        """The bound in words: `0`, `at least 7.2`."""
        if self.one_of is not None:
            return "one of " + ", ".join(map(plain, self.one_of))
        for name, words in (("at_least", "at least "), ("at_most", "at most "), ("contains", "with "), ("series", "")):
            if getattr(self, name) is not None:
                return f"{words}{getattr(self, name)}{'.*' if name == 'series' else ''}"
        return plain(self.equals)

    def values(self, machine: Snapshot, keys: Collection[str] | None = None) -> list[tuple[str, Any]]:
        """(fact name, value or None) of every place that the fact names. `keys`: the GPUs that count; None: all."""
        head, every, rest = self.fact.partition("[*]")
        if not every:
            return [(self.fact, machine.get(self.fact))]
        members = [m for m in machine.get(head) or () if head != "gpus" or keys is None or m.key in keys]
        names = [f"{head}[{m.key}]{rest}" for m in members]
        rows = [(name, machine.get(name)) for name in names]
        if head != "gpus":  # of PCI devices only bridges have ACS: what was never asked of one is not missing
            rows = [(name, value) for name, value in rows if value is not None or name in machine.origins]
        return rows or [(self.fact, None)]

    def unmet(self, machine: Snapshot, keys: Collection[str] | None = None) -> list[tuple[str, Any]]:
        """The places whose known value is not as it should be."""
        return [(n, v) for n, v in self.values(machine, keys) if v is not None and not self._meets(v)]

    def judge(self, machine: Snapshot, keys: Collection[str] | None = None) -> Answer:
        if self.unmet(machine, keys):
            return "deviates"
        return "unknown" if any(value is None for _, value in self.values(machine, keys)) else "holds"

    def shown(self, value: Any) -> str:
        """A value of the fact in a line of a report. Of a long text that is to hold a word, only whether it does."""
        if self.contains is not None:
            return f"{'with' if self._meets(value) else 'without'} {self.contains}"
        return plain(value)[:120]

    def _meets(self, value: Any) -> bool:
        if self.one_of is not None:
            return value in self.one_of
        if self.series is not None:
            width = len(Dotted(self.series).numbers)
            return Dotted(str(value)).numbers[:width] == Dotted(self.series).numbers
        if self.contains is not None:
            return self.contains in (value.split() if isinstance(value, str) else value)
        if self.at_least is not None:
            return _order(value, self.at_least) >= 0
        if self.at_most is not None:
            return _order(value, self.at_most) <= 0
        return bool(value == self.equals)


def fitting(fact: str, kind: Kind, values: Collection[Any]) -> None:
    """Raises ValueError for a value that the fact can never have: such an expectation would never hold."""
    for value in values:
        if not kind.takes(value):
            raise ValueError(f"{fact} is {kind.words}; it can't be {plain(value)!r}")


def plain(value: Any) -> str:
    """As a report says it: `yes`, `no`, the rest as it is."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _order(value: Any, bound: Any) -> int:
    if isinstance(value, (int, float)) and isinstance(bound, (int, float)):
        return (value > bound) - (value < bound)
    return Dotted(str(value)).compare(str(bound))
