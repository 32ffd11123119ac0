"""Secure Boot refuses the GPU's kernel module, since no key that the firmware trusts has signed it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.knowledge import Knowledge
from doctor.rules import commands, presence, run_line

if TYPE_CHECKING:
    from doctor.profiles import Profile

RULE = Rule(
    id="secure-boot-blocks-module",
    severity=Severity.ERROR,
    title="Secure Boot refuses the unsigned kernel module.",
    needs=[
        {"kernel.secure_boot", "gpus"},
        {"kernel_log.events"},
        {"kernel.secure_boot", "symptom:nvidia-smi-cannot-communicate"},
        {"kernel.secure_boot", "symptom:rocm-module-not-loaded"},
        {"kernel.secure_boot", "symptom:nvidia-module-load-failed"},
        {"kernel.secure_boot", "symptom:gpu-module-not-loading-told"},
    ],
    proven="synthetic",
    order=8,
    explains=("nvidia-driver-not-loaded", "amdgpu-driver-not-loaded", "torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("amd", "nvidia", "driver"),
    doc="""
## What it finds
The kernel log says that a module's key was rejected, and no GPU driver is loaded; or Secure Boot is on,
a GPU is there, and
the module that was built for it on this machine (NVIDIA's, or AMD's from DKMS) is on disk and not loaded.

## Why it matters
`modprobe` fails with "Key was rejected by service", and every boot ends without a GPU.

## Not raised when
- The GPU's driver is loaded, its tool lists the GPU, or Secure Boot is known to be off.
- The module that is refused is another one by its name (vboxdrv, v4l2loopback).
- Secure Boot is on, and there is no module on disk (the driver is just not installed).

## How to confirm
`mokutil --sb-state`, and `journalctl -k --grep 'rejected'`.

## Fix
Enrol the key that signs the modules built here, then confirm it at the console on the next boot; or
turn Secure Boot off in
the firmware.

## Fix safety
Needs someone at the console during the reboot.

## References
https://wiki.ubuntu.com/UEFI/SecureBoot ; https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
""",
)
FIXES = (
    Fix(
        text="Enrol the key that signs locally built modules (mokutil --import), then confirm it at the next boot.",
        reboot=True,
        risk="needs someone at the console",
    ),
)


def excludes(machine: Snapshot) -> bool:
    """Where it is said that the same happens without Secure Boot, and no program prints that a key is refused."""
    printed = machine.symptom("module-key-rejected", "lockdown-refuses-module")
    return bool(machine.symptom("secure-boot-makes-no-difference-told") and not printed)


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """That Secure Boot is on and which GPUs there are says nothing of a module that was refused."""
    modules = (machine.nvidia_driver.loaded, machine.amdgpu_driver.loaded)
    if machine.kernel.secure_boot is False or any(loaded is not None for loaded in modules):
        return True
    nvidia, amd = presence.present(machine, "nvidia"), presence.present(machine, "amd")
    return _works(machine, nvidia, "nvidia") or _works(machine, amd, "amdgpu")


_REFUSED = ("module-key-rejected", "module-lockdown")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    if machine.kernel.secure_boot is False or commands.in_wsl(machine):
        return
    nvidia, amd = presence.present(machine, "nvidia"), presence.present(machine, "amd")
    driven = [
        (nvidia, machine.nvidia_driver.loaded is True or _works(machine, nvidia, "nvidia")),
        (amd, machine.amdgpu_driver.loaded is True or _works(machine, amd, "amdgpu")),
    ]
    there = [works for gpus, works in driven if gpus] or [works for _, works in driven if works]
    refused = [e for e in machine.kernel_log.events or () if e.code in _REFUSED]
    if there and all(there):
        return
    blocked = _on_disk(machine, bool(nvidia), bool(amd))
    if not refused and not (machine.kernel.secure_boot and blocked):
        yield from _suspected(machine)
        return
    log = tuple(Evidence(text=e.text, source=machine.source("kernel_log.events")) for e in refused[:2])
    module = blocked or "the GPU's kernel module"
    yield Finding(
        severity=Severity.ERROR,
        summary=f"Secure Boot refuses {module}: no trusted key has signed it."
        if refused
        else f"Secure Boot is on and {module} is on disk but not loaded: most likely its key is refused.",
        subject=Subject(kind="driver", id=blocked or "-"),
        evidence=evidence(machine, ("kernel.secure_boot", "nvidia_driver.module_on_disk", "amdgpu_driver.source"))
        + log,
        fixes=_fixes(machine),
        verify=("mokutil", "--sb-state"),
    )


def _works(machine: Snapshot, gpus: tuple[Gpu, ...], module: str) -> bool:
    """Whether the module has one of the GPUs, by the bus or since its tool lists one. A tool's bare list of names is
    enough where no line names the GPU's own module: the kernel refuses a webcam's too."""
    if presence.bound(gpus, module) or presence.answers(machine, "nvidia" if module == "nvidia" else "amd"):
        return True
    named = any(run_line.from_text(machine, f"gpus[{gpu.key}].index.hip") for gpu in gpus)
    absent = (s.text for s in machine.symptoms if s.key in (*_ABSENT, "modprobe-not-permitted"))
    return named and not any(re.search(r"nvidia|amdgpu|rock module", text, re.IGNORECASE) for text in absent)


_ABSENT = (
    "lockdown-refuses-module",
    "module-key-rejected",
    "nvidia-smi-cannot-communicate",
    "rocm-module-not-loaded",
    "nvidia-module-load-failed",
    "gpu-module-not-loading-told",
    "amdgpu-not-bound-told",
)
"""What programs and people say where a GPU's module is not loaded."""


def _suspected(machine: Snapshot) -> Iterator[Finding]:
    """Secure Boot is on and a tool finds no module: the text does not show why it is not loaded."""
    absent = machine.symptom(*_ABSENT)
    if machine.kernel.secure_boot and absent and not excludes(machine):
        yield Finding(
            severity=Severity.WARNING,
            basis="both",
            summary="Secure Boot is on and the GPU's module is not loaded: most likely its key is refused.",
            subject=Subject(kind="driver", id="-"),
            evidence=evidence(machine, ("kernel.secure_boot", f"symptom:{absent.key}")),
            fixes=_fixes(machine),
            verify=("mokutil", "--sb-state"),
        )


def _on_disk(machine: Snapshot, nvidia: bool, amd: bool) -> str | None:
    """The module that was built here and is not loaded."""
    if nvidia and machine.nvidia_driver.loaded is False and machine.nvidia_driver.module_on_disk:
        return "nvidia"
    if amd and machine.amdgpu_driver.loaded is False and machine.amdgpu_driver.source == "dkms":
        return "amdgpu"
    return None


def _fixes(machine: Snapshot) -> tuple[Fix, ...]:
    """The key that the distribution's DKMS signs with, where its place is known."""
    keys = {"ubuntu": "/var/lib/shim-signed/mok/MOK.der", "fedora": "/etc/pki/akmods/certs/public_key.der"}
    key = keys.get(machine.os.id or "")
    if key is None or commands.host_family(machine) is None:
        return FIXES
    return (FIXES[0].model_copy(update={"command": ("mokutil", "--import", key), "root": True}),)
