"""Rules that were near: some of what they need is known and the rest is not, or an error text points to them and what
else must be true does not hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from doctor.diagnosis import registry
from doctor.diagnosis.judge import applies
from doctor.facts import Snapshot
from doctor.findings import Report, Rule
from doctor.knowledge.symptoms import Cause, is_so, shared

MOST_LACKED = 3
"""A rule that lacks more than this is not near."""
_NOT_IN_TEXT = frozenset(("profile", "bench", "gemm_proofs", "tuned"))
_IN_MOST = frozenset(("os.id", "kernel.release", "container.inside"))
"""Facts of nearly every text: no sign that a rule was near."""


class Near(NamedTuple):
    """`knows` and `lacks` are names of facts, `symptom:ID`, or conditions of a symptom's cause."""

    rule: str
    knows: tuple[str, ...]
    lacks: tuple[str, ...]


def near(report: Report) -> list[Near]:
    """The nearest first. Rules that fired are not in it."""
    fired = {finding.rule for finding in report.findings}
    machine = report.snapshot
    found: dict[str, Near] = {}
    for check in registry.checks():
        if check.rule.id not in fired and applies(check.rule, machine):
            best = min(_alternatives(check.rule, machine), key=_distance, default=None)
            if best:
                found[check.rule.id] = best
    for told in _pointed(machine):
        if told.rule not in fired:
            found[told.rule] = told
    return sorted(found.values(), key=lambda n: (_distance(n), n.rule))


def _distance(one: Near) -> tuple[int, int]:
    return len(one.lacks), -len(one.knows)


def _alternatives(rule: Rule, machine: Snapshot) -> Iterator[Near]:
    for needs in rule.needs:
        if _NOT_IN_TEXT & set(needs):
            continue
        knows = tuple(sorted(name for name in needs if machine.knows(name)))
        lacks = tuple(sorted(set(needs) - set(knows)))
        if set(knows) - _IN_MOST and 0 < len(lacks) <= MOST_LACKED:
            yield Near(rule.id, knows, lacks)


def _pointed(machine: Snapshot) -> Iterator[Near]:
    """Causes of symptoms that were seen and whose other conditions do not hold."""
    for symptom in machine.symptoms:
        signature = shared().signatures.get(symptom.key)
        for cause in signature.points_to if signature else ():
            if not cause.holds(machine):
                yield Near(cause.rule, (f"symptom:{symptom.key}",), tuple(_unmet(cause, machine)))


def _unmet(cause: Cause, machine: Snapshot) -> Iterator[str]:
    """The cause's conditions that do not hold; where each may hold by itself, the vendor is another."""
    seen = {symptom.key for symptom in machine.symptoms}
    wanted = [f"{name} = {value}" for name, value in cause.when.items() if not is_so(machine, name, value)]
    wanted += [f"{name} other than {value}" for name, value in cause.unless.items() if is_so(machine, name, value)]
    if cause.with_symptom and not seen & set(cause.with_symptom):
        wanted.append(f"one of: {', '.join(cause.with_symptom)}")
    if against := seen & set(cause.without_symptom):
        wanted.append(f"none of: {', '.join(sorted(against))}")
    yield from wanted or [f"a GPU of {cause.vendor}"]
