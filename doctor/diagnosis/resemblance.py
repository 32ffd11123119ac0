"""Suspicion from the words of a pasted text, where neither facts nor an error text name a cause.

The words say which causes such texts had (doctor/knowledge/wording.py); a cause that facts ruled out is not suspected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from doctor.diagnosis import rank
from doctor.diagnosis.registry import Check
from doctor.facts import Snapshot
from doctor.facts.snapshot import Resemblance
from doctor.findings import Evidence, Finding, Rule, Severity
from doctor.knowledge.wording import HEALTHY
from doctor.rules import run_line

LEAST_SHARE = 0.1
"""Of 594 condensed texts of sick machines that no rule and no ticket had seen 487 were named from this share on, 483
from 0.2 on."""
HEALTHY_TIMES = 3
"""How much likelier the cause must be than that nothing is wrong: of the same 594 texts 488 were named where once was
enough, and 297 of 501 in which nothing was wrong got a warning; where three times are asked 487 and 247."""
SURE_SHARE = 0.5
"""Beside one cause that something surer told, where the rule of the suspected one saw no facts: of 1,003 texts that no
rule had seen 11 more were named from this share on, and 8 were given a wrong one beside it; 13 and 14 from 0.4 on."""
BESIDE_TEXT_SHARE = 0.6
"""Beside one cause of which nothing but an error text tells, and no surely: several causes print the same text. Of 343
condensed texts that no rule and no ticket had seen 9 more were named, beside 6 an acceptable cause stood and beside 2 a
wrong one; from 0.4 on these were 10, 7 and 6. None of 50 in which nothing was wrong got a second one."""
BESIDE_TEXT_AGAINST_FACTS_SHARE = 0.7
"""The same, where the rule of the suspected cause saw facts and found nothing in them."""
BESIDE_WHAT_WORKS_SHARE = 0.9
"""The same, where somebody speaks and says that something works: from 0.5 on texts in which nothing was wrong got a
second cause, of the sick ones two lost the right one that stood second and one the only right one below 0.9."""
AGAINST_FACTS_SHARE = 0.15
"""Where nothing surer told a cause, but the rule of the suspected one saw facts and found nothing in them, though they
did not rule it out: 489 of the 594 were named, 487 from 0.3 on."""
OWN_CODE = ("user-error-", "plain-exception-", "all-works-told", "use-is-low-told", "nccl-duplicate-gpu")
"""Symptoms of a program's own code, and that all works: beside one of them words alone accuse nothing."""
_WORKS = "something-works-told"
"""Of 21 texts of sick machines in which words told a second cause beside an unsure one none says that something works;
the four in which nothing was wrong do."""
ANSWERS = frozenset({"gpu-memory-exhausted", "host-memory-exhausted", "known-bad-library-version"})
"""Memory that ran out is answered by the size of the work, a release that fails by another that does well: of 4,500
texts none had a second cause that words found, and of 107 that tell of frameworks' own faults two got one."""
SUSPECT_SHARE = 0.15
"""What a suspicion of a rule or of an error text is worth beside the share of the words."""
_EITHER = (
    frozenset({"torch-missing-gpu-arch", "library-missing-gpu-arch"}),
    frozenset({"tensorflow-gpu-mismatch", "jax-plugin-mismatch"}),
    frozenset({"torch-cpu-only-build", "torch-built-for-other-vendor"}),
)
"""Causes of the same error, of which there is one: what something surer told leaves no room for the other."""
_LIKELIEST = 3
"""Of so many likeliest causes one may be that nothing is wrong."""
ASK = "the exact error lines, and the command that was run"


