"""Forward-compatibility libraries are used where they are not allowed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="cuda-compat-conflict",
    severity=Severity.ERROR,
    title="Forward-compatibility libraries are used where they are not allowed.",
    needs=(),
    proven="synthetic",
    order=13,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
CUDA errors 803 or 804: a libcuda of cuda-compat, or of another driver, comes first on the loader's path.

## Why it matters
Forward compatibility works on data-center GPUs only, and not with every driver.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
`ldconfig -p` and LD_LIBRARY_PATH: which libcuda.so.1 is first.

## Fix
Take the compat folder off the loader's path, or take an image of a CUDA release that the driver supports.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://docs.nvidia.com/deploy/cuda-compatibility/
""",
)
FIXES = (
    Fix(text="Show which libcuda the loader finds.", command=("ldconfig", "-p")),
    Fix(text="Take cuda-compat off LD_LIBRARY_PATH, or use an image of a CUDA release that the driver supports."),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
