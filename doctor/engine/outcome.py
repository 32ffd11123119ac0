"""One rule run on a machine's facts: what it found, whether facts decided the matter, whether it crashed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from doctor.engine.registry import Check
from doctor.facts import Snapshot
from doctor.findings import Finding, Rule, Unchecked

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

PROFILE = "profile"
"""Among a rule's `needs`: it asks for what a profile expects, whatever facts these are."""


@dataclass
class Outcome:
    findings: list[Finding] = field(default_factory=list)
    known: Sequence[Collection[str]] = ()
    """The alternatives of the rule's needs that are wholly known."""
    ran: bool = False
    crashed: Unchecked | None = None


def known_of(checks: Iterable[Check], machine: Snapshot, profile: Profile | None) -> set[str]:
    """What the machine knows of what the checks need: facts, error texts that were seen, a profile."""
    seen = {f"symptom:{symptom.key}" for symptom in machine.symptoms} | ({PROFILE} if profile else set())
    for part, names in _facts(tuple(checks)).items():
        if getattr(machine, part) != _NOTHING[part]:
            seen.update(name for name in names if machine.knows(name))
    return seen


_NOTHING = {part: field.get_default(call_default_factory=True) for part, field in Snapshot.model_fields.items()}


@lru_cache(4)
def _facts(checks: tuple[Check, ...]) -> dict[str, list[str]]:
    """The facts that they need, by the part of the machine that holds them."""
    parts: dict[str, list[str]] = {}
    for name in sorted(frozenset().union(*(check.names for check in checks))):
        if name != PROFILE and not name.startswith("symptom:"):
            parts.setdefault(re.split(r"[.\[]", name, maxsplit=1)[0], []).append(name)
    return parts


def may_run(check: Check, known: Set[str]) -> bool:
    """Whether one of its alternatives is wholly known, or it asks for nothing."""
    return not check.needs or bool(check.standing(check.names & known)[0])


def run(check: Check, machine: Snapshot, kb: Knowledge, profile: Profile | None, known: Set[str]) -> Outcome:
    outcome = Outcome(known=check.standing(check.names & known)[0], ran=may_run(check, known))
    if outcome.ran:
        collect(outcome, check.rule, check.run(machine, kb, profile))
    return outcome


def decided(outcome: Outcome, check: Check, machine: Snapshot, kb: Knowledge) -> bool:
    """Whether one alternative of plain facts is wholly known, and is enough by the rule's own word."""
    proven = any(_proves(name, machine) for needs in outcome.known for name in needs)
    return proven and (check.decides is None or check.decides(machine, kb))


def _proves(name: str, machine: Snapshot) -> bool:
    """Whether knowing that fact can end the matter: an excerpt of a kernel log says nothing of what it leaves out."""
    if name == "kernel_log.events":
        return not machine.source(name).startswith("text:")
    return not name.startswith("symptom:")


def collect(outcome: Outcome, rule: Rule, findings: Iterable[Finding]) -> None:
    try:
        outcome.findings.extend(findings)
    except Exception as error:  # noqa: BLE001 -- the one place where a rule's fault is caught: it must not cost the report
        reason = f"the check crashed: {type(error).__name__}: {error}"[:300]
        outcome.crashed = Unchecked(rule=rule.id, reason=reason, crashed=True)
