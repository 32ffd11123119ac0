"""The OS release or kernel is not supported by this ROCm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="amdgpu-kernel-or-os-unsupported",
    severity=Severity.ERROR,
    title="The OS release or kernel is not supported by this ROCm.",
    needs=(),
    proven="synthetic",
    order=12,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("amd", "driver"),
    doc="""
## What it finds
A DKMS build of amdgpu that fails, or packages of ROCm that this system cannot install.

## Why it matters
The driver of ROCm is not there after a kernel or system update.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
Read /var/lib/dkms/amdgpu/VERSION/build/make.log and AMD's list of systems.

## Fix
Boot a supported kernel, or install a driver release that supports this one.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
""",
)
FIXES = (
    Fix(text="Show for which kernels the module is built.", command=("dkms", "status")),
    Fix(
        text="Boot a kernel of AMD's list, or install an amdgpu release that supports this kernel.",
        root=True,
        reboot=True,
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
