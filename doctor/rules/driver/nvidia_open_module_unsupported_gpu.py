from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity
from doctor.rules.lib import commands, module_flavour
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="nvidia-open-module-unsupported-gpu",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.REBOOT,
    layer=Layer.DRIVER,
    title="NVIDIA's open kernel modules do not support this GPU.",
    needs=[{"nvidia_driver.flavour", "gpus"}, {"kernel_log.events"}],
    proven="synthetic",
    order=9,
    explains=("nvidia-driver-not-loaded", "nvidia-xid-fatal", "torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
The open kernel modules, which start at Turing, for a Maxwell, Pascal or Volta GPU.

## Why it matters
The module loads but ignores the GPU: "No devices were found", no CUDA device.

## Not raised when
- The flavour or the GPU's model is unknown, or the GPU is Turing or newer.
- The proprietary modules are loaded.

## How to confirm
`/proc/driver/nvidia/version` says "Open Kernel Module", and `lspci -nn -d 10de:` shows the older GPU.

## Fix
Install the proprietary flavour on the host; branch 580 is the last one for these GPUs. No driver supports both it and
a Blackwell GPU: remove one of the cards.

## References
https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (kernel modules);
https://github.com/NVIDIA/open-gpu-kernel-modules
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    return commands.nvidia_driver(machine, "proprietary")


_EVENT = "nvidia-open-module-unsupported"
"""What the parser of the kernel log calls the driver's own words for it."""


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """Facts end the matter where the flavour and what every GPU takes are known: not in releases of the open modules
    that say themselves that they are for the GPUs of data centers alone."""
    if machine.symptom("open-module-data-center-only", "gsp-engine-missing"):
        return False
    gpus = machine.of_vendor("nvidia")
    return bool(machine.nvidia_driver.flavour and gpus) and all(module_flavour.takes(g, kb) for g in gpus)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    device = module_flavour.misfit(machine, kb, verdict="unsupported", loaded="open", event=_EVENT)
    if device is not None:
        summary = f"{device} is too old for the open NVIDIA kernel modules, which are loaded."
        yield module_flavour.finding(machine, summary, wants="proprietary", event=_EVENT)
