"""Which differences matter: the rules are asked again with facts of GOOD in the place of those of BAD.

A difference that makes a finding of BAD disappear explains it; so does the smallest set of several that only together
do. No threshold and no list of names is needed: what counts is what a rule would say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from doctor.engine import registry
from doctor.engine.judge import judge
from doctor.engine.verdict import State, unread
from doctor.facts import Snapshot
from doctor.findings import Finding, Layer, Report, Severity
from doctor.flags.spelling import is_known
from doctor.knowledge import Knowledge
from doctor.probes.lib.python_metadata import STACK
from doctor.system.commands import loads_code
from doctor.why.differences import Difference, carried, differences, stem
from doctor.why.minimal import minimal
from doctor.why.symptom import NAMED, POSSIBLE, Pointer, Symptom

_PATH = (Layer.DRIVER, Layer.GPU, Layer.DEVICES, Layer.CONTAINER, Layer.LIBRARIES, Layer.TORCH, Layer.FLAGS)
"""From the kernel driver up to the program: what lies below breaks all that stands on it."""

_WORD = re.compile(r"[\w.-]+")
_SERIES = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Explained:
    """A finding that BAD has and GOOD has not, and the differences that make it. () where none of them does."""

    finding: Finding
    by: tuple[Difference, ...]


@dataclass(frozen=True)
class Why:
    """`explained` first, the worst finding first; then differences that the symptom's text names (`named`), those that
    a suspected rule or the program reads, or that can bring its message about (`suspected`), and those of the GPU stack
    (`stack`); `rest` is what nothing here depends on. `reasons` say why of those that something points to. `shared` are
    errors that GOOD has too."""

    explained: tuple[Explained, ...]
    named: tuple[Difference, ...]
    suspected: tuple[Difference, ...]
    stack: tuple[Difference, ...]
    rest: tuple[Difference, ...]
    shared: tuple[Finding, ...]
    reasons: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[dict[Layer, State], dict[Layer, State]] = ({}, {})
    """Of GOOD and of BAD the layers that nobody looked at, or not wholly."""
    checked: frozenset[str] = frozenset()
    """Rules that know of GOOD whether they apply."""
    symptom: Symptom = field(default_factory=Symptom)
    keys_differ: bool = False
    """They were redacted with different keys, so that names can't be compared."""

    @property
    def comparable(self) -> bool:
        dark = {layer for side in self.unread for layer, state in side.items() if state == "unknown"}
        return bool(set(Layer) - dark)

    @property
    def is_pointed_to(self) -> bool:
        """Whether the symptom's text names a difference, or speaks of a rule that one matters to."""
        rules = {one.finding.rule for one in self.explained if one.by}
        return bool(self.named or self.suspected or rules & set(self.symptom.rules))

    @property
    def ranked(self) -> tuple[Difference, ...]:
        """Every difference once, in the order in which it may explain the failure."""
        first = [d for one in self.explained for d in one.by]
        return tuple(dict.fromkeys([*first, *self.named, *self.suspected, *self.stack, *self.rest]))


def why(
    good: Report,
    bad: Report,
    kb: Knowledge,
    symptom: Symptom | None = None,
    *,
    same_names: bool = False,
    options: Sequence[Difference] = (),
) -> Why:
    """`same_names`: both were redacted with one key. `options`: what their containers were started with."""
    symptom = symptom or Symptom()
    here, there = bad.snapshot, good.snapshot
    found = differences(there, here, same_names=same_names)
    theirs, own = _tally(good.findings), _tally(bad.findings)
    known = {(f.rule, f.subject) for f in good.findings}
    new = [
        f
        for f in bad.findings
        if f.explained_by is None and (f.rule, f.subject) not in known and own[_kind(f)] > theirs[_kind(f)]
    ]
    explained = tuple(Explained(f, _explaining(f, there, here, found, kb)) for f in new)
    left = [*(d for d in found if all(d not in one.by for one in explained)), *options]
    pointers = _pointers(left, symptom, {*symptom.rules, *(one.finding.rule for one in explained if not one.by)})
    pointed = sorted(pointers, key=lambda d: pointers[d][:2], reverse=True)
    known_of = _documented({c.rule.id for c in registry.checks()})
    left = sorted(
        (d for d in left if d not in pointers),
        key=lambda d: (_is_usual(d), _PATH.index(d.layer), not loads_code(_member(d)), _member(d) not in known_of),
    )
    stack = [d for d in left if _of_the_stack(d)]
    return Why(
        tuple(sorted(explained, key=lambda one: (not one.by, one.finding.rule not in symptom.rules))),
        tuple(d for d in pointed if pointers[d].level == NAMED),
        tuple(d for d in pointed if pointers[d].level < NAMED),
        tuple(stack),
        tuple(d for d in left if d not in stack),
        tuple(f for f in good.findings if f.severity is Severity.ERROR),
        {d.name: pointers[d].reason for d in pointed},
        (unread(there), unread(here)),
        _checked(good),
        symptom,
    )


