"""An allocator option is set that this torch or platform does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="allocator-flag-unsupported",
    severity=Severity.WARNING,
    title="An allocator option is set that this torch or platform does not have.",
    needs=(),
    proven="synthetic",
    order=50,
    tags=("flags",),
    doc="""## What it finds
An option of PYTORCH_CUDA_ALLOC_CONF, PYTORCH_HIP_ALLOC_CONF or PYTORCH_ALLOC_CONF that this build refuses or ignores.

## Why it matters
'Unrecognized CachingAllocator option', or 'expandable_segments not supported on this platform'.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
Unset the variable and run again.

## Fix
Drop the option.

## Fix safety
Applies to programs started afterwards.

## References
https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf
""",
)

FIXES = (
    Fix(
        text="Drop the option from PYTORCH_CUDA_ALLOC_CONF, PYTORCH_HIP_ALLOC_CONF and PYTORCH_ALLOC_CONF.",
        where="environment",
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
