from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity
from doctor.rules.lib import commands, module_flavour
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="nvidia-open-module-required",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.REBOOT,
    layer=Layer.DRIVER,
    title="This GPU needs NVIDIA's open kernel modules.",
    needs=[{"nvidia_driver.flavour", "gpus"}, {"kernel_log.events"}],
    proven="synthetic",
    order=9,
    explains=("nvidia-driver-not-loaded", "nvidia-xid-fatal", "torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
A Grace Hopper, Blackwell or newer GPU with NVIDIA's proprietary kernel modules, which do not support it.

## Why it matters
The driver loads but rejects the GPU: `nvidia-smi` prints "No devices were found".

## Not raised when
- The open modules are loaded, or the flavour is unknown and the kernel log does not show it.
- The GPU is Turing to Hopper (either flavour works), or of an unknown model.

## How to confirm
`/proc/driver/nvidia/version` says "Open Kernel Module" for the open flavour; the kernel log says
"requires use of the NVIDIA
open kernel modules".

## Fix
Install the open flavour of the same driver on the host, and reboot.

## References
https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (kernel modules);
https://github.com/NVIDIA/open-gpu-kernel-modules
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    return commands.nvidia_driver(machine, "open")


_EVENT = "nvidia-open-module-required"
"""What the parser of the kernel log calls the driver's own words for it."""


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """Facts end the matter where the flavour and what every GPU takes are known."""
    gpus = machine.of_vendor("nvidia")
    return bool(machine.nvidia_driver.flavour and gpus) and all(module_flavour.takes(g, kb) for g in gpus)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    device = module_flavour.misfit(machine, kb, verdict="required", loaded="proprietary", event=_EVENT)
    if device is not None:
        summary = f"{device} needs the open NVIDIA kernel modules, but the proprietary ones are installed."
        yield module_flavour.finding(machine, summary, wants="open", event=_EVENT)
