from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import advice as ways
from doctor.rules.lib import commands, packages, presence, run_line
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="secure-boot-blocks-module",
    severity=Severity.ERROR,
    scope=Scope.FIRMWARE,
    action=Action.RECONFIGURE,
    layer=Layer.DRIVER,
    title="Secure Boot blocks the GPU's unsigned kernel module.",
    needs=[
        {"kernel.secure_boot", "gpus"},
        {"kernel_log.events"},
        {"kernel.secure_boot", "symptom:nvidia-smi-cannot-communicate"},
        {"kernel.secure_boot", "symptom:rocm-module-not-loaded"},
        {"kernel.secure_boot", "symptom:nvidia-module-load-failed"},
    ],
    proven="synthetic",
    order=8,
    explains=("nvidia-driver-not-loaded", "amdgpu-driver-not-loaded", "torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("amd", "nvidia", "driver"),
    doc="""
## What it finds
The kernel log shows that a module's key was rejected, and no GPU driver is loaded; or Secure Boot is on, a GPU is
there, and the module that was built for it on this machine (NVIDIA's, or AMD's from DKMS) is on disk but not loaded.

## Why it matters
`modprobe` fails with "Key was rejected by service", and the GPU is missing after every boot.

## Not raised when
- The GPU's driver is loaded, its tool lists the GPU, or Secure Boot is known to be off.
- The rejected module is not a GPU module (vboxdrv, v4l2loopback).
- Secure Boot is on, and there is no module on disk (the driver is just not installed).

## How to confirm
`mokutil --sb-state`, and `journalctl -k --grep 'rejected'`.

## Fix
Enrol the key that signs the modules built here, then confirm it at the console on the next boot; or disable Secure
Boot in the firmware.

## Fix safety
Needs someone at the console during the reboot.

## References
https://wiki.ubuntu.com/UEFI/SecureBoot ; https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
""",
)
_KEYS = {
    "ubuntu": "/var/lib/shim-signed/mok/MOK.der",
    **dict.fromkeys(("debian", "rhel", "rocky", "almalinux", "centos", "ol", "arch"), "/var/lib/dkms/mok.pub"),
    "fedora": "/etc/pki/akmods/certs/public_key.der",
}
"""Where the distribution's module builder keeps the key that it signs with."""


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Enrol the key that locally built modules are signed with; or do without Secure Boot."""
    known = _KEYS.get(machine.os.id or "") if packages.host_family(machine) else None
    where = "" if known else " (MOK.der: the key's file)"
    return (
        ways.way(
            "Enrol the key that signs this machine's kernel modules.",
            Scope.FIRMWARE,
            ways.step(f"Import the key{where}; choose a one-time password.", "mokutil", "--import", known or "MOK.der"),
            ways.step("Reboot.", "systemctl", "reboot"),
            ways.step("At the console, choose `Enroll MOK`, `Continue`, and type that password."),
            root=True,
            reboot=True,
            risk="needs someone at the console during the boot",
            keeps=("Secure Boot",),
            undo=(ways.step("Remove the key again.", "mokutil", "--delete", known or "MOK.der"),),
        ),
        ways.way(
            "Disable Secure Boot in the firmware settings.",
            Scope.FIRMWARE,
            reboot=True,
            risk="unsigned kernels and modules can load; BitLocker on the same machine asks for its recovery key",
            undo=(ways.step("Enable it again in the firmware settings."),),
        ),
    )


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
        yield from _suspected(machine, kb)
        return
    log = tuple(Evidence(text=e.text, source=machine.source("kernel_log.events")) for e in refused[:2])
    module = blocked or "the GPU's kernel module"
    yield Finding(
        severity=Severity.ERROR,
        summary=f"Secure Boot blocks {module}: no trusted key signed it."
        if refused
        else f"Secure Boot most likely blocks {module}: it is on disk but not loaded.",
        subject=Subject(kind="driver", id=blocked or "-"),
        evidence=evidence(machine, ("kernel.secure_boot", _FACT_OF.get(module, "kernel.release"))) + log,
        remedies=advice(machine, kb),
        verify=("mokutil", "--sb-state"),
    )


_FACT_OF = {"nvidia": "nvidia_driver.module_on_disk", "amdgpu": "amdgpu_driver.source"}


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
)
"""What programs and people say where a GPU's module is not loaded."""


def _suspected(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """Secure Boot is on and a tool finds no module: the text does not show why it is not loaded."""
    absent = machine.symptom(*_ABSENT)
    if machine.kernel.secure_boot and absent:
        yield Finding(
            severity=Severity.WARNING,
            basis="both",
            summary="Secure Boot most likely blocks the GPU's kernel module: it is not loaded.",
            subject=Subject(kind="driver", id="-"),
            evidence=evidence(machine, ("kernel.secure_boot", f"symptom:{absent.key}")),
            remedies=advice(machine, kb),
            verify=("mokutil", "--sb-state"),
        )


def _on_disk(machine: Snapshot, nvidia: bool, amd: bool) -> str | None:
    """The module that was built here and is not loaded."""
    if nvidia and machine.nvidia_driver.loaded is False and machine.nvidia_driver.module_on_disk:
        return "nvidia"
    if amd and machine.amdgpu_driver.loaded is False and machine.amdgpu_driver.source == "dkms":
        return "amdgpu"
    return None
