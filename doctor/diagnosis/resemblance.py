"""Suspicion from the words of a pasted text, where neither facts nor an error text name a cause.

The words say which causes such texts had (doctor/knowledge/wording.py); a cause that facts ruled out is not suspected.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from doctor.diagnosis import rank
from doctor.diagnosis.registry import Check
from doctor.facts import Snapshot
from doctor.facts.snapshot import Resemblance
from doctor.findings import Evidence, Finding, Severity

LEAST_SHARE = 0.2
"""Over 385 texts of public threads that no rule had seen, facts and error texts named the cause of 281; with suspicions
from this share on 306, and 3 of 40 texts without such a cause were suspected of one. Lower shares named no more."""
SURE_SHARE = 0.85
"""Beside one cause that something surer told: at half of it, 4 more of those texts were named, and of 67 tickets whose
cause facts tell 4 more had a wrong one beside it."""
AGAINST_FACTS_SHARE = 0.5
"""Where the rule of that cause saw facts and found nothing in them, though they did not rule it out."""
SUSPECT_SHARE = 0.15
"""What a suspicion of a rule or of an error text is worth beside the share of the words."""
_ASK = "the exact error lines, and the command that was run"


def suspected(
    findings: Sequence[Finding],
    machine: Snapshot,
    checks: Mapping[str, Check],
    ruled_out: Collection[str],
    looked_well: Collection[str] = (),
) -> list[Finding]:
    """The findings, with one suspicion as a warning: where nothing but consequences is an error or a warning, or
    beside a single cause where the words hardly leave a doubt."""
    if not machine.resembles:
        return list(findings)
    told = {f.rule for f in findings if f.severity is not Severity.INFO and _is_cause(f.rule, checks)}
    likes = {k.cause: k for k in machine.resembles if k.cause not in ruled_out and _is_cause(k.cause, checks)}
    weight = {c: like.share for c, like in likes.items() if c not in looked_well or like.share >= AGAINST_FACTS_SHARE}
    if not told:
        for finding in findings:
            if finding.suspect and _is_cause(finding.rule, checks):
                weight[finding.rule] = weight.get(finding.rule, 0.0) + SUSPECT_SHARE
    cause = max(weight, key=lambda name: weight[name], default=None)
    least = {0: LEAST_SHARE, 1: SURE_SHARE}.get(len(told))
    if cause is None or cause in told or least is None or weight[cause] < least:
        return list(findings)
    # Beside what is told it explains nothing: a suspicion may not fold a surer cause under itself.
    update = {"severity": Severity.WARNING, **({"explains": ()} if told else {})}
    raised = [f.model_copy(update=update) if f.rule == cause else f for f in findings]
    if any(f.rule == cause for f in findings):
        return raised
    return [*raised, _finding(likes[cause], checks[cause]).model_copy(update=update)]


def _is_cause(rule: str, checks: Mapping[str, Check]) -> bool:
    return rule in checks and checks[rule].rule.order < rank.CONSEQUENCES


def _finding(like: Resemblance, check: Check) -> Finding:
    """Says that it is a suspicion, and what it rests on."""
    words = ", ".join(f"`{word}`" for word in like.words)
    return Finding(
        rule=check.rule.id,
        summary=f"Suspected from the words of the text: {check.rule.title[:1].lower()}{check.rule.title[1:]}",
        severity=Severity.WARNING,
        basis="symptom",
        evidence=(Evidence(text=f"words that texts with this cause have: {words}", source=like.source),),
        fixes=check.fixes,
        ask=_ASK,
    )
