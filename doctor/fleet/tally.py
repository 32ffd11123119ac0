"""Answers of any number of nodes, one by one: equal parts are kept once, a node costs its name and some numbers."""

from __future__ import annotations

import datetime
import time
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from doctor.findings import Action, Scope, drains
from doctor.fleet import configuration
from doctor.fleet.answers import SILENT, Answer
from doctor.fleet.configuration import Area

if TYPE_CHECKING:
    from doctor.fleet.expected import Expected, Outcome

_Thing = TypeVar("_Thing")
_SEVERITIES = ("error", "warning", "info")
_STATUSES = ("ok", "partial", "warning", "error", "unknown")


def _seconds(created: Any) -> int:
    """Of `2026-11-23T08:00:00Z`, which is UTC without a zone too; 0 for what is no such time."""
    try:
        at = datetime.datetime.fromisoformat(str(created)[:40].replace("Z", "+00:00"))
        return max(int((at if at.tzinfo else at.replace(tzinfo=datetime.timezone.utc)).timestamp()), 0)
    except (ValueError, OverflowError):
        return 0


def _word(value: Any, known: type[Scope | Action]) -> str | None:
    """A scope or an action; None for what is none, such as a report of the form before has."""
    return value if value in [member.value for member in known] else None


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


LAYERS = ("gpu", "driver", "devices")
"""Layers that a node with GPUs must have had checked before it is called good."""
_CHECKED = ("ok", "problem", "not-applicable")
_LONGEST_REASON = 100
_SKEW_S = 3600
"""A report from further in the future than this comes from a clock that is wrong."""


class Problem(NamedTuple):
    """One finding that no other explains, of any number of nodes."""

    rule: str
    severity: str
    drains: bool = False
    """Whether it is a reason to keep jobs from the node (doctor.findings.drains)."""
    scope: str | None = None
    action: str | None = None


@dataclass
class Seen:
    """Where a problem was found. `nodes` are places in Tally.nodes, each once, in order."""

    summary: str
    """Of the first node that has it."""
    nodes: array[int] = field(default_factory=lambda: array("I"))


class _Kept(NamedTuple):
    """What is kept of one report, as places in the tally's lists of distinct things."""

    shape: int
    status: int
    gpus: int
    created: int
    """Seconds since 1970; 0 where the report does not say."""
    found: int
    unchecked: int
    """A bit for each of LAYERS."""
    drain: int
    """Why to drain it: a place in Tally.reasons, whose first is none."""
    outcome: int
    """What the profile says of it: a place in Tally.outcomes, whose first is none."""


class Shape(NamedTuple):
    """One distinct configuration: hardware, and a place in Tally.areas for each area of AREAS, -1 for nothing known."""

    kind: str
    identity: tuple[str, ...]
    areas: tuple[int, ...]


class _Read(NamedTuple):
    """What is kept of a report's snapshot."""

    kind: str
    identity: tuple[str, ...]
    areas: dict[str, Area]
    gpus: int

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> _Read:
        machine = report.get("snapshot") or {}
        gpus = machine.get("gpus")
        number = min(len(gpus), 32_000) if isinstance(gpus, list) else -1
        return cls(configuration.kind(machine), configuration.identity(machine), configuration.of(report), number)


def _place(places: dict[_Thing, int], things: list[_Thing], thing: _Thing) -> int:
    """Where a thing is in a list of distinct ones, to which it is added where it is new."""
    place = places.setdefault(thing, len(things))
    if place == len(things):
        things.append(thing)
    return place


