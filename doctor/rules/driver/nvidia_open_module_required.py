"""The GPU needs NVIDIA's open kernel modules, and the proprietary ones are in use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.knowledge import Knowledge
from doctor.rules import commands, presence

if TYPE_CHECKING:
    from doctor.profiles import Profile

RULE = Rule(
    id="nvidia-open-module-required",
    severity=Severity.ERROR,
    title="The GPU needs NVIDIA's open kernel modules.",
    needs=[{"nvidia_driver.flavour", "gpus"}, {"kernel_log.events"}],
    proven="synthetic",
    order=9,
    explains=("nvidia-driver-not-loaded", "torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
A Grace Hopper, Blackwell or newer GPU with NVIDIA's proprietary kernel modules, which do not support it.

## Why it matters
The driver loads and refuses the GPU: `nvidia-smi` says "No devices were found".

## Not raised when
- The open modules are loaded, or the flavour is unknown and the kernel log says nothing of it.
- The GPU is Turing to Hopper (either flavour works), or of an unknown model.

## How to confirm
`/proc/driver/nvidia/version` says "Open Kernel Module" for the open flavour; the kernel log says
"requires use of the NVIDIA
open kernel modules".

## Fix
Install the open flavour of the same driver on the host, and reboot.

## Fix safety
Replaces the driver: stop the GPU jobs of the node first; wants a reboot.

## References
https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (kernel modules);
https://github.com/NVIDIA/open-gpu-kernel-modules
""",
)
FIXES = (Fix(text="Install the open flavour of NVIDIA's kernel modules on the host, then reboot.", reboot=True),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    flavour = machine.nvidia_driver.flavour
    if flavour == "open":
        return
    wanting = [g for g in machine.of_vendor("nvidia") if kb.open_module(g.pci_id or g.arch) == "required"]
    logged = [e for e in machine.kernel_log.events or () if e.code == "nvidia-open-module-required"]
    if not logged and not (flavour == "proprietary" and wanting):
        return
    device = presence.label(wanting[0]) if wanting else f"GPU {logged[0].device}" if logged[0].device else "The GPU"
    log = tuple(Evidence(text=e.text, source=machine.source("kernel_log.events")) for e in logged[:1])
    yield Finding(
        severity=Severity.ERROR,
        summary=f"{device} needs the open NVIDIA kernel modules; the proprietary ones are installed.",
        subject=Subject(kind="driver", id="nvidia"),
        evidence=evidence(machine, ("nvidia_driver.flavour", "nvidia_driver.version")) + log,
        fixes=commands.nvidia_driver(machine, "open"),
        verify=("nvidia-smi", "-L"),
        source="https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
    )
