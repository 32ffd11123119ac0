"""Rules that were near: some of what they need is known and the rest is not, or an error text points to them and what
else must be true does not hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from doctor.engine import registry
from doctor.engine.judge import applies
from doctor.facts import Snapshot
from doctor.findings import Report, Rule
from doctor.triage.templates.catalogue import shared

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
    for pointed in _pointed(machine):
        if pointed.rule not in fired:
            found[pointed.rule] = pointed
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
    """Causes of error texts that were seen and whose conditions do not hold."""
    for symptom in machine.symptoms:
        template = shared().templates.get(symptom.key)
        for cause in template.causes if template else ():
            if missing := tuple(cause.missing(machine)):
                yield Near(cause.rule, (f"symptom:{symptom.key}",), missing)