class Tally:
    """What all answers say together. Memory: distinct areas, distinct shapes, and below 1 KiB a node."""

    def __init__(self, now: float | None = None, expected: Expected | None = None) -> None:
        """`now`: seconds since 1970, else this machine's clock. `expected`: a profile that nodes are compared with."""
        self.now = time.time() if now is None else now
        self.expected = expected
        self.nodes: list[str] = []
        """Those that gave a report, in the order in which they answered."""
        self.shape_of = array("I")
        self.status_of = array("B")
        self.created_of = array("q")
        self.unchecked_of = array("B")
        self.found_of = array("I")
        self.shapes: list[Shape] = []
        self.areas: list[Area] = []
        self.summaries: dict[Problem, str] = {}
        self.found: list[tuple[Problem, ...]] = []
        """Distinct lists of problems."""
        self.reasons: list[str] = [""]
        """Distinct reasons to drain a node, each the first one of its report."""
        self.drain_of = array("I")
        self.gpus_of = array("h")
        """Number of GPUs that the node has; -1 where that is not known."""
        self.silent: dict[str, str] = {}
        """Node -> why it gave no report."""
        self.twice: list[str] = []
        """Nodes of which a second report came: the newest counts."""
        self.outcomes: list[Outcome | None] = [None]
        """Distinct outcomes of the profile; None for nodes that it is not for."""
        self.outcome_of = array("I")
        self._places: dict[str, int] = {}
        self._shape_places: dict[Shape, int] = {}
        self._area_places: dict[Area, int] = {}
        self._found_places: dict[tuple[Problem, ...], int] = {}
        self._reason_places: dict[str, int] = {"": 0}
        self._outcome_places: dict[Outcome | None, int] = {None: 0}

    def add_all(self, answers: Iterable[Answer]) -> Tally:
        for answer in answers:
            self.add(answer)
        return self

    def add(self, answer: Answer) -> None:
        node = _printable(answer.node)
        fault = answer.fault or "it gave no report"
        if answer.report is not None:
            try:
                self._add(node, self._kept(answer.report, _Read.of(answer.report)))
                return
            except (AttributeError, KeyError, TypeError, ValueError):  # another program's, or made by hand
                fault = "its report is not in the form of doctor.report/2"
        if node in self._places:  # it is known by the report that it gave
            self.twice.append(node)
        else:
            self.silent.setdefault(node, fault)

    def _kept(self, report: Mapping[str, Any], read: _Read) -> _Kept:
        status = report.get("status")
        areas_read, areas_at = read.areas, self._area_places
        areas = tuple(
            _place(areas_at, self.areas, areas_read[a]) if a in areas_read else -1 for a in configuration.AREAS
        )
        outcome = self.expected.outcome(report.get("snapshot") or {}) if self.expected else None
        layers = report.get("layers") or {}
        return _Kept(
            _place(self._shape_places, self.shapes, Shape(read.kind, read.identity, areas)),
            _STATUSES.index(status if status in _STATUSES else "unknown"),
            read.gpus,
            _seconds(report.get("created")),
            self._found(report.get("findings") or ()),
            sum(1 << bit for bit, layer in enumerate(LAYERS) if layers.get(layer) not in _CHECKED),
            self._reason(report.get("findings") or ()),
            _place(self._outcome_places, self.outcomes, outcome),
        )

    def _add(self, node: str, kept: _Kept) -> None:
        place = self._places.get(node)
        columns = (self.shape_of, self.status_of, self.gpus_of, self.created_of, self.found_of, self.unchecked_of,
                   self.drain_of, self.outcome_of)  # fmt: skip
        if place is None:
            if self.silent.pop(node, None) is not None:
                self.twice.append(node)
            self._places[node] = len(self.nodes)
            self.nodes.append(node)
            for column, value in zip(columns, kept, strict=True):
                column.append(value)
            return
        self.twice.append(node)
        if kept.created > self.created_of[place]:
            for column, value in zip(columns, kept, strict=True):
                column[place] = value

    def _found(self, findings: Iterable[Mapping[str, Any]]) -> int:
        """The place of a report's problems, each once."""
        rows: dict[Problem, None] = {}
        for finding in findings:
            if finding.get("explained_by"):
                continue
            severity = finding["severity"]
            if severity not in _SEVERITIES:
                raise ValueError
            scope, action = (_word(finding.get(name), known) for name, known in (("scope", Scope), ("action", Action)))
            out = drains(severity, scope, action)
            problem = Problem(_printable(str(finding["rule"])[:100]), severity, out, scope, action)
            rows[problem] = None
            self.summaries.setdefault(problem, str(finding["summary"])[:300])
        return _place(self._found_places, self.found, tuple(rows))

    def _reason(self, findings: Iterable[Mapping[str, Any]]) -> int:
        """The place of the report's first reason to keep jobs from its node: rule and summary."""
        for finding in findings:
            if not finding.get("explained_by") and drains(
                finding["severity"], finding.get("scope"), finding.get("action")
            ):
                reason = f"{finding['rule']}: {finding['summary']}"
                reason = _printable(reason if len(reason) <= _LONGEST_REASON else reason[: _LONGEST_REASON - 1] + "…")
                return _place(self._reason_places, self.reasons, reason)
        return 0

    @cached_property
    def problems(self) -> dict[Problem, Seen]:
        """Every problem with its nodes; asked for when all have answered."""
        seen = {problem: Seen(summary) for problem, summary in self.summaries.items()}
        for node, place in enumerate(self.found_of):
            for problem in self.found[place]:
                seen[problem].nodes.append(node)
        return {problem: row for problem, row in seen.items() if row.nodes}

    def unchecked(self) -> dict[str, list[int]]:
        """Layer -> nodes with GPUs, or of which that is not known, on which it could not be checked."""
        rows = {
            layer: [n for n, bits in enumerate(self.unchecked_of) if bits >> bit & 1 and self.gpus_of[n] != 0]
            for bit, layer in enumerate(LAYERS)
        }
        return {layer: nodes for layer, nodes in rows.items() if nodes}

    def stale(self, seconds: int) -> list[tuple[int, int]]:
        """(node, age in seconds) of reports that are older than the newest one by more than that."""
        newest = max((at for at in self.created_of if at <= self.now + _SKEW_S), default=0)
        return [(n, newest - at) for n, at in enumerate(self.created_of) if at and newest - at > seconds]

    def late(self, now: float, seconds: float) -> list[int]:
        """Nodes whose report is older than that; one that does not say when it was made is not."""
        return [n for n, at in enumerate(self.created_of) if at and now - at > seconds]

    def ahead(self) -> list[int]:
        """Nodes whose report is from the future: their clock is wrong."""
        return [n for n, at in enumerate(self.created_of) if at > self.now + _SKEW_S]

    def facts(self, shape: int) -> dict[str, str]:
        """All facts of one distinct configuration, `AREA: FACT` -> value."""
        areas = zip(configuration.AREAS, self.shapes[shape].areas, strict=True)
        return {f"{area}: {name}": value for area, at in areas if at >= 0 for name, value in self.areas[at]}

    def status(self, node: int) -> str:
        return _STATUSES[self.status_of[node]]

    def missing(self, expected: Iterable[str], reasons: Mapping[str, str] | None = None) -> None:
        """Names those of the expected nodes from which nothing came; `reasons` has an engine's error for some."""
        for node in expected:
            why = (reasons or {}).get(node)
            if node in self._places:
                continue
            if why and self.silent.get(node) == SILENT:
                self.silent[node] = why
            self.silent.setdefault(node, why or "nothing came from it")

    def answered(self, node: str) -> int | None:
        return self._places.get(node)

    def driver(self, node: int) -> str | None:
        return self.facts(self.shape_of[node]).get("driver: nvidia_driver.version")
