"""Asking one rule about one machine."""

from __future__ import annotations

from types import ModuleType

from doctor.facts import Snapshot
from doctor.findings import Finding
from doctor.knowledge import Knowledge


def found(rule: ModuleType, machine: Snapshot) -> list[Finding]:
    """What the rule's check finds."""
    return list(rule.check(machine, Knowledge(), None))


def told(rule: ModuleType, machine: Snapshot) -> list[tuple[str, str, str]]:
    """Severity, subject and summary of each finding."""
    return [(f.severity.value, f.subject.id, f.summary) for f in found(rule, machine)]
