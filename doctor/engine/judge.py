"""A machine's facts, the catalogue and a profile -> a Report. No machine is touched.

Every rule ends in one of: it fired, it is clear, it could not tell (which facts, and why), it crashed, or it does not
apply (an AMD rule where all GPUs are known and none is AMD's).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from doctor import __version__
from doctor.engine import rank, registry, verdict
from doctor.engine.allow import Allowed, suppress
from doctor.engine.knowledge_provenance import knowledge_provenance
from doctor.engine.missing_facts import (
    Reasons,
    could_not_tell,
    does_not_apply,
    lacks_parts,
    looked_at_unknown,
    why_unknown,
)
from doctor.engine.outcome import PROFILE, Outcome, known_of, may_run, run
from doctor.engine.pointers import pointed, with_symptoms
from doctor.engine.registry import Check
from doctor.engine.remedies import remedies_of
from doctor.facts import Snapshot
from doctor.facts.watched import watched
from doctor.findings import Finding, Layer, NotApplicable, Report, Rule, Severity, Unchecked, evidence, fingerprint

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
    expect_gpus: int | None = None,
) -> Report:
    """The report. `only` and `skip` take rule ids and tags; `source` is the file that was judged."""
    if symptoms:
        machine = machine.model_copy(update={"symptoms": (*machine.symptoms, *symptoms)})
    profile = profile.for_machine(machine) if profile else None
    asked = registry.checks() if checks is None else checks
    tags = ((c, {c.rule.id, *c.rule.tags}) for c in asked)
    asked = [c for c, names in tags if (not only or names & set(only)) and not names & set(skip)]
    rules = {c.rule.id: c.rule for c in asked}
    symptoms_of = pointed(machine, kb)
    known, why_not, lacks = known_of(asked, machine, profile), Reasons(machine), lacks_parts(machine)
    found: list[Finding] = []
    clear: list[str] = []
    unchecked: list[Unchecked] = []
    elsewhere: list[NotApplicable] = []
    absent = _absent_vendors(machine)
    seen: dict[str, None] = {}
    view = watched(machine, seen)
    for check in asked:
        rule = check.rule
        pointers = symptoms_of.get(rule.id)
        seen.clear()
        outcome = run(check, view, kb, profile, known) if pointers or may_run(check, known) else _NOTHING
        unknown = tuple(seen)
        hits = with_symptoms(check, outcome, pointers, machine, kb) if pointers else outcome.findings
        hits = [h for h in hits if not _within_bounds(h, rule, profile, machine)]
        found += [_finished(f, rule, profile, machine) for f in hits]
        if outcome.crashed:
            unchecked.append(outcome.crashed)
        if hits or outcome.crashed:
            continue
        if unknown and not rule.needs:
            unchecked.append(looked_at_unknown(rule, unknown, why_not))
        elif reason := _not_applicable(check, machine, profile, absent, known, lacks):
            elsewhere.append(_not_applicable_row(rule.id, reason))
        elif PROFILE in check.names:
            _profiled(rule, machine, profile, clear, unchecked)
        elif outcome.ran and rule.needs:
            if unknown:
                unchecked.append(looked_at_unknown(rule, unknown, why_not))
            else:
                clear.append(rule.id)
        else:
            unchecked.append(could_not_tell(check, known, why_not))
    if expect_gpus and (short := _fewer(machine, expect_gpus)):
        found.append(_finished(short, rules[_NO_GPU], profile, machine) if _NO_GPU in rules else short)
        clear = [rule for rule in clear if rule != _NO_GPU]
    every = rank.unique(_without_doubles(found, profile, rules))
    kept, suppressed = suppress(every, allowed)
    findings = rank.ranked(rank.folded(rank.ranked(kept, rules)), rules)
    if rank.from_text(machine):
        findings = rank.of_text(findings, rules, works=machine.torch.available is True)
    wrong = [*findings, *(f for f in every if f not in kept)]  # what is allowed is still there
    states = verdict.layers(machine, wrong, clear, rules, expect_gpus, {entry.rule for entry in unchecked})
    return Report(
        doctor=__version__,
        status=verdict.status(machine, findings, states),
        layers=states,
        source=source,
        findings=tuple(findings),
        clear=tuple(clear),
        unchecked=tuple(unchecked),
        not_applicable=tuple(elsewhere),
        suppressed=tuple(suppressed),
        profile=profile.verdict(machine, chosen, why) if profile else None,
        profile_note=why or None if profile is None else None,
        knowledge=knowledge_provenance(kb, datetime.date.today()),
        snapshot=machine,
    )


_NOTHING = Outcome()
_NO_GPU = "no-gpu-found"


def _fewer(machine: Snapshot, expected: int) -> Finding | None:
    """The driver has fewer GPUs than expected."""
    if machine.gpus is None:
        return None
    loaded = {"nvidia": machine.nvidia_driver.loaded, "amd": machine.amdgpu_driver.loaded}
    usable = [
        gpu
        for gpu in machine.gpus
        if gpu.vendor in loaded and loaded[gpu.vendor] is not False and gpu.driver in (None, "nvidia", "amdgpu")
    ]
    if len(usable) >= expected:
        return None
    return Finding(
        rule=_NO_GPU,
        severity=Severity.ERROR,
        summary=f"{expected} GPUs are expected here, and {len(usable)} can be used.",
        evidence=evidence(machine, ("gpus", "nvidia_driver.loaded", "amdgpu_driver.loaded")),
        verify=("lspci", "-nn"),
    )


def applies(rule: Rule, machine: Snapshot) -> bool:
    """False where the rule is one vendor's and the machine is known to have no GPU of that vendor."""
    vendors = _VENDORS.keys() & set(rule.tags)
    return not vendors or bool(vendors - _absent_vendors(machine))


