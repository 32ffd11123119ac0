"""The IOMMU translates where the GPU stack wants pass-through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="iommu-not-passthrough",
    severity=Severity.WARNING,
    title="The IOMMU translates where the GPU stack wants pass-through.",
    needs=[{"host.iommu", "gpus"}],
    proven="synthetic",
    order=81,
    facts_decide=False,
    tags=("host",),
    doc="""
## What it finds
An IOMMU in translated mode on a bare-metal machine with several GPUs.

## Why it matters
Copies between GPUs hang, fault or are slow.

## Not raised when
One GPU only, a virtual machine, or the IOMMU is off or passes through.

## How to confirm
`cat /proc/cmdline` and /sys/kernel/iommu_groups/0/type.

## Fix
Boot with iommu=pt.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
""",
)
FIXES = (Fix(text="Add iommu=pt to the kernel command line and reboot.", root=True, reboot=True),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding where the fact says it."""
    if machine.host.iommu == "translated" and len(machine.gpus or ()) > 1 and not machine.host.virtual_machine:
        yield Finding(
            summary="The IOMMU translates; iommu=pt is what copies between GPUs want.",
            subject=Subject(kind="host", id="-"),
            evidence=evidence(machine, ["host.iommu", "kernel.cmdline"]),
            fixes=FIXES,
        )
