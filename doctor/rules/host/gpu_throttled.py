"""Power or temperature holds the GPU's clocks down."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu, Sensors
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.run_line import from_text

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
        {"gpus[].sensors.power_limit_w", "gpus[].sensors.power_w", "gpus[].sensors.temperature_c"},
    ],
    proven="synthetic",
    order=64,
    facts_decide=False,
    tags=("host",),
    doc="""
## What it finds
Throttle reasons that the hardware reports: temperature, power brake, hardware slowdown. A GPU that is hot and busy, and
draws far less than its power limit: heat holds it down.

## Why it matters
Work runs slower than the GPU can.

## Not raised when
Only idle, application clocks or the power cap are the reason. A low power limit is information where nobody says that
work is slow: people set it for their power supply.

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


def excludes(machine: Snapshot) -> bool:
    """Where somebody shows that no reason for slower clocks is active, or none but the limit of power that the GPU at
    work draws: so does every GPU under full load."""
    if machine.symptom("gpu-throttle", "throttle-reason-active-told"):
        return False
    if machine.symptom("throttle-reasons-inactive-told"):
        return True
    at_limit = [_at_its_limit(gpu.sensors) for gpu in machine.gpus or () if gpu.sensors.throttle_reasons]
    return bool(at_limit) and all(at_limit) and not _more_is_said(machine)


def _more_is_said(machine: Snapshot) -> bool:
    """Whether more is told than clocks that fall: of a limit that was set low, of heat."""
    from doctor.knowledge.symptoms import shared

    keys = {s.key for s in machine.symptoms if s.key != "clocks-fall-told" and not _NEVER_ABOVE.search(s.text)}
    return any(cause.rule == RULE.id for key in keys for cause in shared().causes(key, machine))


_NEVER_ABOVE = Lazy(r"\bnever (?:goes|gets|rises|boosts) (?:above|over) \d{2,4} ?mhz", re.IGNORECASE)


def unheard(machine: Snapshot) -> bool:
    """A table of watts, clocks and fans is no complaint: nobody says that something is slower or hotter than it was.
    Where the driver lists its reasons and none holds the clocks down, and nobody says that work is slow."""
    if machine.symptom("said-slow"):
        return False
    listed = [gpu.sensors.throttle_reasons for gpu in machine.gpus or () if gpu.sensors.throttle_reasons is not None]
    free = bool(listed) and not any(_held(reasons) for reasons in listed) and not machine.symptom("gpu-throttle")
    return free or machine.symptom("speed-or-heat-told") is None


def _held(reasons: Sequence[str]) -> bool:
    return any(_BAD.match(reason) or _BAD.search(reason[2:]) for reason in reasons)


_BAD = Lazy(r"hw[-_ ]?|thermal|brake", re.IGNORECASE)
_SHOWN = ("throttle_reasons", "power_limit_w", "power_limit_default_w", "temperature_c")
_LOW_CAP = 0.7
"""Of the default power limit: below it the clocks of a busy GPU fall far."""


_HOT_C, _BUSY_PERCENT, _STARVED = 85.0, 90.0, 0.5
"""Of a GPU at work: as hot as this, as busy, and with less than this share of its power limit. Cooled well, a GPU that
is busy all the time stays below 85 °C, or runs into its power limit."""


_FULL = 0.95
"""Of the limit of power: a draw that is held there."""


def _at_its_limit(sensors: Sensors) -> bool:
    """Whether the limit of power is the one reason, is not set low, and is drawn."""
    draw, limit, default = sensors.power_w, sensors.power_limit_w, sensors.power_limit_default_w
    reasons = {re.sub(r"[-_ ]", "", reason).lower() for reason in sensors.throttle_reasons or ()}
    if reasons != {"swpowercap"} or not draw or not limit:
        return False
    return draw >= _FULL * limit and (default is None or limit >= _FULL * default)


def _held_by_heat(sensors: Sensors) -> bool:
    heat, busy = sensors.temperature_c, sensors.utilisation_percent
    draw, limit = sensors.power_w, sensors.power_limit_w
    if heat is None or busy is None or not draw or not limit:
        return False
    return heat >= _HOT_C and busy >= _BUSY_PERCENT and draw < _STARVED * limit


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each such GPU. In a pasted text a low limit of power is somebody's choice until work is said to
    be slow or hot."""
    minded = machine.symptom("said-slow", "gpu-held-down-told", "gpu-throttle", "clocks-fall-told") is not None
    for gpu in machine.gpus or ():
        sensors = gpu.sensors
        limit, default = sensors.power_limit_w, sensors.power_limit_default_w
        held = _held(sensors.throttle_reasons or ())
        capped = bool(limit and default and limit < _LOW_CAP * default)
        hot = _held_by_heat(sensors)
        if not held and not capped and not hot:
            continue
        yield Finding(
            severity=Severity.WARNING if held or hot or minded or not _pasted(machine, gpu) else Severity.INFO,
            summary=_summary(gpu, held, hot),
            subject=Subject(kind="gpu", id=gpu.key),
            evidence=evidence(machine, [f"gpus[{gpu.key}].sensors.{n}" for n in _SHOWN]),
            fixes=FIXES,
        )


def _pasted(machine: Snapshot, gpu: Gpu) -> bool:
    return from_text(machine, f"gpus[{gpu.key}].sensors.power_limit_w")


def _summary(gpu: Gpu, held: bool, hot: bool) -> str:
    sensors = gpu.sensors
    if held:
        return f"{gpu.key}: the hardware holds its clocks down."
    if hot:
        power = f"{sensors.power_w:.0f} W of {sensors.power_limit_w:.0f} W"
        return f"{gpu.key}: busy at {sensors.temperature_c:.0f} °C with {power}: heat holds it down."
    return f"{gpu.key}: its power limit is {sensors.power_limit_w:.0f} W of {sensors.power_limit_default_w:.0f} W."
