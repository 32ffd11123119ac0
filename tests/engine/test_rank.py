"""How loud the findings of a pasted text stay."""

from __future__ import annotations

from typing import Literal

from doctor.engine import rank, registry
from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Severity, Subject, fingerprint
from tests.rules import machines

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


def finding(name: str, severity: Severity, *, suspect: int = 0) -> Finding:
    found = Finding(rule=name, severity=severity, summary=name, suspect=suspect)
    return found.model_copy(update={"fingerprint": fingerprint(name, found.subject)})


def told(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(f.rule, f.severity.value) for f in findings]


def test_two_causes_stay_loud_and_one_cause_may_have_several_findings() -> None:
    found = [finding("a", ERROR), finding("a", ERROR), finding("b", ERROR), finding("c", WARNING), finding("d", INFO)]
    assert told(rank.capped(found)) == [
        *(("a", "error"), ("a", "error"), ("b", "error"), ("c", "info"), ("d", "info")),
    ]


def test_of_a_cause_s_warnings_the_first_stays_loud_and_each_error_does() -> None:
    assert told(rank.once([finding("a", WARNING), finding("a", WARNING)])) == [("a", "warning"), ("a", "info")]
    assert told(rank.once([finding("a", ERROR), finding("a", WARNING)])) == [("a", "error"), ("a", "info")]
    assert told(rank.once([finding("a", ERROR), finding("a", ERROR)])) == [("a", "error"), ("a", "error")]
    assert told(rank.once([finding("a", WARNING), finding("b", WARNING)])) == [("a", "warning"), ("b", "warning")]
    gpu = finding("a", WARNING).model_copy(update={"subject": Subject(kind="gpu", id="0"), "basis": "facts"})
    assert told(rank.once([gpu, gpu])) == [("a", "warning"), ("a", "warning")]


def test_explained_findings_are_no_causes() -> None:
    explained = finding("a", INFO).model_copy(update={"explained_by": "x"})
    found = [explained, finding("b", ERROR), finding("c", ERROR), finding("d", WARNING)]
    assert told(rank.capped(found)) == [("a", "info"), ("b", "error"), ("c", "error"), ("d", "info")]


def test_a_machine_is_no_text() -> None:
    assert not rank.from_text(machines.h100_host())
    assert not rank.from_text(Snapshot())
    assert rank.from_text(machines.h100_host({"symptoms": {"cuda-no-device": "no CUDA-capable device"}}))


def test_in_a_pasted_text_an_error_has_two_witnesses_or_is_what_a_gpu_logged() -> None:
    rules = {check.rule.id: check.rule for check in registry.checks()}

    def severity(
        name: str, basis: Literal["facts", "symptom", "both"], works: bool = False, lines: tuple[int, ...] = (3, 7)
    ) -> str:
        seen = tuple(Evidence(text="x", source=f"text:{line}") for line in lines)
        one = finding(name, ERROR).model_copy(update={"basis": basis, "evidence": seen})
        return told(rank.unproven([one], rules, works))[0][1]

    for name in ("torch-missing-gpu-arch", "nvidia-driver-too-old"):
        assert severity(name, "both") == "error"
        assert severity(name, "facts") == severity(name, "symptom") == "warning"
        assert severity(name, "both", works=True) == "warning"
        assert severity(name, "both", lines=(3, 3)) == "warning"
    assert severity("gpu-ecc-errors", "facts", works=True) == "error"
    assert severity("gpu-ecc-errors", "symptom") == "warning"
