"""A second cause beside the one that error texts tell, where both show the same signs and nothing tells them apart.

Nothing is excused by it and nothing is sure of it: it is a warning that stands last. A cause that facts ruled out, and
one that is folded under what explains it, is not named again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from doctor.diagnosis.registry import Check
from doctor.diagnosis.resemblance import ANSWERS, ASK, inline, is_cause, spoken_for
from doctor.facts import Snapshot
from doctor.facts.snapshot import Resemblance
from doctor.findings import Evidence, Finding, Severity
from doctor.knowledge.akin import shared
from doctor.knowledge.wording import HEALTHY

SAME_SIGNS = 0.65
"""In so many of the texts of the told cause the other was a fair answer: it needs no word that speaks for it."""
OFTEN_BEHIND = 0.25
"""And in so many of the texts that the told cause fitted, the other was the cause."""
SOMETIMES_FAIR = 0.2
"""The same, one way or the other, where the words of the text speak for the other cause as well."""
WORDS_SPEAK = 0.03
"""The share of the words from which on they do."""
HEALTHY_AT_MOST = 0.02
"""Where the words say so much that nothing is wrong, an unsure cause is no reason to name two."""


def guesses(machine: Snapshot, told: Collection[str]) -> set[str]:
    """Causes that words or the signs of what is told may name."""
    return {like.cause for like in machine.resembles}.union(*(shared().around(cause) for cause in told))


def with_akin(
    findings: Sequence[Finding],
    machine: Snapshot,
    checks: Mapping[str, Check],
    ruled_out: Collection[str],
    told: Collection[str],
) -> list[Finding]:
    """The ranked and folded findings, with one warning more where nothing but error texts tells a single cause.
    `told`: the causes that something surer than words tells.

    Of 898 condensed texts that no rule had seen 740 were named with it and 732 without; eleven got a cause that was no
    fair answer. Of 577 in which nothing was wrong none got a second warning by it; beside facts and beside a suspicion
    from words alone one did, and two were accused of what was known to be wrong.
    """
    loud = [f for f in findings if f.severity is not Severity.INFO and not f.explained_by and is_cause(f.rule, checks)]
    if len({f.rule for f in loud}) != 1 or loud[0].rule not in told or any(f.basis != "symptom" for f in loud):
        return list(findings)
    first = loud[0]
    if first.rule in ANSWERS:
        return list(findings)
    shares = {like.cause: like for like in machine.resembles}
    sure = any(f.severity is Severity.ERROR for f in loud)
    if not sure and (not shares or (HEALTHY in shares and shares[HEALTHY].share > HEALTHY_AT_MOST)):
        return list(findings)
    remarks = {f.rule for f in findings if f.severity is Severity.INFO and (f.explained_by or f.basis != "symptom")}
    barred = {first.rule, *ruled_out, *remarks, *first.explains}  # what follows from a cause is no other one
    fit = _words_speak(first.rule, shares)
    if not sure:
        fit |= _same_signs(first.rule, shares)
    fit = {cause: worth for cause, worth in fit.items() if cause not in barred and is_cause(cause, checks)}
    if not fit:
        return list(findings)
    cause = max(fit, key=lambda name: fit[name])
    update: dict[str, object] = {"severity": Severity.WARNING, "suspect": 1, "explains": ()}
    known = max((f for f in findings if f.rule == cause), key=lambda f: f.suspect, default=None)
    if known is not None:
        return [f.model_copy(update=update) if f is known else f for f in findings]
    return [*findings, _finding(checks[cause], first, shares.get(cause)).model_copy(update=update)]


def _same_signs(told: str, shares: Mapping[str, Resemblance]) -> dict[str, float]:
    """Causes with the told one's signs, and what speaks for each."""
    return {
        cause: _share(shares, cause) + shared().behind(told, cause)
        for cause in shared().around(told)
        if shared().fair(told, cause) >= SAME_SIGNS and shared().behind(told, cause) >= OFTEN_BEHIND
    }


def _words_speak(told: str, shares: Mapping[str, Resemblance]) -> dict[str, float]:
    """Causes that the told one's signs fit at times and the words speak for, and what speaks for each."""
    return {
        cause: like.share + shared().behind(told, cause)
        for cause, like in shares.items()
        if like.share >= WORDS_SPEAK and max(shared().fair(told, cause), shared().fair(cause, told)) >= SOMETIMES_FAIR
    }


def _share(shares: Mapping[str, Resemblance], cause: str) -> float:
    return shares[cause].share if cause in shares else 0.0


def _finding(check: Check, first: Finding, like: Resemblance | None) -> Finding:
    """Says which cause it stands beside, and what it rests on."""
    evidence = [Evidence(text=f"texts that tell of {first.rule} often have this cause", source="text")]
    if like is not None and like.words:
        evidence.append(spoken_for(like))
    return Finding(
        rule=check.rule.id,
        summary=f"Shows the same signs: {inline(check.rule.title)}",
        severity=Severity.WARNING,
        basis="symptom",
        evidence=tuple(evidence),
        fixes=check.fixes,
        ask=ASK,
    )
