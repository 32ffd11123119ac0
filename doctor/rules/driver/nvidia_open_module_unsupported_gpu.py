"""NVIDIA's open kernel modules are loaded for a GPU older than Turing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity
from doctor.knowledge import Knowledge
from doctor.rules import module_flavour
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.profiles import Profile

RULE = Rule(
    id="nvidia-open-module-unsupported-gpu",
    severity=Severity.ERROR,
    title="NVIDIA's open kernel modules are loaded for a GPU that they don't support.",
    needs=[{"nvidia_driver.flavour", "gpus"}, {"kernel_log.events"}],
    proven="synthetic",
    order=9,
    explains=("nvidia-driver-not-loaded", "nvidia-xid-fatal", "torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
The open kernel modules, which start at Turing, for a Maxwell, Pascal or Volta GPU.

## Why it matters
The module loads and leaves the GPU alone: "No devices were found", no CUDA device.

## Not raised when
- The flavour or the GPU's model is unknown, or the GPU is Turing or newer.
- The proprietary modules are loaded.

## How to confirm
`/proc/driver/nvidia/version` says "Open Kernel Module", and `lspci -nn -d 10de:` shows the older GPU.

## Fix
Install the proprietary flavour on the host; branch 580 is the last one for these GPUs. Beside a
Blackwell GPU no one driver
serves both: one of the cards has to go.

## Fix safety
Replaces the driver: stop the GPU jobs of the node first; wants a reboot.

## References
https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (kernel modules);
https://github.com/NVIDIA/open-gpu-kernel-modules
""",
)
FIXES = (
    Fix(text="Install the proprietary flavour of NVIDIA's driver (branch 580 at most), then reboot.", reboot=True),
)

_EVENT = "nvidia-open-module-unsupported"
"""What the reader of the kernel log calls the driver's own words for it."""


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """Facts end the matter where the flavour and what every GPU takes are known: not in releases of the open modules
    that say themselves that they are for the GPUs of data centers alone."""
    if machine.symptom("open-module-data-center-only", "gsp-engine-missing"):
        return False
    gpus = machine.of_vendor("nvidia")
    return bool(machine.nvidia_driver.flavour and gpus) and all(module_flavour.takes(g, kb) for g in gpus)


_FIRST_OPEN = "515"
"""The driver with which the open kernel modules came (github.com/NVIDIA/open-gpu-kernel-modules: 515.43.04)."""


def unheard(machine: Snapshot) -> bool:
    """Where the driver is of a release before the first with open modules, nvidia-smi works, or Windows is what the
    text is of: its driver comes in one flavour."""
    if machine.os.id == "windows":
        return True
    version = machine.nvidia_driver.version
    if version is not None and Dotted(version) < _FIRST_OPEN:
        return True
    return machine.symptom("nvidia-smi-works-told") is not None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    device = module_flavour.misfit(machine, kb, verdict="unsupported", loaded="open", event=_EVENT)
    if device is not None:
        said = f"{device} is older than the open NVIDIA kernel modules support, and these are loaded."
        yield module_flavour.finding(machine, said, wants="proprietary", event=_EVENT)
