"""The GPU's compute mode refuses a further process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules.run_line import from_text

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
The mode is Default, or no process holds the GPU. Exclusive_Process is information in a pasted text where no error text
tells of a busy GPU: schedulers set it, and MPS wants it.

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


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each such GPU. Clusters set the exclusive mode on purpose: in a pasted text it is information
    beside a process at work, until an error text tells of one that was turned away."""
    refused = machine.symptom("cuda-devices-busy", "cuda-code-busy", "cuda-invalid-device")
    for gpu in machine.gpus or ():
        prohibited = re.search("prohibit", gpu.compute_mode or "", re.IGNORECASE)
        exclusive = re.search(r"(?i)exclusive|E\. ?(?:Process|Thread)", gpu.compute_mode or "")
        if gpu.compute_mode and (prohibited or ((gpu.processes or refused) and exclusive)):
            chosen = not prohibited and not refused and from_text(machine, f"gpus[{gpu.key}].compute_mode")
            yield Finding(
                severity=Severity.INFO if chosen else Severity.ERROR,
                summary=f"{gpu.key}: compute mode {gpu.compute_mode[:40]} refuses a further process.",
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=evidence(machine, [f"gpus[{gpu.key}].compute_mode", f"gpus[{gpu.key}].processes"]),
                fixes=FIXES,
            )
