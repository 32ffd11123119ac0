"""The GPU's compute mode refuses a further process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="compute-mode-exclusive",
    severity=Severity.ERROR,
    title="The GPU's compute mode refuses a further process.",
    needs=[{"gpus[].compute_mode"}],
    proven="synthetic",
    order=57,
    facts_decide=False,
    tags=("nvidia", "host"),
    doc="""
## What it finds
Compute mode Prohibited, or Exclusive_Process with a process at work or the error text of a busy GPU.

## Why it matters
Every second process fails with 'all CUDA-capable devices are busy or unavailable'.

## Not raised when
The mode is Default, or no process holds the GPU. In a pasted text, where no error text tells of a busy GPU. MPS serves
the GPU: then the exclusive mode is meant, and processes share the server's.

## How to confirm
`nvidia-smi -q -d COMPUTE`.

## Fix
Set the mode to Default, or run one process a GPU.

## Fix safety
The scheduler of a cluster may have set it on purpose.

## References
https://docs.nvidia.com/deploy/nvml-api/
""",
)
FIXES = (Fix(text="Set the compute mode to Default.", command=("nvidia-smi", "-c", "0"), root=True),)


_REFUSED = ("cuda-devices-refused", "cuda-invalid-device")
"""Error texts of a process that was turned away."""


def unheard(machine: Snapshot) -> bool:
    """The mode alone, which schedulers set on purpose, or a GPU that MPS shares: nobody was turned away."""
    return machine.symptom(*_REFUSED, "program-crashed") is None or _shared(machine)


def _shared(machine: Snapshot) -> bool:
    return machine.symptom("mps-serves") is not None and machine.symptom(*_REFUSED) is None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each such GPU."""
    if _shared(machine):
        return
    refused = machine.symptom("cuda-devices-busy", "cuda-invalid-device")
    for gpu in machine.gpus or ():
        if gpu.compute_mode and (
            re.search("prohibit", gpu.compute_mode, re.IGNORECASE)
            or ((gpu.processes or refused) and re.search(r"(?i)exclusive|E\. ?(?:Process|Thread)", gpu.compute_mode))
        ):
            yield Finding(
                summary=f"{gpu.key}: compute mode {gpu.compute_mode[:40]} refuses a further process.",
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=evidence(machine, [f"gpus[{gpu.key}].compute_mode", f"gpus[{gpu.key}].processes"]),
                fixes=FIXES,
            )
