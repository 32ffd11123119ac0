"""One rule run on a machine's facts: what it found, whether facts decided the matter, whether it crashed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from doctor.diagnosis.registry import Check
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
    decided: bool = False
    """One alternative of plain facts was wholly known."""
    ran: bool = False
    crashed: Unchecked | None = None


class Known(dict[str, bool]):
    """Which facts a machine's snapshot knows, each asked once: hundreds of rules' needs name a hundred facts."""

    def __init__(self, machine: Snapshot) -> None:
        super().__init__()
        self.machine = machine

    def __missing__(self, name: str) -> bool:
        self[name] = known = self.machine.knows(name)
        return known


def run(check: Check, machine: Snapshot, kb: Knowledge, profile: Profile | None, knows: Known) -> Outcome:
    outcome = Outcome()
    known = [
        needs
        for needs in check.rule.needs
        if all(profile is not None if name == PROFILE else knows[name] for name in needs)
    ]
    outcome.ran = bool(known) or not check.rule.needs
    outcome.decided = any(any(_proves(name, machine) for name in needs) for needs in known)
    if outcome.decided and check.decides is not None:
        outcome.decided = check.decides(machine, kb)
    if outcome.ran:
        collect(outcome, check.rule, check.run(machine, kb, profile))
    return outcome


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
