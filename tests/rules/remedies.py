"""What a finding advises, in the short form that tests compare."""

from __future__ import annotations

from doctor.findings import Finding


def argvs(finding: Finding) -> list[tuple[str, ...]]:
    """The commands of all remedies in order, without steps that have none."""
    return [step.command for remedy in finding.remedies for step in remedy.steps if step.command]


def titles(finding: Finding) -> list[str]:
    """The titles of the remedies, best first."""
    return [remedy.title for remedy in finding.remedies]
