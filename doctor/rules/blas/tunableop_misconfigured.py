"""TunableOp runs without results, still tunes, or has stale results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="tunableop-misconfigured",
    severity=Severity.WARNING,
    title="TunableOp runs without results, still tunes, or has stale results.",
    needs=(),
    proven="synthetic",
    order=52,
    tags=("blas", "flags"),
    doc="""
## What it finds
TunableOp on in a run that fails or is slow: tuning tries every kernel, faulty ones included.

## Why it matters
Tuning slows the first steps, and a faulty candidate ends the run with a memory fault.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
Run once with PYTORCH_TUNABLEOP_ENABLED=0.

## Fix
Turn TunableOp off, or tune once and run with PYTORCH_TUNABLEOP_TUNING=0.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://docs.pytorch.org/docs/stable/cuda.tunable.html
""",
)
FIXES = (Fix(text="Run without TunableOp.", command=("env", "PYTORCH_TUNABLEOP_ENABLED=0", "python3")),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
