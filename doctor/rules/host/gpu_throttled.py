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
    needs=[
        {"gpus[].sensors.throttle_reasons"},
        {"gpus[].sensors.power_limit_w", "gpus[].sensors.power_limit_default_w"},
    ],
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


_BAD = re.compile(r"hw[-_ ]?|thermal|brake", re.IGNORECASE)
_SHOWN = ("throttle_reasons", "power_limit_w", "power_limit_default_w", "temperature_c")
_LOW_CAP = 0.7
"""Of the default power limit: below it the clocks of a busy GPU fall far."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each such GPU."""
    for gpu in machine.gpus or ():
        sensors = gpu.sensors
        limit, default = sensors.power_limit_w, sensors.power_limit_default_w
        held = any(_BAD.match(r) or _BAD.search(r[2:]) for r in sensors.throttle_reasons or ())
        capped = bool(limit and default and limit < _LOW_CAP * default)
        if not held and not capped:
            continue
        yield Finding(
            summary=f"{gpu.key}: the hardware holds its clocks down."
            if held
            else f"{gpu.key}: its power limit is {limit:.0f} W of {default:.0f} W.",
            subject=Subject(kind="gpu", id=gpu.key),
            evidence=evidence(machine, [f"gpus[{gpu.key}].sensors.{n}" for n in _SHOWN]),
            fixes=FIXES,
        )