def _pointers(left: Sequence[Difference], symptom: Symptom, rules: set[str]) -> dict[Difference, Pointer]:
    """What the symptom's text points to. What a suspected rule reads comes before what a program reads."""
    found = {d: pointer for d in left if (pointer := symptom.pointer(d))}
    for rule in sorted(rules):
        read, words = _read_by({rule}), _documented({rule})
        for d in left:
            is_read = read & {d.name, stem(d.name)} and (_member(d) == d.name or _member(d) in words)
            if is_read and (d not in found or found[d].level == POSSIBLE):
                found[d] = Pointer(POSSIBLE + 1, 1, rule)
    return found


def _checked(report: Report) -> frozenset[str]:
    found = (f.rule for f in report.findings)
    return frozenset(
        (*report.clear, *found, *(r.rule for r in report.suppressed), *(r.rule for r in report.not_applicable))
    )


def _explaining(
    finding: Finding, good: Snapshot, bad: Snapshot, found: Sequence[Difference], kb: Knowledge
) -> tuple[Difference, ...]:
    checks = [c for c in registry.checks() if c.rule.id == finding.rule]

    number = _tally(judge(bad, kb, checks=checks).findings)[_kind(finding)]

    def gone(part: Sequence[Difference]) -> bool:
        """It, and no other has come in its place: GOOD's GPU of another address is no remedy."""
        left = judge(carried(good, bad, part), kb, checks=checks).findings
        return _tally(left)[_kind(finding)] < number and all((f.rule, f.subject) != mine for f in left)

    mine = (finding.rule, finding.subject)

    read = _read_by({finding.rule})
    likely = sorted(found, key=lambda d: not read & {d.name, stem(d.name)})
    if not found or gone(()) or not gone(likely):
        return ()
    return minimal(likely, gone)


def _kind(finding: Finding) -> tuple[str, str]:
    """The subject's own id is another on another machine."""
    return finding.rule, finding.subject.kind


def _tally(findings: Sequence[Finding]) -> Counter[tuple[str, str]]:
    return Counter(map(_kind, findings))


def _read_by(rules: set[str]) -> set[str]:
    """The facts that these rules ask for: `nvidia_driver`, `environment`, `host.shm_bytes`."""
    needs = {name for c in registry.checks() if c.rule.id in rules for group in c.rule.needs for name in group}
    return {name if name.startswith("host.") else stem(name) for name in needs if not name.startswith("symptom:")}


def _documented(rules: set[str]) -> set[str]:
    """Words of what they say of themselves: which of all variables and packages they are about."""
    texts = (c.rule.page for c in registry.checks() if c.rule.id in rules)
    return {word.strip(".-") for text in texts for word in _WORD.findall(text)}


def _is_usual(one: Difference) -> bool:
    """PATH, and releases of one series (kernel 6.8, driver branch 580) differ between nearly any two machines."""
    if one.name == "environment[PATH]":
        return True
    sides = [list(side.values()) if isinstance(side, dict) else [side] for side in (one.good, one.bad)]
    branch = one.name == "nvidia_driver"
    return all(_series(a, branch) == _series(b, branch) is not None for a, b in zip(*sides, strict=True))


def _series(version: object, branch: bool) -> str | None:
    """The first two numbers of a version; of NVIDIA's driver the first one."""
    found = _SERIES.match(version) if isinstance(version, str) else None
    return found and (found[0].partition(".")[0] if branch else found[0])


def _of_the_stack(one: Difference) -> bool:
    """A variable that some component reads, a package of the GPU stack, or a fact of a driver, library or container."""
    head, member = stem(one.name), _member(one)
    if head in ("environment", "packages"):
        return is_of_the_stack(head, member)
    return head != "host"


def _member(one: Difference) -> str:
    """NAME of `environment[NAME]`; a fact's own name."""
    return (one.name.partition("[")[2] or one.name).removesuffix("]")


def is_of_the_stack(head: str, name: str) -> bool:
    """A variable (`environment`) that a component or the loader reads, or a package of the GPU stack (`packages`)."""
    if head == "environment":
        return is_known(name) or name == "PATH" or name.startswith(("LD_", "PYTHON"))
    return name in STACK or name.startswith("nvidia-")
