"""Every variable of the stack against its parser, its name, the others, the GPUs and the versions at hand -> findings.

`doctor env` prints them all; the rules of the environment family take those of their own id from here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from doctor.findings import Evidence, Finding, Remedy, Severity, Subject, fingerprint
from doctor.flags import grammars, interactions, presence, spelling
from doctor.flags.names import described, grammar_of
from doctor.flags.reading import Reading
from doctor.flags.situation import Situation
from doctor.knowledge.store import table

MISREAD = "env-value-misread"
CONFLICT = "env-flags-conflict"
UNKNOWN = "env-flag-unknown-or-renamed"
DEBUG = "debug-flag-left-on"
_BY_NAME = (
    (re.compile(r"(?:NCCL|RCCL|TORCH_NCCL|GLOO)_"), "collective-flag-misconfigured"),
    (re.compile(r"PYTORCH_\w*ALLOC_CONF$"), "allocator-flag-unsupported"),
    (re.compile(r"\w+_VISIBLE_DEVICES$"), "visible-devices-conflict"),
    (re.compile(r"HSA_OVERRIDE_GFX_VERSION"), "hsa-override-misuse"),
    (re.compile(r"PYTORCH_TUNABLEOP_"), "tunableop-misconfigured"),
)
_VERB = re.compile(r"(?:is|has|may|reads|keeps|names|hides|ends|joins|takes|lists) ")
_RANK = ("error", "warning", "info")


class Remark(NamedTuple):
    """One thing said of one variable."""

    rule: str
    severity: str
    name: str
    """The variable; one that should be set where `absent`."""
    text: str
    id: str
    """The interaction, or what was looked at: `grammar nccl_int`."""
    source: str
    fix: str
    value: str | None = None
    others: tuple[str, ...] = ()
    """Further variables that it is about."""

    @property
    def is_specific(self) -> bool:
        """Said of this very text; interactions say what holds for all of their kind."""
        return " " in self.id or self.id in ("renames", "presence")


def findings(situation: Situation, places: Mapping[str, str] | None = None) -> tuple[Finding, ...]:
    """One a rule and variable, the severe ones first. `places`: variable → where it is set."""
    held: dict[tuple[str, str], list[Remark]] = {}
    for remark in sorted(remarks(situation), key=lambda r: _RANK.index(r.severity)):
        held.setdefault((remark.rule, remark.name), []).append(remark)
    made = [_finding(group, situation, places or {}) for group in held.values()]
    return tuple(sorted(made, key=lambda f: (f.severity.rank, f.subject.id)))


def misnamed(places: Mapping[str, str], situation: Situation) -> Iterator[Finding]:
    """Names that nothing reads, of variables whose values are computed."""
    for name in places:
        for remark in _name(name, None, situation):
            yield _finding([remark], situation, places)


def remarks(situation: Situation) -> Iterator[Remark]:
    """All of them, several of one variable too."""
    for name, text in situation.env.items():
        if described(name):
            yield from _value(name, text, situation)
        else:
            yield from _name(name, text, situation)
    for held in interactions.found(situation):
        if not (held.variables and described(held.variables[0]) and presence.unread(held.variables[0], situation)):
            yield from _held(held, situation)


def _name(name: str, text: str | None, situation: Situation) -> Iterator[Remark]:
    """Names that nothing reads."""
    gone = spelling.no_longer_read(name, situation)
    near = None if gone else spelling.nearest(name)
    if gone:
        yield _unread(name, text, gone)
    elif near:
        sentence = f"is not read by any known component, but {near} is"
        yield Remark(UNKNOWN, "warning", name, sentence, "known names", "names of the stack", f"Use {near}.", text)
    elif name.startswith("VLLM_") and not spelling.is_known(name) and not situation.has("vllm"):
        sentence = "is not read by any known release of vLLM, which warns of such names at start"
        yield Remark(UNKNOWN, "info", name, sentence, "known names", "names of the stack", "Check its spelling.", text)


def _unread(name: str, text: str | None, gone: spelling.Gone) -> Remark:
    sentence = "has no effect" if gone.sure else "may have no effect"
    grave = "warning" if gone.sure else "info"
    return Remark(UNKNOWN, grave, name, f"{sentence}: {gone.why}", "renames", gone.source, gone.cure, text)


def _value(name: str, text: str, situation: Situation) -> Iterator[Remark]:
    flags = described(name)
    flag = flags[-1] if situation.vendors == frozenset({"amd"}) and flags[-1].get("grammar") else flags[0]
    gone = spelling.no_longer_read(name, situation)
    if gone:
        yield _unread(name, text, gone)
        return
    unread = presence.unread(name, situation)
    if unread:
        yield Remark(UNKNOWN, "info", name, unread, "presence", flag["source"], f"Start without {name}.", text)
        return
    if not text and name.endswith("_VISIBLE_DEVICES") and "SLURM_JOB_ID" in situation.env:
        return  # how Slurm says that a step was given no GPU
    grammar = flag.get("grammar") or grammar_of(name)
    reading = grammars.read(grammar, text)
    if not text and (reading is None or reading.state == "ignored"):
        return
    if reading and reading.state != "taken":
        yield _misread(name, text, reading, str(grammar), flag["component"])
    elif left_on(flag, text, reading):
        judged = interactions.speaks_of(name)  # whether it harms here is then judged by what is at hand
        grave = "warning" if situation.context("production") and not judged else "info"
        sentence = f"is for debugging: {flag['effect']}"
        yield Remark(DEBUG, grave, name, sentence, "kind debug", flag["source"], f"Start without {name}.", text)


def left_on(flag: Mapping[str, object], text: str, reading: Reading | None) -> bool:
    """A debugging flag that is not for production, and is not off or at its default."""
    if flag["kind"] != "debug" or flag["production_ok"] != "no" or text == flag.get("default"):
        return False
    if reading and isinstance(reading.value, (bool, int)):
        return bool(reading.value)
    return grammars.meant(text) is not False


_SEVERITY = {"fails": "error", "misread": "warning", "ignored": "warning"}


def _misread(name: str, text: str, reading: Reading, grammar: str, component: str) -> Remark:
    rule = next((rule for pattern, rule in _BY_NAME if pattern.match(name)), MISREAD)
    wanted = grammars.meant(text)
    better = None if wanted is None else grammars.spelt(grammar, wanted)
    fix = f"Write {name}={better}." if better is not None else f"Write it as {component} reads it, or unset {name}."
    sentence = f"{reading.says} ({component})"
    grave = table("flags/grammars")[grammar].get("severity") or _SEVERITY[reading.state]
    return Remark(rule, grave, name, sentence, f"grammar {grammar}", grammars.source(grammar), fix, text)


def _held(held: interactions.Held, situation: Situation) -> Iterator[Remark]:
    name = held.variables[0] if held.variables else _wanted(held)
    sentence = held.problem if held.audited else f"{held.problem.rstrip('.')} (not checked against the code)"
    sentence = f"{sentence.rstrip('.')} (matters in production)" if held.if_production else sentence
    value = situation.env.get(name)
    yield Remark(held.rule, held.severity, name, sentence, held.id, held.source, held.fix, value, held.variables)


def _wanted(held: interactions.Held) -> str:
    """The variable that should be set: the first that the cure names."""
    found = re.search(r"\b[A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{2,60}\b", held.fix)
    return found[0] if found else held.id


def _finding(group: list[Remark], situation: Situation, places: Mapping[str, str]) -> Finding:
    severity = Severity(group[0].severity)
    specific = [remark for remark in group if remark.is_specific]
    first = (specific or group)[0]
    shown = first.name if first.value is None else f"{first.name}={first.value[:60]}"
    subject = Subject(kind="variable", id=first.name)
    seen = [n for remark in group for n in (remark.name, *remark.others)]
    lines = [_set(n, situation, places) for n in dict.fromkeys(seen) if n in situation.env or n in places]
    cures = dict.fromkeys(remark.fix[:400] for remark in specific or group)
    reasons = [Evidence(text=r.text[:600], source=r.source[:400]) for r in group if r is not first]
    return Finding(
        rule=first.rule,
        severity=severity,
        summary=f"{shown}{' ' if _VERB.match(first.text) else ': '}{first.text.rstrip('.')}."[:400],
        subject=subject,
        fingerprint=fingerprint(first.rule, subject),
        evidence=(*lines[:8], *reasons[:8]),
        remedies=tuple(map(Remedy.by_hand, cures)),
        source=first.source[:400],
    )


def _set(name: str, situation: Situation, places: Mapping[str, str]) -> Evidence:
    value = situation.env.get(name)
    shown = name if value is None else f"{name}={value[:120]}"
    return Evidence(text=shown, source=places.get(name, "environment"))


def finding(
    rule: str, severity: str, name: str, said: str, cure: str, what: str, evidence: tuple[Evidence, ...]
) -> Finding:
    """Of a variable; `what` is the id of the fault, which the evidence names too."""
    subject = Subject(kind="variable", id=name)
    return Finding(
        rule=rule,
        severity=Severity(severity),
        summary=f"{said}."[:400],
        subject=subject,
        fingerprint=fingerprint(f"{rule} {what}", subject),
        evidence=evidence,
        remedies=(Remedy.by_hand(cure[:400]),),
    )
