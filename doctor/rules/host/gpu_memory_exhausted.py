"""The GPU's memory is overcommitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="gpu-memory-exhausted",
    severity=Severity.WARNING,
    title="The GPU's memory is overcommitted.",
    needs=(),
    proven="synthetic",
    order=67,
    tags=("host",),
    doc="""
## What it finds
Out-of-memory errors of CUDA, HIP or a framework.

## Why it matters
The work ends, and sometimes that of other users of the GPU.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
`nvidia-smi` or `rocm-smi --showpids`: who holds the memory.

## Fix
Use a smaller batch or share, or end what else holds the memory.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://docs.pytorch.org/docs/stable/notes/cuda.html
""",
)
FIXES = (
    Fix(text="End what else holds the GPU's memory, or lower batch size, context length or the server's memory share."),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
