"""A framework or server reports no usable GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="framework-sees-no-gpu",
    severity=Severity.ERROR,
    title="A framework or server reports no usable GPU.",
    needs=(),
    proven="synthetic",
    order=90,
    tags=("consequences",),
    doc="""## What it finds
An error text of a framework other than torch (JAX, TensorFlow, ollama, vLLM, ONNX Runtime …) that it found no GPU.

## Why it matters
It runs on the CPU or stops. This is a consequence; a finding about its cause stands above it where one is known.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
The framework's own list of devices.

## Fix
Mend the cause.

## Fix safety
None: nothing is changed.

## References
docs/rules.md
""",
)

FIXES = (
    Fix(
        text="Mend the finding above; where there is none, run `doctor check` on that machine.",
        command=("doctor", "check"),
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
