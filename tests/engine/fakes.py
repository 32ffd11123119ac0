"""Small rules and templates, answering by what is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from doctor.engine.registry import Check
from doctor.findings import Finding, Rule, Severity, Subject
from doctor.knowledge import Knowledge
from doctor.triage.templates.model import Cause


def finding(summary: str = "It is broken.", subject: str = "-", **more: Any) -> Finding:
    return Finding(summary=summary, subject=Subject(kind="thing", id=subject), **more)


def fake_rule(
    name: str,
    *found: Finding,
    needs: Sequence[set[str]] = ({"os.id"},),
    severity: Severity = Severity.ERROR,
    run: Callable[..., Iterator[Finding]] | None = None,
    on_symptom: Callable[..., Iterator[Finding]] | None = None,
    **more: Any,
) -> Check:
    """A rule that needs os.id and yields what it is given."""
    rule = Rule(name, severity, f"Title of {name}.", needs, "doc", "synthetic", **more)
    return Check(rule, run or (lambda machine, kb, profile: iter(found)), on_symptom)


class _Templates:
    def __init__(self, causes: Mapping[str, Sequence[str]]) -> None:
        self._causes = causes

    def causes(self, key: str, machine: object) -> list[Cause]:
        return [Cause(rule=rule, sure="certain") for rule in self._causes.get(key, ())]


class _Knowledge:
    def rested(self) -> dict[str, str]:
        return {}

    def __init__(self, causes: Mapping[str, Sequence[str]]) -> None:
        self.templates = _Templates(causes)


def knowing(**causes: Sequence[str]) -> Knowledge:
    """A catalogue in which each symptom points to those rules."""
    return cast(Knowledge, _Knowledge(causes))
