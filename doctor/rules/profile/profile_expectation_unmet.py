"""An expectation of the profile that no rule owns is not met."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="profile-expectation-unmet",
    severity=Severity.WARNING,
    title="An expectation of the profile that no rule owns is not met.",
    needs=(),
    proven="synthetic",
    order=80,
    tags=("profile",),
    doc="""## What it finds
A fact differs from what the chosen profile expects of it.

## Why it matters
The stack is not the one that the profile's numbers and image were made for.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
`doctor check --profile NAME --format json`: profile.deviates.

## Fix
Bring the fact to what the profile says, or choose the profile that fits.

## Fix safety
Depends on the expectation; its `why` stands in the profile.

## References
docs/profiles.md
""",
)

FIXES = (Fix(text="Bring the machine to what the profile expects, or choose another profile."),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
