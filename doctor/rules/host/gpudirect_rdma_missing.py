"""GPUDirect RDMA's kernel module or setting is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="gpudirect-rdma-missing",
    severity=Severity.WARNING,
    title="GPUDirect RDMA's kernel module or setting is missing.",
    needs=(),
    proven="synthetic",
    order=65,
    tags=("host", "rdma"),
    doc="""
## What it finds
Texts of collectives or tools that say that the NIC cannot reach GPU memory.

## Why it matters
Traffic between nodes takes a detour through host memory.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
`lsmod`: nvidia_peermem; or a kernel and driver with DMA-BUF.

## Fix
Load nvidia_peermem after the RDMA drivers, or use a kernel, driver and NIC stack with DMA-BUF.

## Fix safety
Harmless.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
""",
)
FIXES = (Fix(text="Load the module.", command=("modprobe", "nvidia_peermem"), root=True),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
