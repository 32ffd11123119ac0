"""Error texts that point to causes: they strengthen what facts say, and speak alone where facts can't decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from doctor.engine import rank
from doctor.engine.outcome import Outcome, collect, decided
from doctor.engine.registry import Check
from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Severity

if TYPE_CHECKING:
    from doctor.facts.snapshot import Symptom
    from doctor.knowledge import Knowledge
    from doctor.triage.templates.model import Cause

_SEVERITY_OF = {"certain": Severity.ERROR, "likely": Severity.WARNING, "possible": Severity.INFO}
"""How loud a finding may be that only an error text speaks for."""


class Pointer(NamedTuple):
    """A symptom, and how it points to a rule's cause."""

    symptom: Symptom
    cause: Cause


def pointed(machine: Snapshot, kb: Knowledge) -> dict[str, list[Pointer]]:
    """Rule id -> the error texts that point to it, the surest first."""
    pointed: dict[str, list[Pointer]] = {}
    if not machine.symptoms:
        return pointed
    catalogue: Any = getattr(kb, "templates", None)
    if catalogue is None:
        from doctor.triage.templates.catalogue import shared  # a live machine has no text to look up

        catalogue = shared()
    for symptom in machine.symptoms:
        for cause in catalogue.causes(symptom.key, machine):
            pointed.setdefault(cause.rule, []).append(Pointer(symptom, cause))
    for pointers in pointed.values():
        pointers.sort(key=lambda p: _SEVERITY_OF[p.cause.sure].rank)
    return pointed


def with_symptoms(
    check: Check, outcome: Outcome, pointers: Sequence[Pointer], machine: Snapshot, kb: Knowledge
) -> list[Finding]:
    """The check's findings, strengthened by symptoms; or what the symptoms alone raise where facts can't decide: as
    loud as the surest of them allows."""
    symptoms = list({p.symptom.key: p.symptom for p in pointers}.values())
    lines = {s.source: Evidence(text=s.text, source=s.source) for s in reversed(symptoms)}  # each line once
    shown = tuple(dict.fromkeys(lines[s.source] for s in symptoms))
    if outcome.findings:
        return [_both(f, shown, _SEVERITY_OF[pointers[0].cause.sure]) for f in outcome.findings]
    if check.rule.facts_decide and not outcome.crashed and decided(outcome, check, machine, kb):
        return []
    severity = _SEVERITY_OF[pointers[0].cause.sure]
    weak = 1 if severity is Severity.INFO and check.rule.order < rank.CONSEQUENCES else 0
    if check.on_symptom is not None:
        for symptom in symptoms:
            collect(outcome, check.rule, check.on_symptom(machine, kb, symptom))
        loud = {"basis": "symptom", "severity": severity, "suspect": weak}
        return [
            f.model_copy(update={**loud, "summary": _as_sure(f.summary, weak), "evidence": f.evidence or shown})
            for f in outcome.findings
        ]
    own = next((p.cause.summary for p in pointers if p.cause.summary), None)
    summary = own or check.rule.title
    remedies = check.advice(machine, kb) if check.advice else check.remedies
    made = Finding(
        summary=_as_sure(summary, weak), severity=severity, basis="symptom", evidence=shown, remedies=remedies
    )
    # A summary of its own is of one case; why the rule matters is of all.
    return [made.model_copy(update={"suspect": weak, **({"why": ""} if own else {})})]


def _as_sure(summary: str, weak: int) -> str:
    """One of several causes that an error text may have is not stated as a fact."""
    return f"Possible cause: {summary}" if weak else summary


def _both(finding: Finding, shown: tuple[Evidence, ...], severity: Severity) -> Finding:
    """A suspect that an error text points to as well is as loud as that text makes it."""
    lines = [e.text for e in finding.evidence if e.text]  # a line of the log may be quoted without its time
    evidence = (*finding.evidence, *(e for e in shown if not any(map(e.text.endswith, lines))))
    basis = "symptom" if finding.basis == "symptom" else "both"
    louder = {"severity": severity} if finding.suspect and severity.rank < finding.severity.rank else {}
    return finding.model_copy(update={"basis": basis, "evidence": evidence, **louder})