def _absent_vendors(machine: Snapshot) -> set[str]:
    """The vendors of which the machine is known to have no GPU."""
    if (machine.gpus is None and machine.pci is None) or any(gpu.vendor is None for gpu in machine.gpus or ()):
        return set()
    there = {g.vendor for g in machine.gpus or ()}
    ids = {d.vendor_id for d in machine.pci or () if d.kind in ("gpu", "accelerator")}
    return {vendor for vendor, known in _VENDORS.items() if vendor not in there and not ids & set(known)}


def _profiled(
    rule: Rule, machine: Snapshot, profile: Profile | None, clear: list[str], unchecked: list[Unchecked]
) -> None:
    """A rule of the profile that found nothing: clear where all that is expected is known, else it names what is not.
    Without a profile nothing is expected."""
    if profile is None:
        return
    missing = tuple(e.fact for e in profile.expect if profile.answer(e, machine) == "unknown")
    if missing:
        reason = "; ".join(f"{name}: {why_unknown(name, machine)}" for name in missing)
        unchecked.append(Unchecked(rule=rule.id, facts=missing, reason=reason))
    else:
        clear.append(rule.id)


def _not_applicable(
    check: Check, machine: Snapshot, profile: Profile | None, absent: set[str], known: set[str], lacks: bool
) -> str | None:
    """Why a rule that found nothing has nothing to say here."""
    if check.vendors and not check.vendors - absent:
        return f"no GPU of {' or '.join(sorted(check.vendors))} is here"
    if PROFILE in check.names:
        return "no profile was asked for" if profile is None else None
    if not check.needs_more_than_text:
        if not check.measures:
            return "its error text was not seen"
        return None if check.names & known else "nothing was measured"
    return does_not_apply(check.rule, machine) if lacks or not check.by_facts_alone else None


@lru_cache(2048)
def _not_applicable_row(rule: str, reason: str) -> NotApplicable:
    return NotApplicable(rule=rule, reason=reason)


def _finished(finding: Finding, rule: Rule, profile: Profile | None, machine: Snapshot) -> Finding:
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
            "why": finding.why if "why" in finding.model_fields_set else _first_sentence(rule.doc),
            "scope": finding.scope or rule.scope,
            "action": finding.action or rule.action,
            "remedies": remedies_of(finding, machine),
            "docs": finding.docs or f"doctor explain {rule.id}",
        }
    )


@lru_cache(512)
def _first_sentence(doc: str) -> str:
    """Of what the rule's page says of why it matters."""
    after = doc.partition("## Why it matters")[2].strip().partition("\n\n")[0].partition("\n##")[0]
    text = " ".join(after.split())
    end = text.find(". ")
    return text[: end + 1] if end > 0 else text


def _within_bounds(finding: Finding, rule: Rule, profile: Profile | None, machine: Snapshot) -> bool:
    """A host-tuning rule takes its bounds from the profile: what the profile wants is no finding."""
    expectation = profile.expectation(rule.id) if profile and rule.order in _TUNING else None
    if profile is None or expectation is None or finding.basis != "facts":
        return False
    return profile.answer(expectation, machine) == "holds"


def _without_doubles(
    findings: Iterable[Finding], profile: Profile | None, rules: Mapping[str, Rule]
) -> Iterator[Finding]:
    """Leaves out an unmet expectation of which another finding already speaks: that of the rule which it names, or one
    that is not information and rests on the same facts."""
    findings = list(findings)
    fired = {f.rule for f in findings}
    spoken = {e.fact for e in (profile.expect if profile else ()) if e.rule in fired}
    loud = [f for f in findings if f.rule != _UNMET and f.severity is not Severity.INFO]
    shown = {evidence.text for finding in loud for evidence in finding.evidence}
    driver = any(verdict.layer_of(rules[f.rule]) is Layer.DRIVER for f in loud if f.rule in rules)
    for finding in findings:
        of_driver = finding.subject.id.endswith(("driver", "_driver.loaded", "_driver.version"))
        doubled = finding.subject.id in spoken or (shown and {e.text for e in finding.evidence} <= shown)
        doubled = doubled or (driver and of_driver)
        if finding.rule != _UNMET or not doubled:
            yield finding


_UNMET = "profile-expectation-unmet"
