"""GPU-to-GPU copies over PCIe hang or corrupt data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="pcie-p2p-unusable",
    severity=Severity.WARNING,
    title="GPU-to-GPU copies over PCIe hang or corrupt data.",
    needs=(),
    proven="synthetic",
    order=62,
    tags=("host",),
    doc="""
## What it finds
Texts of hanging, refused or corrupt copies between GPUs.

## Why it matters
Collectives hang and models give wrong output on several GPUs, and right output on one.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
Run once with NCCL_P2P_DISABLE=1.

## Fix
Turn peer copies off, or mend the IOMMU and ACS settings under them.

## Fix safety
Slower, and safe.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
""",
)
FIXES = (Fix(text="Try without peer-to-peer copies.", command=("env", "NCCL_P2P_DISABLE=1", "python3")),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
