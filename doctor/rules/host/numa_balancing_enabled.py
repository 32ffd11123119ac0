"""Automatic NUMA balancing is on."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Expect, Finding, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="numa-balancing-enabled",
    severity=Severity.INFO,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    title="Automatic NUMA balancing is on.",
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
Disable automatic NUMA balancing.

## Fix safety
Other work on the host may benefit from it.

## References
https://instinct.docs.amd.com/projects/amdgpu-docs/en/latest/system-optimization/mi300x.html
""",
)
REMEDIES = (
    way(
        "Disable automatic NUMA balancing.",
        Scope.HOST,
        step("Disable it until the next boot.", "sysctl", "-w", "kernel.numa_balancing=0"),
        step("To keep it, write `kernel.numa_balancing = 0` to /etc/sysctl.d/90-gpu.conf."),
        root=True,
        undo=(step("Enable it again.", "sysctl", "-w", "kernel.numa_balancing=1"),),
        effect=(Expect(fact="host.numa_balancing", equals=0),),
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    if machine.host.numa_balancing and machine.gpus:
        yield Finding(
            severity=Severity.INFO,
            suspect=True,
            summary="Automatic NUMA balancing is on; it slows GPU work that uses pinned memory.",
            subject=Subject(kind="host", id="-"),
            evidence=evidence(machine, ["host.numa_balancing"]),
            remedies=REMEDIES,
        )
