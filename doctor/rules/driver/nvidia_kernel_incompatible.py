"""This kernel release breaks the NVIDIA stack; another kernel works."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="nvidia-kernel-incompatible",
    severity=Severity.ERROR,
    title="This kernel release breaks the NVIDIA stack; another kernel works.",
    needs=(),
    proven="synthetic",
    order=12,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
A driver module that does not build for, or does not load into, the running kernel.

## Why it matters
After a kernel update the GPU is gone until the module fits again.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
Read /var/lib/dkms/nvidia/VERSION/build/make.log, and dkms status.

## Fix
Install the headers of this kernel and a driver release that supports it, or boot the kernel before it.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
""",
)
FIXES = (
    Fix(text="Show for which kernels the module is built.", command=("dkms", "status")),
    Fix(
        text="Install the kernel's headers and a driver that supports it; or boot the previous kernel.",
        root=True,
        reboot=True,
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
