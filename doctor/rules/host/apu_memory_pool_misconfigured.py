"""Carve-out or GTT settings limit what this APU gives ROCm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="apu-memory-pool-misconfigured",
    severity=Severity.WARNING,
    title="Carve-out or GTT settings limit what this APU gives ROCm.",
    needs=(),
    proven="synthetic",
    order=66,
    tags=("amd", "host"),
    doc="""
## What it finds
Texts that tie too little memory on an APU to its carve-out or GTT size.

## Why it matters
Models that fit into memory do not load.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
`amd-ttm`, or ttm.pages_limit in /proc/cmdline.

## Fix
Raise ttm.pages_limit, keep the carve-out small.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/
""",
)
FIXES = (Fix(text="Raise ttm.pages_limit on the kernel command line and reboot.", root=True, reboot=True),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
