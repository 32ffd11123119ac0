"""A machine's facts, the catalogue and a profile -> a Report. No machine is touched.

Every rule ends in one of: it fired, it is clear, it could not tell (which facts, and why), it crashed, or it does not
apply (an AMD rule where all GPUs are known and none is AMD's).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from doctor import __version__
from doctor.diagnosis import rank, registry
from doctor.diagnosis.allow import Allowed, suppress
from doctor.diagnosis.registry import Check
from doctor.diagnosis.rests_on import rests_on
from doctor.facts import Snapshot, State
from doctor.findings import Evidence, Finding, Report, Rule, Severity, Unchecked, fingerprint

if TYPE_CHECKING:
    from doctor.facts.snapshot import Symptom
    from doctor.knowledge import Knowledge
    from doctor.knowledge.symptoms import Cause
    from doctor.profiles import Profile

Chosen = Literal["named", "matched"]
_VENDORS = {"nvidia": ("10de",), "amd": ("1002", "1022")}
_TUNING = range(80, 90)
"""Orders of host-tuning rules: info at most, unless a profile or a symptom asks."""


_SEVERITY_OF = {"certain": Severity.ERROR, "likely": Severity.WARNING, "possible": Severity.INFO}
"""How loud a finding may be that only an error text speaks for."""


@dataclass
class _Outcome:
    findings: list[Finding] = field(default_factory=list)
    decided: bool = False
    """One alternative of plain facts was wholly known."""
    ran: bool = False
    crashed: Unchecked | None = None


def judge(
    machine: Snapshot,
    kb: Knowledge,
    profile: Profile | None = None,
    symptoms: Sequence[Symptom] = (),
    *,
    checks: Sequence[Check] | None = None,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    allowed: Sequence[Allowed] = (),
    source: str | None = None,
    chosen: Chosen = "named",
    why: str = "",
) -> Report:
    """The report. `only` and `skip` take rule ids and tags; `source` is the file that was judged."""
    if symptoms:
        machine = machine.model_copy(update={"symptoms": (*machine.symptoms, *symptoms)})
    profile = profile.for_machine(machine) if profile else None
    asked = [c for c in (registry.checks() if checks is None else checks) if _asked_for(c.rule, only, skip)]
    rules = {c.rule.id: c.rule for c in asked}
    pointed = _pointed(machine, kb)
    found: list[Finding] = []
    clear: list[str] = []
    unchecked: list[Unchecked] = []
    for check in asked:
        outcome = _run(check, machine, kb, profile)
        hits = _with_symptoms(check, outcome, pointed.get(check.rule.id, []), machine, kb)
        hits = [h for h in hits if not _within_bounds(h, check.rule, profile, machine)]
        found += [_finished(f, check.rule, profile) for f in hits]
        if outcome.crashed:
            unchecked.append(outcome.crashed)
        elif not hits and applies(check.rule, machine):
            if _PROFILE in _words(check.rule):
                _profiled(check.rule, machine, profile, clear, unchecked)
            elif outcome.ran and check.rule.needs:  # one that only an error text raises is not clear without one
                clear.append(check.rule.id)
            elif _relevant(check.rule):
                unchecked.append(_could_not_tell(check.rule, machine))
    kept, suppressed = suppress(rank.unique(_without_doubles(found, profile)), allowed)
    text = rank.from_text(machine)
    ordered = rank.settled(kept, rules) if text else kept
    findings = rank.ranked(rank.folded(rank.ranked(ordered, rules)), rules)
    if text:
        findings = rank.ranked(rank.capped(findings), rules)
    return Report(
        doctor=__version__,
        status=rank.status(machine, findings),
        source=source,
        findings=tuple(findings),
        clear=tuple(clear),
        unchecked=tuple(unchecked),
        suppressed=tuple(suppressed),
        profile=profile.verdict(machine, chosen, why) if profile else None,
        profile_note=why or None if profile is None else None,
        knowledge=rests_on(kb, datetime.date.today()),
        snapshot=machine,
    )


def applies(rule: Rule, machine: Snapshot) -> bool:
    """False where the rule is one vendor's and the machine is known to have no GPU of that vendor."""
    vendors = [v for v in _VENDORS if v in rule.tags]
    if not vendors or (machine.gpus is None and machine.pci is None):
        return True
    there = {g.vendor for g in machine.gpus or ()}
    ids = {d.vendor_id for d in machine.pci or () if d.kind in ("gpu", "accelerator")}
    return any(v in there or ids & set(_VENDORS[v]) for v in vendors)


def _asked_for(rule: Rule, only: Sequence[str], skip: Sequence[str]) -> bool:
    names = {rule.id, *rule.tags}
    return (not only or bool(names & set(only))) and not names & set(skip)


