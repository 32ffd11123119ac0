"""Kernel driver and ROCm are outside each other's support window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="amdgpu-rocm-version-skew",
    severity=Severity.ERROR,
    title="Kernel driver and ROCm are outside each other's support window.",
    needs=(),
    proven="synthetic",
    order=17,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("amd", "driver"),
    doc="""
## What it finds
amdgpu and ROCm releases that AMD does not support together.

## Why it matters
The runtime asks for kernel interfaces that are not there: GPUs vanish or calls fail with an invalid argument.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
Compare `modinfo amdgpu` and the ROCm release with AMD's matrix.

## Fix
Bring one of the two into the window of the other.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/user-kernel-space-compat-matrix.html
""",
)
FIXES = (
    Fix(text="Show the driver's release.", command=("modinfo", "amdgpu")),
    Fix(
        text="Install the amdgpu driver of the ROCm release, or a ROCm that supports this driver.",
        root=True,
        reboot=True,
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
