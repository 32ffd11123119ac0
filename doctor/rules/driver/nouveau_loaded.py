from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, evidence
from doctor.rules.lib import advice as ways
from doctor.rules.lib import commands, module_flavour, presence
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="nouveau-loaded",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.REBOOT,
    layer=Layer.DRIVER,
    title="The nouveau driver is bound to the NVIDIA GPU.",
    needs=[{"gpus[].driver"}, {"pci"}, {"gpus", "kernel.modules"}],
    proven="synthetic",
    order=9,
    explains=("nvidia-driver-not-loaded", "torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
An NVIDIA GPU that is bound to the kernel's nouveau driver.

## Why it matters
nouveau does not support CUDA, and NVIDIA's module cannot use the GPU while nouveau has it.

## Not raised when
- nouveau is loaded but not bound to a GPU.
- The bound driver is unknown; but where nouveau is loaded, and NVIDIA's module is not, it is a warning.

It is information where the stack is AMD's and amdgpu has its GPU: the NVIDIA card then drives the desktop.

## How to confirm
`lspci -nnk -d 10de:` shows `Kernel driver in use: nouveau`.

## Fix
Install NVIDIA's driver on the host and reboot: its packages blacklist nouveau and rebuild the initramfs. See
nvidia-driver-too-old for each distribution's commands.

## Fix safety
Host, root, reboot. A desktop's display changes its driver. Undo: remove the driver packages and reboot.

## References
https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (disabling nouveau)
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    return commands.nvidia_driver(machine, module_flavour.wanted(machine, kb))


def _keep_out(machine: Snapshot) -> Remedy:
    """NVIDIA's module is installed, so nouveau must only be kept from taking the GPU first."""
    file = "/etc/modprobe.d/blacklist-nouveau.conf"
    return ways.way(
        "Keep nouveau from loading, then reboot; the NVIDIA driver is installed.",
        Scope.DRIVER,
        ways.writes(file, "blacklist nouveau", "options nouveau modeset=0"),
        commands.initramfs(machine),
        commands.REBOOT,
        root=True,
        reboot=True,
        risk=commands.JOBS_STOP,
        vendor="nvidia",
        undo=(ways.step("Remove the file.", "rm", file), commands.initramfs(machine), commands.REBOOT),
    )


_NVIDIA_WANTED = (
    "nvidia-smi-cannot-communicate",
    "nvidia-smi-no-devices",
    "nvidia-smi-not-found",
    "torch-no-nvidia-driver",
)
"""Somebody asks NVIDIA's driver there."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    gpus = presence.present(machine, "nvidia")
    installed = machine.nvidia_driver.module_on_disk is not None
    others = presence.bound(gpus, "nvidia")
    flavour = module_flavour.wanted(machine, kb)
    modules = machine.kernel.modules or ()
    unbound = [gpu for gpu in gpus if gpu.driver is None]
    if unbound and "nouveau" in modules and "nvidia" not in modules and machine.nvidia_driver.loaded is not True:
        yield Finding(
            severity=Severity.WARNING,
            summary="The nouveau driver is loaded, and NVIDIA's driver is not.",
            subject=presence.subject(unbound[0]),
            evidence=evidence(machine, ("kernel.modules", f"gpus[{unbound[0].key}].name")),
            remedies=advice(machine, kb),
            verify=("nvidia-smi", "-L"),
        )
    for gpu in gpus:
        if gpu.driver != "nouveau":
            continue
        display = presence.work_is_of(machine, "amd") and not machine.symptom(*_NVIDIA_WANTED)
        name = "gpus" if machine.of_vendor("nvidia") else "pci"
        yield Finding(
            severity=Severity.INFO if display else Severity.WARNING if others else Severity.ERROR,
            summary=f"nouveau is bound to {presence.label(gpu)}, but CUDA needs NVIDIA's driver.",
            subject=presence.subject(gpu),
            evidence=evidence(machine, (f"{name}[{gpu.key}].driver", "nvidia_driver.module_on_disk")),
            remedies=(_keep_out(machine),) if installed and flavour else commands.nvidia_driver(machine, flavour),
            verify=("nvidia-smi", "-L"),
        )