_PROFILE = "profile"
"""Among a rule's `needs`: it asks for what a profile expects, whatever facts these are."""


def _words(rule: Rule) -> set[str]:
    return {name for needs in rule.needs for name in needs}


def _profiled(
    rule: Rule, machine: Snapshot, profile: Profile | None, clear: list[str], unchecked: list[Unchecked]
) -> None:
    """A rule of the profile that found nothing: clear where all that is expected is known, else it names what is not.
    Without a profile nothing was expected, and nothing is said."""
    if profile is None:
        return
    missing = tuple(e.fact for e in profile.expect if profile.answer(e, machine) == "unknown")
    if missing:
        reason = "; ".join(f"{name}: {why_unknown(name, machine)}" for name in missing)
        unchecked.append(Unchecked(rule=rule.id, facts=missing, reason=reason))
    else:
        clear.append(rule.id)


def _relevant(rule: Rule) -> bool:
    """A rule that only a symptom can raise is not "unchecked" for want of an error text, nor one of what was measured
    for want of a measurement that nobody asked for."""
    return any(not name.startswith("symptom:") and name not in _MEASURED for needs in rule.needs for name in needs)


_MEASURED = ("bench", "gemm_proofs", "tuned")
"""Facts that `doctor bench` and `doctor blas --prove` make, and no check."""


def _run(check: Check, machine: Snapshot, kb: Knowledge, profile: Profile | None) -> _Outcome:
    outcome = _Outcome()
    known = [
        needs
        for needs in check.rule.needs
        if all(profile is not None if name == _PROFILE else machine.knows(name) for name in needs)
    ]
    outcome.ran = bool(known) or not check.rule.needs
    outcome.decided = any(any(_proves(name, machine) for name in needs) for needs in known)
    if outcome.decided and check.decides is not None:
        outcome.decided = check.decides(machine, kb)
    if outcome.ran:
        _collect(outcome, check.rule, check.run(machine, kb, profile))
    return outcome


def _proves(name: str, machine: Snapshot) -> bool:
    """Whether knowing that fact can end the matter: an excerpt of a kernel log says nothing of what it leaves out."""
    if name == "kernel_log.events":
        return not machine.source(name).startswith("text:")
    return not name.startswith("symptom:")


def _collect(outcome: _Outcome, rule: Rule, findings: Iterable[Finding]) -> None:
    try:
        outcome.findings.extend(findings)
    except Exception as error:  # noqa: BLE001 -- the one place where a rule's fault is caught: it must not cost the report
        reason = f"the check crashed: {type(error).__name__}: {error}"[:300]
        outcome.crashed = Unchecked(rule=rule.id, reason=reason, crashed=True)


class _Pointer(NamedTuple):
    """A symptom, and how it points to a rule's cause."""

    symptom: Symptom
    cause: Cause


def _pointed(machine: Snapshot, kb: Knowledge) -> dict[str, list[_Pointer]]:
    """Rule id -> the symptoms that point to it, the surest first."""
    pointed: dict[str, list[_Pointer]] = {}
    if not machine.symptoms:
        return pointed
    catalogue: Any = getattr(kb, "symptoms", None)
    if catalogue is None:
        from doctor.knowledge.symptoms import shared

        catalogue = shared()
    for symptom in machine.symptoms:
        for cause in catalogue.causes(symptom.key, machine):
            pointed.setdefault(cause.rule, []).append(_Pointer(symptom, cause))
    for pointers in pointed.values():
        pointers.sort(key=lambda p: _SEVERITY_OF[p.cause.sure].rank)
    return pointed


def _with_symptoms(
    check: Check, outcome: _Outcome, pointers: Sequence[_Pointer], machine: Snapshot, kb: Knowledge
) -> list[Finding]:
    """The check's findings, strengthened by symptoms; or what the symptoms alone raise where facts can't decide: as
    loud as the surest of them allows."""
    if not pointers:
        return outcome.findings
    symptoms = list({p.symptom.key: p.symptom for p in pointers}.values())
    shown = tuple(Evidence(text=s.text, source=s.source) for s in symptoms)
    if outcome.findings:
        return [_both(f, shown, _SEVERITY_OF[pointers[0].cause.sure]) for f in outcome.findings]
    if outcome.decided and check.rule.facts_decide and not outcome.crashed:
        return []
    severity = _SEVERITY_OF[pointers[0].cause.sure]
    weak = 1 if severity is Severity.INFO and check.rule.order < rank.CONSEQUENCES else 0
    if check.on_symptom is not None:
        for symptom in symptoms:
            _collect(outcome, check.rule, check.on_symptom(machine, kb, symptom))
        loud = {"basis": "symptom", "severity": severity, "suspect": weak}
        return [f.model_copy(update={**loud, "evidence": f.evidence or shown}) for f in outcome.findings]
    summary = next((p.cause.summary for p in pointers if p.cause.summary), check.rule.title)
    said = Finding(summary=summary, severity=severity, basis="symptom", evidence=shown, fixes=check.fixes)
    return [said.model_copy(update={"suspect": weak})]


