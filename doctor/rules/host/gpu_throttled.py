"""Power or temperature holds the GPU's clocks down."""

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
    id="gpu-throttled",
    severity=Severity.WARNING,
    title="Power or temperature holds the GPU's clocks down.",
    needs=[{"gpus[].sensors.throttle_reasons"}],
    proven="synthetic",
    order=64,
    facts_decide=False,
    tags=("host",),
    doc="""
## What it finds
Throttle reasons that the hardware reports: temperature, power brake, hardware slowdown.

## Why it matters
Work runs slower than the GPU can.

## Not raised when
Only idle, application clocks or the power cap are the reason.

## How to confirm
`nvidia-smi -q -d PERFORMANCE` or `amd-smi metric`.

## Fix
Mend cooling or power supply.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
""",
)
FIXES = (Fix(text="Mend airflow, power cabling or the power cap."),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each such GPU."""
    for gpu in machine.gpus or ():
        if any(_BAD.search(r) for r in gpu.sensors.throttle_reasons or ()):
            yield Finding(
                summary=f"{gpu.key}: the hardware holds its clocks down.",
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=evidence(machine, [f"gpus[{gpu.key}].sensors.throttle_reasons"]),
                fixes=FIXES,
            )


_BAD = re.compile(r"hw[-_ ]|thermal|brake", re.IGNORECASE)
