"""Findings put in order: one a subject, causes before consequences, what is explained folded, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from doctor.facts import Snapshot
from doctor.findings import Finding, Rule, Scope, Severity


def unique(findings: Iterable[Finding]) -> list[Finding]:
    """One finding a fingerprint: the more severe stays, and takes over the other's evidence and basis."""
    kept: dict[str, Finding] = {}
    for finding in findings:
        known = kept.get(finding.fingerprint)
        if known is None:
            kept[finding.fingerprint] = finding
            continue
        first, second = sorted((known, finding), key=lambda f: f.severity.rank)
        evidence = (*first.evidence, *(e for e in second.evidence if e not in first.evidence))
        basis = first.basis if first.basis == second.basis else "both"
        kept[finding.fingerprint] = first.model_copy(update={"evidence": evidence, "basis": basis})
    return list(kept.values())


def ranked(findings: Iterable[Finding], rules: Mapping[str, Rule]) -> list[Finding]:
    """By severity, what is surer first, then by the rule's order, causes before what they explain, then by name."""

    def place(finding: Finding) -> tuple[int, bool, int, int, str, str, str]:
        rule = rules.get(finding.rule)
        order = rule.order if rule else 50
        explains = 0 if finding.explains else 1
        weak = finding.suspect != 0 and finding.severity is not Severity.INFO
        return finding.severity.rank, weak, order, explains, finding.rule, finding.subject.kind, finding.subject.id

    return sorted(findings, key=place)


def folded(findings: Sequence[Finding]) -> list[Finding]:
    """Marks each finding that an earlier, unexplained error or warning explains: severity info, `explained_by`.

    The findings come ranked. A chain folds under its root; a circle folds under the one that ranks first. Information
    that something failed is explained too, a suspicion is not.
    """
    heads: list[Finding] = []
    marked: dict[str, str] = {}
    pending = [f for f in findings if f.severity is not Severity.INFO or f.rule in _FAILED]
    named = {rule for f in pending for rule in f.explains if rule != f.rule}
    for finding in sorted(pending, key=lambda f: f.rule in named):
        causes = (h for h in heads if finding.rule in _reach(h, pending) and finding.rule != h.rule)
        cause = next((h for h in causes if _can_break(h, finding)), None)
        if cause is None and finding.severity is not Severity.INFO:
            heads.append(finding)
        elif cause:
            marked[finding.fingerprint] = cause.fingerprint
    folded_away = {"severity": Severity.INFO}
    return [
        f.model_copy(update={**folded_away, "explained_by": marked[f.fingerprint]}) if f.fingerprint in marked else f
        for f in findings
    ]


def _can_break(cause: Finding, broken: Finding) -> bool:
    """Nothing in an environment, a container or a job breaks a driver or a GPU. A container or a job can hide one: what
    an error text alone says of it may be that."""
    if broken.scope not in (Scope.HARDWARE, Scope.FIRMWARE, Scope.DRIVER):
        return True
    hides = cause.scope in (Scope.CONTAINER, Scope.JOB) and broken.basis == "symptom"
    return hides or cause.scope not in (Scope.CONTAINER, Scope.ENVIRONMENT, Scope.JOB)


_FAILED = ("torch-sees-no-gpu", "framework-sees-no-gpu")
"""Rules that say what failed and not why."""
_LOUD_IN_TEXT = 2
"""Causes of one pasted text that stay errors or warnings: a reader asks for the cause, not for all that could be."""


def from_text(machine: Snapshot) -> bool:
    """Whether what is known was read from a pasted text; one in which nothing but words was read is one."""
    sources = (origin.source for origin in machine.origins.values())
    return any(source.startswith("text:") for source in sources) or any(
        s.source.startswith("text:") for s in machine.symptoms
    )


def of_text(findings: Sequence[Finding], rules: Mapping[str, Rule], *, works: bool) -> list[Finding]:
    """The ranked and folded findings of a pasted text: few, each cause once, and an error only where two agree."""
    return once(unproven(ranked(capped(findings), rules), rules, works))


def capped(findings: Sequence[Finding]) -> list[Finding]:
    """Of the ranked and folded findings of a pasted text, the causes after the second become information."""
    kept: list[Finding] = []
    causes: set[str] = set()
    for finding in findings:
        loud = _loud(finding)
        if loud and finding.rule not in causes and len(causes) >= _LOUD_IN_TEXT:
            kept.append(_remark(finding))
            continue
        if loud:
            causes.add(finding.rule)
        kept.append(finding)
    return kept


def once(findings: Sequence[Finding]) -> list[Finding]:
    """Of the findings of a pasted text, in the order they have, the warnings of a cause that is above become
    information: five variables of which one thing is suspected are one suspicion. Errors stand each for itself, and so
    does what the facts of a GPU show: five GPUs are five."""
    kept: list[Finding] = []
    causes: set[str] = set()
    for finding in findings:
        shown = finding.subject.kind == "gpu" and finding.basis != "symptom"
        again = finding.rule in causes and finding.severity is Severity.WARNING and not shown
        kept.append(_remark(finding) if again and _loud(finding) else finding)
        if _loud(finding):
            causes.add(finding.rule)
    return sorted(kept, key=lambda f: f.severity is Severity.INFO)


def _loud(finding: Finding) -> bool:
    return finding.severity is not Severity.INFO and not finding.explained_by


def _remark(finding: Finding) -> Finding:
    return finding.model_copy(update={"severity": Severity.INFO})


HARDWARE = "hardware"
"""The tag of rules on what a GPU itself logs and counts: it is its own second witness."""


def unproven(findings: Iterable[Finding], rules: Mapping[str, Rule], works: bool) -> list[Finding]:
    """Of a pasted text, in the order they have: what has one witness is a warning. An error text alone may be quoted,
    old, or printed where something else is wrong, however sure it is of itself; versions, settings, modules and states
    may be another environment's, card's, boot's or host's than the one that fails. Where both agree it is an error, and
    so is a fault that a GPU itself logged or counted. Where the text shows that the GPU works, what would keep it from
    working is a warning. Two readings of one line are one witness.

    Over 2,270 texts that no rule had seen, of 322 errors that an error text alone raised 21 were wrong, of 17 from
    versions and settings alone 5 (15 of these 26 on machines in which nothing was), of 81 that both raised 2.
    """
    kept = []
    for finding in findings:
        of_hardware = finding.basis != "symptom" and finding.rule in rules and HARDWARE in rules[finding.rule].tags
        agreed = finding.basis == "both" and len({row.source for row in finding.evidence}) > 1
        weak = finding.severity is Severity.ERROR and not of_hardware and (works or not agreed)
        kept.append(finding.model_copy(update={"severity": Severity.WARNING}) if weak else finding)
    return kept


CONSEQUENCES = 90
"""From this place in the order on, a rule tells what follows from causes."""


def _reach(head: Finding, findings: Sequence[Finding]) -> set[str]:
    """Rules that a finding explains, itself or through what it explains."""
    reach: set[str] = set()
    ahead = list(head.explains)
    while ahead:
        rule = ahead.pop()
        if rule not in reach:
            reach.add(rule)
            ahead += [r for f in findings if f.rule == rule for r in f.explains]
    return reach