def suspected(
    findings: Sequence[Finding],
    machine: Snapshot,
    checks: Mapping[str, Check],
    ruled_out: Collection[str],
    looked_well: Collection[str] = (),
) -> list[Finding]:
    """The findings, with one suspicion as a warning: where nothing but consequences is an error or a warning, or
    beside a single cause where somebody speaks and the words are clear."""
    if not machine.resembles:
        return list(findings)
    told = {f.rule for f in findings if f.severity is not Severity.INFO and is_cause(f.rule, checks)}
    if not told and own_code(machine):
        return list(findings)
    likes = {k.cause: k for k in machine.resembles if k.cause not in ruled_out and is_cause(k.cause, checks)}
    if not told and _likeliest(machine) in ruled_out:
        return list(findings)
    if told:  # what its rule weighed and found to be no more than a remark adds nothing to a surer cause
        weighed = {f.rule for f in findings if f.severity is Severity.INFO and f.basis != "symptom"}
        likes = {c: like for c, like in likes.items() if c not in weighed and not _alone(checks[c].rule)}
    if (bounds := _bounds(told, findings, machine)) is None:
        return list(findings)
    least, against = bounds
    weight = {c: like.share for c, like in likes.items() if c not in looked_well or like.share >= against}
    if not told:
        for finding in findings:
            if finding.suspect and is_cause(finding.rule, checks):
                weight[finding.rule] = weight.get(finding.rule, 0.0) + SUSPECT_SHARE
    cause = max(weight, key=lambda name: weight[name], default=None)
    weight[HEALTHY] = max((k.share for k in machine.resembles if k.cause == HEALTHY), default=0.0)
    if cause is None or cause in told or weight[cause] < max(least, HEALTHY_TIMES * weight[HEALTHY]):
        return list(findings)
    if any(cause in pair and pair & told for pair in _EITHER):
        return list(findings)
    # Beside what is told it explains nothing and comes after it: a suspicion may not fold a surer cause under itself.
    update: dict[str, object] = {"severity": Severity.WARNING, "suspect": int(bool(told))}
    if told:
        update["explains"] = ()
    known = max((f for f in findings if f.rule == cause and f.suspect), key=lambda f: f.suspect, default=None)
    if known is not None:  # of several that its rule suspects, one; what it only notes may be something else
        return [f.model_copy(update=update) if f is known else f for f in findings]
    return [*findings, _finding(likes[cause], checks[cause]).model_copy(update=update)]


SETTING_SHARE = 0.02
"""The share of the words from which on a setting that a rule only remarked is worth a warning where nothing else is: of
64 condensed texts on flags and hosts that no rule had seen 52 were named with it and 50 without; 15 of 1,094 in which
nothing is wrong got their one warning."""


def with_setting(findings: Sequence[Finding], machine: Snapshot, checks: Mapping[str, Check]) -> list[Finding]:
    """The findings, ranked and folded; where nothing is an error or a warning, with the setting for which the words
    speak as a warning: somebody wrote it down beside what goes wrong. Its rule has seen it, and no error that tells."""
    if _told(findings) or run_line.sees_none(machine):
        return list(findings)  # these settings change how the GPU is used, not whether it is seen
    causes = [f for f in findings if not f.explained_by and is_cause(f.rule, checks)]
    shares = {like.cause: like.share for like in machine.resembles if like.share >= SETTING_SHARE}
    settings = [
        f
        for f in causes
        if f.basis != "symptom"
        and f.rule in shares
        and "flags" in checks[f.rule].rule.tags
        and not (f.rule == _SEEKS and f.rule in unheard(machine, checks, (_SEEKS,)))
    ]
    likeliest = max(settings, key=lambda f: shares[f.rule], default=None)
    louder = {"severity": Severity.WARNING}
    return [f.model_copy(update=louder) if f is likeliest else f for f in findings]


PLAIN_SHARE = 0.97
PLAIN_TIMES = 100
"""From which share on, and how much likelier than that nothing is wrong, words are heard though their rule heard
nothing that it knows as a complaint: of 584 condensed texts of sick machines 515 were named with it, 511 without, and
none got a wrong cause; 23 of 1,455 in which nothing is wrong got their one warning."""


def in_plain_words(
    findings: Sequence[Finding], machine: Snapshot, checks: Mapping[str, Check], ruled_out: Collection[str]
) -> list[Finding]:
    """The findings; where nothing is an error or a warning, with the cause that the words leave no doubt of.
    `ruled_out`: by facts. Where somebody says that something works, words stay what their rule made of them."""
    first = next((like for like in machine.resembles if like.cause != HEALTHY), None)
    healthy = max((like.share for like in machine.resembles if like.cause == HEALTHY), default=0.0)
    if _told(findings) or first is None or first.cause in ruled_out or machine.symptom(_WORKS) is not None:
        return list(findings)
    if first.share < max(PLAIN_SHARE, PLAIN_TIMES * healthy) or not is_cause(first.cause, checks):
        return list(findings)
    known = checks[first.cause]
    if any({"amd", "nvidia"}.intersection(known.rule.tags) == vendor for vendor in _vendors_away(machine)):
        return list(findings)
    remark = next((f for f in findings if f.rule == first.cause and not f.explained_by), None)
    if remark is not None:
        return [f.model_copy(update={"severity": Severity.WARNING}) if f is remark else f for f in findings]
    return [*findings, _finding(first, known)]


def _told(findings: Iterable[Finding]) -> bool:
    """Whether anything, consequences included, is an error or a warning."""
    return any(f.severity is not Severity.INFO and not f.explained_by for f in findings)


_SEEKS = "debug-flag-left-on"
"""Beside a fault that is looked for such a flag is what looks for it."""


