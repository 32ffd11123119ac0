from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.boot import service

RULE = Rule(
    id="persistence-mode-off",
    severity=Severity.INFO,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    title="Persistence mode is off, so the NVIDIA driver unloads between programs.",
    needs=[{"gpus[].persistence_mode"}],
    proven="synthetic",
    order=84,
    facts_decide=False,
    tags=("nvidia", "host", "tuning"),
    doc="""
## What it finds
Persistence mode off on every NVIDIA GPU of a server.

## Why it matters
The first program waits seconds for the driver to start.

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
REMEDIES = (
    service(
        "Start the persistence daemon, which keeps the driver loaded between programs.",
        "nvidia-persistenced",
        vendor="nvidia",
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    off = [gpu for gpu in machine.gpus or () if gpu.vendor == "nvidia" and gpu.persistence_mode is False]
    if not off:
        return
    yield Finding(
        severity=Severity.INFO,
        basis="facts",
        summary=f"GPU {off[0].key}: persistence mode is off."
        if len(off) == 1
        else f"{len(off)} NVIDIA GPUs: persistence mode is off.",
        subject=Subject(kind="gpu", id=off[0].key if len(off) == 1 else "-"),
        evidence=evidence(machine, [f"gpus[{gpu.key}].persistence_mode" for gpu in off[:8]]),
        remedies=REMEDIES,
    )
