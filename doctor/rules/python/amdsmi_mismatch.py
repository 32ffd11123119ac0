"""The amdsmi Python package is missing or of another ROCm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="amdsmi-mismatch",
    severity=Severity.ERROR,
    title="The amdsmi Python package is missing or of another ROCm.",
    needs=(),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    tags=(
        "python",
        "amd",
    ),
    doc="""## What it finds
A program that asks AMD's amdsmi module, which is not installed, or does not fit libamd_smi.so.

## Why it matters
vLLM takes the machine for one without GPUs; monitoring fails.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one.

## How to confirm
`python -c 'import amdsmi; amdsmi.amdsmi_init()'`

## Fix
Install the amdsmi of the installed ROCm: it is in /opt/rocm/share/amd_smi.

## Fix safety
No reboot. Changes packages of this environment only.

## References
https://rocm.docs.amd.com/projects/amdsmi/en/latest/install/install.html
""",
)

FIXES = (
    Fix(
        text="Install the amdsmi package that came with the installed ROCm.",
        command=("python3", "-m", "pip", "install", "/opt/rocm/share/amd_smi"),
        where="environment",
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