def _alone(rule: Rule) -> bool:
    """A setting or a release that words blame is no second cause: over 2,480 texts that no rule had seen 13 were blamed
    so, one fairly and none rightly, and in 11 nothing was wrong."""
    return rule.id in ANSWERS or ("flags" in rule.tags and rule.id not in _NO_SETTINGS)


_NO_SETTINGS = ("env-not-seen-by-service", "visible-devices-conflict")
"""Where a variable is set, and which GPUs a program sees: what fails is told in words as other causes are."""


def _likeliest(machine: Snapshot) -> str | None:
    """The cause that the words speak for most. Where it can't be, they say little of the others: of 40 suspicions of a
    less likely cause that stood there 37 were raised on machines in which nothing was wrong, and 2 were right."""
    return next((like.cause for like in machine.resembles if like.cause != HEALTHY), None)


def _bounds(told: Collection[str], findings: Sequence[Finding], machine: Snapshot) -> tuple[float, float] | None:
    """From which shares on words are heard beside what is told: at all, and where the rule of their cause saw facts.
    None where they are not heard."""
    if not told:
        return LEAST_SHARE, AGAINST_FACTS_SHARE
    if len(told) > 1 or ANSWERS & set(told) or any(like.cause == HEALTHY for like in machine.resembles[:_LIKELIEST]):
        return None  # where it may be that nothing is wrong, words gave 7 of the 501 a second cause and named none more
    loud = [f for f in findings if f.rule in told and f.severity is not Severity.INFO]
    if all(f.basis == "symptom" and f.severity is Severity.WARNING for f in loud):
        if own_code(machine):
            return None
        if machine.symptom(_WORKS):
            return (BESIDE_WHAT_WORKS_SHARE, 1.0) if machine.spoken else None
        return BESIDE_TEXT_SHARE, BESIDE_TEXT_AGAINST_FACTS_SHARE
    return (SURE_SHARE, 1.0) if machine.spoken else None


def own_code(machine: Snapshot) -> bool:
    """Whether the text tells an error of a program's own code, or that all works."""
    return any(symptom.key.startswith(OWN_CODE) for symptom in machine.symptoms)


def own_exception(machine: Snapshot) -> bool:
    """Whether an exception is told that is a program's own: its line names no library and nothing of a GPU."""
    return any(symptom.key.startswith(("user-error-", "plain-exception-")) for symptom in machine.symptoms)


def unheard(machine: Snapshot, checks: Mapping[str, Check], causes: Iterable[str]) -> set[str]:
    """Those of the causes of which mere words say nothing in this text."""
    away = _vendors_away(machine)
    asked = [checks[cause] for cause in {*causes} if cause in checks]
    return {
        check.rule.id
        for check in asked
        if {"amd", "nvidia"}.intersection(check.rule.tags) in away
        or (check.unheard is not None and check.unheard(machine))
    }


def _vendors_away(machine: Snapshot) -> list[set[str]]:
    """The vendors, each in a set, of whose GPUs a text does not tell: it says so, or names the other's stack alone."""
    away = [{"nvidia"}] if machine.symptom("no-nvidia-gpu-told") else []
    if machine.gpus is not None or machine.pci is not None:
        return away
    amd = bool(machine.rocm) or machine.torch.build == "rocm"
    nvidia = machine.nvidia_driver.version is not None or machine.torch.build == "cuda"
    if not amd and not nvidia:
        amd = machine.symptom("amd-gpu-told", "amdgpu-driver-named") is not None
        nvidia = machine.symptom("nvidia-gpu-told", "nvidia-driver-named") is not None
    return away if amd == nvidia else [*away, {"nvidia"} if amd else {"amd"}]


def is_cause(rule: str, checks: Mapping[str, Check]) -> bool:
    """Whether the rule tells of a cause, and not of what follows from one."""
    return rule in checks and checks[rule].rule.order < rank.CONSEQUENCES


def spoken_for(like: Resemblance) -> Evidence:
    """The words that speak for a cause."""
    words = ", ".join(f"`{word}`" for word in like.words)
    return Evidence(text=f"words that texts with this cause have: {words}", source=like.source)


def _finding(like: Resemblance, check: Check) -> Finding:
    """Says that it is a suspicion, and what it rests on."""
    return Finding(
        rule=check.rule.id,
        summary=f"Suspected from the words of the text: {inline(check.rule.title)}",
        severity=Severity.WARNING,
        basis="symptom",
        evidence=(spoken_for(like),),
        fixes=check.fixes,
        ask=ASK,
    )


def inline(title: str) -> str:
    """A title as it stands within a sentence: `GPU-to-GPU copies …` keeps its capitals."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]
