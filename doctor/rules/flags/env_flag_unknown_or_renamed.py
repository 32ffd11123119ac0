"""A flag is set that no component reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="env-flag-unknown-or-renamed",
    severity=Severity.WARNING,
    title="A flag is set that no component reads.",
    needs=(),
    proven="synthetic",
    order=50,
    tags=("flags",),
    doc="""## What it finds
A misspelt, renamed or removed environment flag.

## Why it matters
What it was set for does not happen, without an error.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
Search the flag in the documentation of the installed release.

## Fix
Use today's name, or drop it.

## Fix safety
Applies to programs started afterwards.

## References
https://docs.pytorch.org/docs/stable/cuda_environment_variables.html
""",
)

FIXES = (Fix(text="Use the name that the warning gives, or unset the old one.", where="environment"),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