def _both(finding: Finding, shown: tuple[Evidence, ...], severity: Severity) -> Finding:
    """A suspect that an error text points to as well is as loud as that text makes it."""
    evidence = (*finding.evidence, *(e for e in shown if e not in finding.evidence))
    basis = "symptom" if finding.basis == "symptom" else "both"
    louder = {"severity": severity} if finding.suspect and severity.rank < finding.severity.rank else {}
    return finding.model_copy(update={"basis": basis, "evidence": evidence, **louder})


def _finished(finding: Finding, rule: Rule, profile: Profile | None) -> Finding:
    """With all that the engine fills in."""
    severity = finding.severity
    if "severity" not in finding.model_fields_set:
        severity = rule.severity
    expectation = profile.expectation(rule.id) if profile else None
    if expectation and expectation.severity:
        severity = Severity(expectation.severity)
    elif rule.order in _TUNING and "profile" not in rule.tags and not expectation and finding.basis == "facts":
        severity = Severity.INFO
    return finding.model_copy(
        update={
            "rule": rule.id,
            "severity": severity,
            "fingerprint": fingerprint(rule.id, finding.subject),
            "explains": finding.explains if "explains" in finding.model_fields_set else tuple(rule.explains),
            "docs": finding.docs or f"doctor explain {rule.id}",
        }
    )


def _within_bounds(finding: Finding, rule: Rule, profile: Profile | None, machine: Snapshot) -> bool:
    """A host-tuning rule takes its bounds from the profile: what the profile wants is no finding."""
    expectation = profile.expectation(rule.id) if profile and rule.order in _TUNING else None
    if profile is None or expectation is None or finding.basis != "facts":
        return False
    return profile.answer(expectation, machine) == "holds"


def _without_doubles(findings: Iterable[Finding], profile: Profile | None) -> Iterator[Finding]:
    """Leaves out an unmet expectation of which another finding already speaks: that of the rule which it names, or one
    that is not information and rests on the same facts."""
    findings = list(findings)
    fired = {f.rule for f in findings}
    spoken = {e.fact for e in (profile.expect if profile else ()) if e.rule in fired}
    loud = [f for f in findings if f.rule != _UNMET and f.severity is not Severity.INFO]
    shown = {evidence.text for finding in loud for evidence in finding.evidence}
    for finding in findings:
        doubled = finding.subject.id in spoken or (shown and {e.text for e in finding.evidence} <= shown)
        if finding.rule != _UNMET or not doubled:
            yield finding


_UNMET = "profile-expectation-unmet"


_WORDS = {
    State.DENIED: "permission denied",
    State.TIMED_OUT: "timed out",
    State.FAILED: "failed",
    State.UNREADABLE: "unreadable",
    State.TOO_LARGE: "too large",
    State.NOT_RECORDED: "not in the capture",
    State.NOT_ASKED: "not asked",
    State.ABSENT: "not there",
    State.VALUE: "not known",
}


def _could_not_tell(rule: Rule, machine: Snapshot) -> Unchecked:
    """Names the facts that miss in the alternative that is nearest to being known, each with its reason."""
    alternatives = [sorted(n for n in needs if not machine.knows(n)) for needs in rule.needs]
    alternatives = [a for a in alternatives if not all(n.startswith("symptom:") for n in a)] or alternatives
    fewest: list[str] = min(alternatives, key=len)
    missing = tuple(fewest)
    return Unchecked(rule=rule.id, facts=missing, reason="; ".join(f"{n}: {why_unknown(n, machine)}" for n in missing))


def why_unknown(name: str, machine: Snapshot) -> str:
    """`permission denied (file:/dev/kfd)`: the reason of the nearest enclosing name that has an origin."""
    here = name.replace("[*]", "")
    while here:
        origin = machine.origins.get(here)
        if origin is not None:
            detail = f": {origin.detail}" if origin.detail else ""
            return f"{_WORDS[origin.state]} ({origin.source}{detail})"
        here = here[: here.rfind("[")] if here.endswith("]") else here.rpartition(".")[0]
    return "not asked" if not name.startswith("symptom:") else "not seen"
