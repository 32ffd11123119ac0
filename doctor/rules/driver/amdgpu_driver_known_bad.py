"""This amdgpu release has a known fault for this GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="amdgpu-driver-known-bad",
    severity=Severity.WARNING,
    title="This amdgpu release has a known fault for this GPU.",
    needs=(),
    proven="synthetic",
    order=16,
    tags=("amd", "driver"),
    doc="""
## What it finds
An amdgpu release of which AMD's release notes name a fault on this GPU.

## Why it matters
Hangs, resets or wrong counters that no setting cures.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
Compare `modinfo amdgpu` with the release notes.

## Fix
Install the release that the notes name.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://instinct.docs.amd.com/projects/amdgpu-docs/en/latest/
""",
)
FIXES = (Fix(text="Show the driver's release.", command=("modinfo", "amdgpu")),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
