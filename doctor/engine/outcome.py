"""One rule run on a machine's facts: what it found, whether facts decided the matter, whether it crashed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
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
    known: list[Collection[str]] = field(default_factory=list)
    """The alternatives of the rule's needs that are wholly known."""
    ran: bool = False
    crashed: Unchecked | None = None


class Known(dict[str, bool]):
    """Which facts a machine's snapshot knows, each asked once: hundreds of rules' needs name a hundred facts."""

    def __init__(self, machine: Snapshot) -> None:
        super().__init__()
        self.machine = machine
        self.symptoms = {f"symptom:{symptom.key}" for symptom in machine.symptoms}

    def __missing__(self, name: str) -> bool:
        known = name in self.symptoms if name.startswith("symptom:") else self.machine.knows(name)
        self[name] = known
        return known


def run(check: Check, machine: Snapshot, kb: Knowledge, profile: Profile | None, knows: Known) -> Outcome:
    outcome = Outcome(known=[needs for needs in check.rule.alternatives if _all_known(needs, profile, knows)])
    outcome.ran = bool(outcome.known) or not check.rule.needs
    if outcome.ran:
        collect(outcome, check.rule, check.run(machine, kb, profile))
    return outcome


def decided(outcome: Outcome, check: Check, machine: Snapshot, kb: Knowledge) -> bool:
    """Whether one alternative of plain facts is wholly known, and is enough by the rule's own word."""
    proven = any(_proves(name, machine) for needs in outcome.known for name in needs)
    return proven and (check.decides is None or check.decides(machine, kb))


def _all_known(needs: Iterable[str], profile: Profile | None, knows: Known) -> bool:
    for name in needs:  # noqa: SIM110 -- asked a hundred times for each text, and `all` costs twice as much
        if profile is None if name == PROFILE else not knows[name]:
            return False
    return True


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
