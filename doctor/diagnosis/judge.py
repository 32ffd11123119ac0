"""A machine's facts, the catalogue and a profile -> a Report. No machine is touched.

Every rule ends in one of: it fired, it is clear, it could not tell (which facts, and why), it crashed, or it does not
apply (an AMD rule where all GPUs are known and none is AMD's).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from doctor import __version__
from doctor.diagnosis import rank, registry
from doctor.diagnosis.allow import Allowed, suppress
from doctor.diagnosis.outcome import PROFILE, Known, run
from doctor.diagnosis.pointers import pointed, with_symptoms
from doctor.diagnosis.registry import Check
from doctor.diagnosis.rests_on import rests_on
from doctor.diagnosis.untold import could_not_tell, is_moot, why_unknown
from doctor.facts import Snapshot
from doctor.findings import Finding, Report, Rule, Severity, Unchecked, fingerprint
from doctor.rules import macos

if TYPE_CHECKING:
    from doctor.facts.snapshot import Symptom
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

Chosen = Literal["named", "matched"]
_VENDORS = {"nvidia": ("10de",), "amd": ("1002", "1022")}
_TUNING = range(80, 90)
"""Orders of host-tuning rules: info at most, unless a profile or a symptom asks."""


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
    asked = [c for c in asked if macos.holds(c.rule.id, machine)]
    rules = {c.rule.id: c.rule for c in asked}
    symptoms_of = pointed(machine, kb)
    ruled_out: set[str] = set()
    looked_well: set[str] = set()
    knows = Known(machine)
    found: list[Finding] = []
    clear: list[str] = []
    unchecked: list[Unchecked] = []
    absent = _absent_vendors(machine)
    for check in asked:
        of_machine = _is_of(check.rule, absent)
        outcome = run(check, machine, kb, profile, knows)
        excluded = check.excludes is not None and check.excludes(machine)
        hits = with_symptoms(check, outcome, [] if excluded else symptoms_of.get(check.rule.id, []), machine, kb)
        decided = outcome.decided and check.rule.facts_decide
        if not hits and (excluded or decided or not of_machine):
            ruled_out.add(check.rule.id)
        elif not hits and outcome.ran and check.rule.needs:
            looked_well.add(check.rule.id)
        hits = [h for h in hits if not _within_bounds(h, check.rule, profile, machine)]
        found += [_finished(f, check.rule, profile) for f in hits]
        if outcome.crashed:
            unchecked.append(outcome.crashed)
        elif not hits and of_machine:
            if PROFILE in _words(check.rule):
                _profiled(check.rule, machine, profile, clear, unchecked)
            elif outcome.ran and check.rule.needs:  # one that only an error text raises is not clear without one
                clear.append(check.rule.id)
            elif _relevant(check.rule) and not is_moot(check.rule, machine):
                unchecked.append(could_not_tell(check.rule, machine, knows))
    kept, suppressed = suppress(rank.unique(_without_doubles(found, profile)), allowed)
    if rank.from_text(machine):
        findings = _of_text(kept, machine, asked, ruled_out, looked_well, profile)
    else:
        findings = rank.ranked(rank.folded(rank.ranked(kept, rules)), rules)
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


def _of_text(
    found: Sequence[Finding],
    machine: Snapshot,
    asked: Sequence[Check],
    ruled_out: set[str],
    looked_well: set[str],
    profile: Profile | None,
) -> list[Finding]:
    """The findings of a pasted text with the suspicions that its words leave, ranked, folded and few."""
    from doctor.diagnosis import akin, resemblance  # here, for a live machine needs none of them
    from doctor.rules import work_done

    checks = {check.rule.id: check for check in asked}
    rules = {name: check.rule for name, check in checks.items()}
    told = {f.rule for f in found if f.severity is not Severity.INFO}
    by_facts = ruled_out
    ruled_out = by_facts | resemblance.unheard(machine, checks, akin.guesses(machine, told))

    def finished(findings: Iterable[Finding]) -> list[Finding]:
        return [f if f.fingerprint else _finished(f, rules[f.rule], profile) for f in findings]

    kept = finished(resemblance.suspected(found, machine, checks, ruled_out, looked_well))
    # A tool's output in which nobody speaks and nothing fails is no complaint: there a suspicion stays a remark.
    fails = any(not symptom.mention for symptom in machine.symptoms)
    complains = fails or machine.spoken or bool(machine.resembles)
    # Where a program's own error is told, or that all works, what might be is no answer to it.
    own = resemblance.own_exception(machine)
    asks = complains and not own and not resemblance.own_code(machine)
    ordered = rank.settled(kept, rules) if asks else kept
    if own:
        ordered = rank.beside_the_error(ordered, rules)
    findings = rank.ranked(rank.folded(rank.ranked(ordered, rules)), rules)
    findings = rank.ranked(rank.capped(findings), rules)
    works = machine.torch.available is True or work_done.ran(machine)
    if asks:
        findings = resemblance.with_setting(findings, machine, checks)
        if not works:
            findings = finished(resemblance.in_plain_words(findings, machine, checks, by_facts))
        findings = rank.ranked(finished(akin.with_akin(findings, machine, checks, ruled_out, told)), rules)
    return rank.once(rank.unproven(findings, rules, works))


def applies(rule: Rule, machine: Snapshot) -> bool:
    """False where the rule is one vendor's and the machine is known to have no GPU of that vendor."""
    return _is_of(rule, _absent_vendors(machine))


def _absent_vendors(machine: Snapshot) -> set[str]:
    """The vendors of which the machine is known to have no GPU."""
    if machine.gpus is None and machine.pci is None:
        return set()
    there = {g.vendor for g in machine.gpus or ()}
    ids = {d.vendor_id for d in machine.pci or () if d.kind in ("gpu", "accelerator")}
    return {vendor for vendor, known in _VENDORS.items() if vendor not in there and not ids & set(known)}


def _is_of(rule: Rule, absent: set[str]) -> bool:
    """Whether the rule is of no vendor, or of one that may be there."""
    return not absent or not (vendors := _VENDORS.keys() & set(rule.tags)) or bool(vendors - absent)


def _asked_for(rule: Rule, only: Sequence[str], skip: Sequence[str]) -> bool:
    names = {rule.id, *rule.tags}
    return (not only or bool(names & set(only))) and not names & set(skip)


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
