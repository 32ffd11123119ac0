"""The NVIDIA driver unloads between clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="persistence-mode-off",
    severity=Severity.INFO,
    title="The NVIDIA driver unloads between clients.",
    needs=[{"gpus[].persistence_mode"}],
    proven="synthetic",
    order=84,
    facts_decide=False,
    tags=("nvidia", "host", "tuning"),
    doc="""
## What it finds
Persistence mode off on every NVIDIA GPU of a server.

## Why it matters
Each first client pays seconds for the driver's start.

## Not raised when
It is on, or not known.

## How to confirm
`nvidia-smi -q -d PERFORMANCE`.

## Fix
Run nvidia-persistenced.

## Fix safety
Harmless.

## References
https://docs.nvidia.com/deploy/driver-persistence/
""",
)
FIXES = (
    Fix(
        text="Start the persistence daemon.", command=("systemctl", "enable", "--now", "nvidia-persistenced"), root=True
    ),
)


_SLOW = ("slow-start-told", "headless-hang-told")


def unheard(machine: Snapshot) -> bool:
    """Where the mode is shown and nobody waits for CUDA's start: a table's words of it are no complaint."""
    from doctor.knowledge.symptoms import shared

    shown = any(gpu.persistence_mode is not None for gpu in machine.of_vendor("nvidia"))
    pointed = (cause.rule for symptom in machine.symptoms for cause in shared().causes(symptom.key, machine))
    return shown and machine.symptom(*_SLOW) is None and RULE.id not in pointed


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding: the daemon serves all GPUs."""
    off = [gpu for gpu in machine.gpus or () if gpu.vendor == "nvidia" and gpu.persistence_mode is False]
    if not off:
        return
    slow = machine.symptom(*_SLOW)
    yield Finding(
        severity=Severity.WARNING if slow else Severity.INFO,
        basis="both" if slow else "facts",
        summary=f"{off[0].key}: persistence mode is off."
        if len(off) == 1
        else f"{len(off)} NVIDIA GPUs: persistence mode is off.",
        subject=Subject(kind="gpu", id=off[0].key if len(off) == 1 else "-"),
        evidence=evidence(machine, [f"gpus[{gpu.key}].persistence_mode" for gpu in off[:8]]),
        fixes=FIXES,
    )
