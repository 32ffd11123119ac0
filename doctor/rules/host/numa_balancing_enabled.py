"""The kernel's automatic NUMA balancing is on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="numa-balancing-enabled",
    severity=Severity.INFO,
    title="The kernel's automatic NUMA balancing is on.",
    needs=[{"host.numa_balancing", "gpus"}],
    proven="synthetic",
    order=82,
    tags=("host", "tuning"),
    doc="""
## What it finds
kernel.numa_balancing on.

## Why it matters
The kernel moves pages under running GPU work: jitter and lower bandwidth.

## Not raised when
It is 0, or no GPU is known.

## How to confirm
`cat /proc/sys/kernel/numa_balancing`.

## Fix
Turn it off.

## Fix safety
Other work on the host may want it on.

## References
https://instinct.docs.amd.com/projects/amdgpu-docs/en/latest/system-optimization/mi300x.html
""",
)
FIXES = (Fix(text="Turn it off until the next boot.", command=("sysctl", "-w", "kernel.numa_balancing=0"), root=True),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding where the fact says it."""
    if machine.host.numa_balancing and machine.gpus:
        yield Finding(
            severity=Severity.INFO,
            suspect=True,
            summary="Automatic NUMA balancing is on; GPU nodes want it off.",
            subject=Subject(kind="host", id="-"),
            evidence=evidence(machine, ["host.numa_balancing"]),
            fixes=FIXES,
        )
