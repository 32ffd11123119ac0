"""A GPU that wants hipBLASLt runs its matrix products on rocBLAS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="hipblaslt-not-selected",
    severity=Severity.WARNING,
    title="A GPU that wants hipBLASLt runs its matrix products on rocBLAS.",
    needs=(),
    proven="synthetic",
    order=82,
    tags=("amd", "blas"),
    doc="""
## What it finds
Texts that say that rocBLAS runs where hipBLASLt is meant to.

## Why it matters
Matrix products are several times slower than the GPU can.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
`torch.backends.cuda.preferred_blas_library()`.

## Fix
Set TORCH_BLAS_PREFER_HIPBLASLT=1.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://github.com/pytorch/pytorch/pull/128753
""",
)
FIXES = (Fix(text="Ask for hipBLASLt.", command=("env", "TORCH_BLAS_PREFER_HIPBLASLT=1", "python3")),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
