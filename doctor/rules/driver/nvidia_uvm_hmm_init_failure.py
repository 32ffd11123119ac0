"""CUDA cannot start: HMM in nvidia_uvm fails with this kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="nvidia-uvm-hmm-init-failure",
    severity=Severity.ERROR,
    title="CUDA cannot start: HMM in nvidia_uvm fails with this kernel.",
    needs=(),
    proven="synthetic",
    order=14,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
Lines of nvidia_uvm that say that memory for HMM could not be mapped.

## Why it matters
nvidia-smi works and every CUDA program fails at cuInit.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
Look for devmem_alloc_pagemap in the kernel log.

## Fix
Load nvidia_uvm with uvm_disable_hmm=1, or boot with nokaslr, or update the driver.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://docs.nvidia.com/cuda/archive/13.2.2/cuda-toolkit-release-notes/
""",
)
FIXES = (Fix(text="Load nvidia_uvm without HMM.", command=("modprobe", "nvidia_uvm", "uvm_disable_hmm=1"), root=True),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
