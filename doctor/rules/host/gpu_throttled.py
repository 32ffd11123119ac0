from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu, Sensors
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Step, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.run_line import from_text

RULE = Rule(
    id="gpu-throttled",
    severity=Severity.WARNING,
    scope=Scope.HARDWARE,
    action=Action.DRAIN,
    layer=Layer.GPU,
    title="Power or temperature limits the GPU's clocks.",
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
Throttle reasons that the hardware reports: temperature, power brake, hardware slowdown. A GPU that is hot and busy
but draws far less than its power limit: heat limits it.

## Why it matters
Work runs slower than the GPU allows.

## Not raised when
Only idle, application clocks or the power cap are the reason. A low power limit is information unless the text says
that work is slow: people set it for their power supply.

## How to confirm
`nvidia-smi -q -d PERFORMANCE` or `amd-smi metric`.

## Fix
Find the GPU that is hotter than its neighbours, and improve the node's cooling or power supply.

## Fix safety
Looking changes nothing. Fans and cables need a node that is powered off.

## References
https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
""",
)


def _cool(vendor: Literal["nvidia", "amd"], *look: str, more: tuple[Step, ...] = ()) -> Remedy:
    return way(
        "Find the GPU that is hot or short of power, and check its airflow, fans and power cables.",
        Scope.HARDWARE,
        step("Show what limits the clocks.", *look),
        step("Compare all GPUs under load: one that is hotter than its neighbours is faulty itself."),
        *more,
        vendor=vendor,
    )


_BRAKE = step("`HW Power Brake`: the server's power supply asked for it. Check its cables and the BMC's log.")
REMEDIES = (
    _cool("nvidia", "nvidia-smi", "-q", "-d", "PERFORMANCE,POWER,TEMPERATURE", more=(_BRAKE,)),
    _cool("amd", "amd-smi", "metric", "--power", "--temperature", "--clock"),
)


def _remedies(gpu: Gpu, capped: bool) -> tuple[Remedy, ...]:
    """A low limit can be raised to the board's default; heat and cables need hands."""
    default = gpu.sensors.power_limit_default_w
    if not capped or not default or gpu.vendor != "nvidia" or not gpu.pci_address:
        return REMEDIES
    old = f"{gpu.sensors.power_limit_w:.0f}"
    raise_it = step("Set it.", "nvidia-smi", "-i", gpu.pci_address, "-pl", f"{default:.0f}")
    back = step("Set the old limit again.", "nvidia-smi", "-i", gpu.pci_address, "-pl", old)
    title = f"Raise the power limit from {old} W to the default of {default:.0f} W."
    keeps_until = "It lasts until the next boot."
    limit = way(title, Scope.HOST, raise_it, step(keeps_until), root=True, undo=(back,), vendor="nvidia")
    return limit, *REMEDIES


_BAD = Lazy(r"hw[-_ ]?|thermal|brake", re.IGNORECASE)
_SHOWN = ("throttle_reasons", "power_limit_w", "power_limit_default_w", "temperature_c")
_LOW_CAP = 0.7
"""Of the default power limit: below it the clocks of a busy GPU fall far."""


_HOT_C, _BUSY_PERCENT, _STARVED = 85.0, 90.0, 0.5
"""Of a GPU at work: as hot as this, as busy, and with less than this share of its power limit. Cooled well, a GPU that
is busy all the time stays below 85 °C, or runs into its power limit."""


def _held_by_heat(sensors: Sensors) -> bool:
    heat, busy = sensors.temperature_c, sensors.utilisation_percent
    draw, limit = sensors.power_w, sensors.power_limit_w
    if heat is None or busy is None or not draw or not limit:
        return False
    return heat >= _HOT_C and busy >= _BUSY_PERCENT and draw < _STARVED * limit


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each such GPU. In a pasted text a low limit of power counts as chosen until somebody
    reports slow or hot work."""
    minded = machine.symptom("gpu-throttle", "gpu-thermal-slowdown", "nvml-slowdown-active") is not None
    for gpu in machine.gpus or ():
        sensors = gpu.sensors
        limit, default = sensors.power_limit_w, sensors.power_limit_default_w
        held = any(_BAD.match(reason) or _BAD.search(reason[2:]) for reason in sensors.throttle_reasons or ())
        capped = bool(limit and default and limit < _LOW_CAP * default)
        hot = _held_by_heat(sensors)
        pasted = from_text(machine, f"gpus[{gpu.key}].sensors.power_limit_w")
        if not held and not capped and not hot:
            continue
        yield Finding(
            severity=Severity.INFO if pasted and not (held or hot or minded) else Severity.WARNING,
            summary=_summary(gpu, held, hot),
            subject=Subject(kind="gpu", id=gpu.key),
            evidence=evidence(machine, [f"gpus[{gpu.key}].sensors.{n}" for n in _SHOWN]),
            remedies=_remedies(gpu, capped),
        )


def _summary(gpu: Gpu, held: bool, hot: bool) -> str:
    sensors = gpu.sensors
    if held and any("thermal" in reason.lower() for reason in sensors.throttle_reasons or ()):
        heat = f" ({sensors.temperature_c:.0f} °C)" if sensors.temperature_c else ""
        return f"GPU {gpu.key} is too hot{heat} and lowers its clocks."
    if held:
        return f"GPU {gpu.key}: the hardware lowers its clocks."
    if hot:
        power = f"{sensors.power_w:.0f} W of {sensors.power_limit_w:.0f} W"
        return f"GPU {gpu.key}: heat limits its clocks (busy at {sensors.temperature_c:.0f} °C with {power})."
    return f"GPU {gpu.key}: its power limit is {sensors.power_limit_w:.0f} W of {sensors.power_limit_default_w:.0f} W."
