"""Answers of any number of nodes, one by one: equal parts are kept once, a node costs its name and some numbers."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from doctor.fleet import configuration
from doctor.fleet.answers import SILENT, Answer
from doctor.fleet.configuration import Area

_SEVERITIES = ("error", "warning", "info")
_STATUSES = ("ok", "warning", "error", "unknown")


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


class Problem(NamedTuple):
    """One finding that no other explains, of any number of nodes."""

    rule: str
    severity: str


@dataclass
class Seen:
    """Where a problem was found. `nodes` are places in Tally.nodes, each once, in order."""

    summary: str
    """Of the first node that has it."""
    nodes: array[int] = field(default_factory=lambda: array("I"))


class Shape(NamedTuple):
    """One distinct configuration: hardware, and a place in Tally.areas for each area of AREAS, -1 for nothing known."""

    kind: str
    identity: tuple[str, ...]
    areas: tuple[int, ...]


class _Read(NamedTuple):
    """What is kept of a report's snapshot."""

    kind: str
    identity: tuple[str, ...]
    told: dict[str, Area]
    gpus: int

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> _Read:
        machine = report.get("snapshot") or {}
        gpus = machine.get("gpus")
        number = min(len(gpus), 32_000) if isinstance(gpus, list) else -1
        return cls(configuration.kind(machine), configuration.identity(machine), configuration.of(report), number)


class Tally:
    """What all answers say together. Memory: distinct areas, distinct shapes, and below 1 KiB a node."""

    def __init__(self) -> None:
        self.nodes: list[str] = []
        """Those that gave a report, in the order in which they answered."""
        self.shape_of = array("I")
        self.status_of = array("B")
        self.shapes: list[Shape] = []
        self.areas: list[Area] = []
        self.problems: dict[Problem, Seen] = {}
        self.gpus_of = array("h")
        """Number of GPUs that the node has; -1 where that is not known."""
        self.silent: dict[str, str] = {}
        """Node -> why it gave no report."""
        self.twice: list[str] = []
        """Nodes of which a second report came: the first one counts."""
        self._places: dict[str, int] = {}
        self._shape_places: dict[Shape, int] = {}
        self._area_places: dict[Area, int] = {}

    def add_all(self, answers: Iterable[Answer]) -> Tally:
        for answer in answers:
            self.add(answer)
        return self

    def add(self, answer: Answer) -> None:
        node = _printable(answer.node)
        if answer.report is None:
            self.silent.setdefault(node, answer.fault or "it gave no report")
        elif node in self._places:
            self.twice.append(node)
        else:
            try:
                read = _Read.of(answer.report)
            except (AttributeError, KeyError, TypeError, ValueError):  # another program's, or made by hand
                self.silent.setdefault(node, "its report is not in the form of doctor.report/1")
            else:
                self._add(node, answer.report, read)

    def _add(self, node: str, report: Mapping[str, Any], read: _Read) -> None:
        place = self._places[node] = len(self.nodes)
        self.nodes.append(node)
        status = report.get("status")
        self.status_of.append(_STATUSES.index(status if status in _STATUSES else "unknown"))
        self.gpus_of.append(read.gpus)
        areas = tuple(self._area(read.told[area]) if area in read.told else -1 for area in configuration.AREAS)
        self.shape_of.append(self._shape(Shape(read.kind, read.identity, areas)))
        for finding in report.get("findings") or ():
            if not finding.get("explained_by"):
                self._found(place, finding)

    def _area(self, area: Area) -> int:
        place = self._area_places.get(area)
        if place is None:
            place = self._area_places[area] = len(self.areas)
            self.areas.append(area)
        return place

    def _shape(self, shape: Shape) -> int:
        place = self._shape_places.get(shape)
        if place is None:
            place = self._shape_places[shape] = len(self.shapes)
            self.shapes.append(shape)
        return place

    def _found(self, place: int, finding: Mapping[str, Any]) -> None:
        severity = finding["severity"] if finding["severity"] in _SEVERITIES else "info"
        problem = Problem(_printable(str(finding["rule"])[:100]), severity)
        seen = self.problems.get(problem)
        if seen is None:
            seen = self.problems[problem] = Seen(str(finding["summary"])[:300])
        if not seen.nodes or seen.nodes[-1] != place:
            seen.nodes.append(place)

    def facts(self, shape: int) -> dict[str, str]:
        """All facts of one distinct configuration, `AREA: FACT` -> value."""
        areas = zip(configuration.AREAS, self.shapes[shape].areas, strict=True)
        return {f"{area}: {name}": value for area, at in areas if at >= 0 for name, value in self.areas[at]}

    def status(self, node: int) -> str:
        return _STATUSES[self.status_of[node]]

    def missing(self, expected: Iterable[str], reasons: Mapping[str, str] | None = None) -> None:
        """Names those of the expected nodes from which nothing came; `reasons` has what an engine said of some."""
        for node in expected:
            why = (reasons or {}).get(node)
            if node in self._places:
                continue
            if why and self.silent.get(node) == SILENT:
                self.silent[node] = why
            self.silent.setdefault(node, why or "nothing came from it")

    def answered(self, node: str) -> int | None:
        """Its place in `nodes`."""
        return self._places.get(node)

    def driver(self, node: int) -> str | None:
        """Version of the loaded NVIDIA driver."""
        return self.facts(self.shape_of[node]).get("driver: nvidia_driver.version")
