"""An environment flag is set that is right only for another GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="env-flag-wrong-for-gpu",
    severity=Severity.WARNING,
    title="An environment flag is set that is right only for another GPU.",
    needs=(),
    proven="synthetic",
    order=50,
    tags=("flags",),
    doc="""## What it finds
A flag copied from a recipe for another GPU generation or vendor.

## Why it matters
Kernels are missing, results are wrong or slow, although the same line helps elsewhere.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
Unset the flag and run again.

## Fix
Unset the flag.

## Fix safety
Applies to programs started afterwards.

## References
https://rocm.docs.amd.com/en/latest/reference/env-variables.html
""",
)

FIXES = (
    Fix(text="Unset the flag that the message names, in the place where the program is started.", where="environment"),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
