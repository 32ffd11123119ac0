"""MIG is on without usable instances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="mig-misconfigured",
    severity=Severity.ERROR,
    title="MIG is on without usable instances.",
    needs=[{"gpus[].mig_mode"}],
    proven="synthetic",
    order=56,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    facts_decide=False,
    tags=("nvidia", "host"),
    doc="""
## What it finds
MIG enabled on a GPU that has no instance, or texts of instances that are not there.

## Why it matters
CUDA sees no device although nvidia-smi shows the GPU.

## Not raised when
Instances exist, or are not known.

## How to confirm
`nvidia-smi -L` and `nvidia-smi mig -lgi`.

## Fix
Create instances, or turn MIG off.

## Fix safety
Turning MIG off ends all work on the GPU.

## References
https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
""",
)
FIXES = (
    Fix(text="List the GPU instances.", command=("nvidia-smi", "mig", "-lgi"), root=True),
    Fix(text="Turn MIG off.", command=("nvidia-smi", "-mig", "0"), root=True),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each such GPU."""
    for gpu in machine.gpus or ():
        if gpu.mig_mode == "enabled" and gpu.partitions == ():
            yield Finding(
                summary=f"{gpu.key}: MIG is on and no instance exists, so CUDA sees no device there.",
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=evidence(machine, [f"gpus[{gpu.key}].mig_mode", f"gpus[{gpu.key}].partitions"]),
                fixes=FIXES,
            )
