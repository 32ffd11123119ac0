"""The rocBLAS or hipBLASLt kernel files for this GPU are missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="blas-kernels-missing",
    severity=Severity.ERROR,
    title="The rocBLAS or hipBLASLt kernel files for this GPU are missing.",
    needs=(),
    proven="synthetic",
    order=35,
    tags=("amd", "blas"),
    doc="""
## What it finds
Error texts of rocBLAS or hipBLASLt that say that they cannot read the kernel files of this GPU.

## Why it matters
Every matrix product aborts.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
List rocblas/library in the folder that the error names.

## Fix
Install the library package of this GPU's target, or a build that carries it.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://github.com/ROCm/rocBLAS/issues/1339
""",
)
FIXES = (
    Fix(
        text="Install the rocBLAS and hipBLASLt packages, or a torch build, that carry the kernels of this gfx target."
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
