"""How loud the findings of a pasted text stay."""

from __future__ import annotations

from doctor.diagnosis import rank
from doctor.facts import Snapshot
from doctor.findings import Finding, Rule, Severity, fingerprint
from tests.rules import machines

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


def rule(name: str, order: int = 50) -> Rule:
    return Rule(id=name, severity=WARNING, title=name, needs=(), doc="", proven="synthetic", order=order)


RULES = {name: rule(name) for name in "abcd"} | {"no-gpu": rule("no-gpu", 90)}


def finding(name: str, severity: Severity, *, suspect: int = 0) -> Finding:
    found = Finding(rule=name, severity=severity, summary=name, suspect=suspect)
    return found.model_copy(update={"fingerprint": fingerprint(name, found.subject)})


def told(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(f.rule, f.severity.value) for f in findings]


def test_the_first_suspect_is_raised_where_only_a_consequence_is_loud() -> None:
    found = [finding("no-gpu", ERROR), finding("b", INFO, suspect=1), finding("a", INFO, suspect=1)]
    assert told(rank.settled(found, RULES)) == [("no-gpu", "error"), ("a", "warning"), ("b", "info")]


def test_the_strongest_suspect_is_raised() -> None:
    found = [finding("a", INFO, suspect=1), finding("b", INFO, suspect=3)]
    assert told(rank.settled(found, RULES)) == [("a", "info"), ("b", "warning")]


def test_no_suspect_is_raised_beside_a_surer_cause() -> None:
    found = [finding("a", INFO, suspect=1), finding("b", WARNING)]
    assert told(rank.settled(found, RULES)) == [("b", "warning"), ("a", "info")]


def test_what_is_no_suspect_stays_information() -> None:
    assert told(rank.settled([finding("a", INFO)], RULES)) == [("a", "info")]


def test_two_causes_stay_loud_and_one_cause_may_have_several_findings() -> None:
    found = [finding("a", ERROR), finding("a", ERROR), finding("b", ERROR), finding("c", WARNING), finding("d", INFO)]
    assert told(rank.capped(found)) == [
        *(("a", "error"), ("a", "error"), ("b", "error"), ("c", "info"), ("d", "info")),
    ]


def test_explained_findings_are_no_causes() -> None:
    explained = finding("a", INFO).model_copy(update={"explained_by": "x"})
    found = [explained, finding("b", ERROR), finding("c", ERROR), finding("d", WARNING)]
    assert told(rank.capped(found)) == [("a", "info"), ("b", "error"), ("c", "error"), ("d", "info")]


def test_a_machine_is_no_text() -> None:
    assert not rank.from_text(machines.h100_host())
    assert not rank.from_text(Snapshot())
    assert rank.from_text(machines.h100_host({"symptoms": {"cuda-no-device": "no CUDA-capable device"}}))
