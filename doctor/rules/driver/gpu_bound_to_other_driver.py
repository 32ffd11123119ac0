"""vfio-pci, radeon or another driver owns the GPU, so that its compute driver can't."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.facts.host import KernelEvent
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.knowledge import Knowledge
from doctor.rules import presence, run_line

if TYPE_CHECKING:
    from doctor.profiles import Profile

RULE = Rule(
    id="gpu-bound-to-other-driver",
    severity=Severity.ERROR,
    title="Another driver owns the GPU.",
    needs=[{"gpus[].driver"}, {"pci"}],
    proven="replay",
    order=9,
    explains=("nvidia-driver-not-loaded", "amdgpu-driver-not-loaded", "torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("amd", "nvidia", "driver"),
    doc="""
## What it finds
An NVIDIA or AMD GPU that vfio-pci, pci-stub or a like driver holds for a virtual machine, also where
the kernel log alone says so, or an old AMD
card that radeon
owns. Error where no GPU of the vendor is left to the compute driver, warning otherwise.

All GPUs of a vendor held for guests are a hypervisor: one finding, info unless torch or a
toolkit on the host wants them. A remark too where the text shows that it is meant (a guest that has the GPU, others
that the compute driver has, and nothing that misses one), and for a display's card beside a stack of the other vendor.

## Why it matters
The GPU is on the bus and no compute runtime can see it.

## Not raised when
- nouveau owns it (nouveau-loaded), no driver owns it (…-driver-not-loaded), or the bound driver is unknown.
- Only the boot framebuffer (simple-framebuffer, efifb) uses it.

## How to confirm
`lspci -nnk` shows `Kernel driver in use: vfio-pci`.

## Fix
Take the GPU's id out of `vfio-pci.ids=` on the kernel command line (or `driverctl unset-override`),
make the initramfs anew and
reboot. For radeon: `radeon.si_support=0 radeon.cik_support=0 amdgpu.si_support=1 amdgpu.cik_support=1`;
ROCm does not support
those GPUs.

## Fix safety
A virtual machine that uses the GPU loses it.

## References
https://docs.kernel.org/driver-api/vfio.html ; https://docs.kernel.org/gpu/amdgpu/module-parameters.html
""",
)
FIXES = (Fix(text="Give the GPU back to its own driver on the host, then reboot.", reboot=True),)


_PASSED_ON = ("vfio-pci", "pci-stub", "xen-pciback")
"""Drivers that hold a device for a guest; they take none of themselves."""
_UNLISTED = "amd-gpu-unsupported-by-rocm"
"""What no ROCm has been shown yet, none can have refused."""


def excludes(machine: Snapshot) -> bool:
    """Where the command line gives GPUs to guests by their ids, NVIDIA's driver has another one, and somebody says that
    it works: so it was meant."""
    if "vfio-pci.ids=10de" not in (machine.kernel.cmdline or "") or run_line.sees_none(machine):
        return False
    driven = machine.nvidia_driver.version is not None and bool(machine.of_vendor("nvidia"))
    meant = machine.symptom("guest-has-gpu-told") is not None and machine.symptom("something-works-told") is not None
    return driven and meant


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """A list of the PCI bus without drivers does not decide where `Kernel driver in use:` is quoted apart from it, or
    the driver is named beside the device."""
    gpus = (*presence.present(machine, "nvidia"), *presence.present(machine, "amd"))
    quoted = any(s.key in _OWNED and _QUOTED.search(s.text) for s in machine.symptoms)
    return not gpus or not quoted or any(gpu.driver is not None for gpu in gpus)


_OWNED = ("vfio-owns-gpu", "radeon-module-drives-card")
_QUOTED = re.compile(r"driver in use|\bdriver[:= ] ?(?:vfio-pci|pciback|pci-stub)\b", re.IGNORECASE)


def unheard(machine: Snapshot) -> bool:
    """Where each GPU that is held for a guest is meant for it."""
    gpus = (*presence.present(machine, "nvidia"), *presence.present(machine, "amd"))
    held = [gpu for gpu in gpus if gpu.driver in presence.OTHER_DRIVERS]
    others = presence.bound(gpus, "nvidia") or presence.bound(gpus, "amdgpu")
    return bool(held) and all(_meant(machine, gpu, others) for gpu in held)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    for gpus, module in ((presence.present(machine, "nvidia"), "nvidia"), (presence.present(machine, "amd"), "amdgpu")):
        name = "gpus" if machine.of_vendor("nvidia" if module == "nvidia" else "amd") else "pci"
        if len(gpus) > 1 and all(gpu.driver in _PASSED_ON for gpu in gpus):
            yield _hypervisor(machine, gpus, module, name)
            continue
        others = presence.bound(gpus, module)
        for gpu in gpus:
            logged = _logged(machine, gpu) if gpu.driver is None else None
            if logged and logged[0] in presence.OTHER_DRIVERS:
                yield _told_by_nvrm(machine, gpu, *logged)
                continue
            if gpu.driver is None and _claimed(machine, gpu) and not others and run_line.sees_none(machine):
                yield _for_a_guest(machine, gpu, module, name)
                continue
            if gpu.driver not in presence.OTHER_DRIVERS:
                continue
            yield Finding(
                severity=_severity(machine, gpu, others),
                summary=f"{gpu.driver} owns {presence.label(gpu)}; {module} can't use it.",
                explains=RULE.explains if others or gpu.driver not in _PASSED_ON else (*RULE.explains, _UNLISTED),
                subject=presence.subject(gpu),
                evidence=evidence(machine, (f"{name}[{gpu.key}].driver", "kernel.cmdline")),
                fixes=_fixes(gpu),
                verify=("lspci", "-nnk", "-s", gpu.pci_address) if gpu.pci_address else None,
            )


_IDS = re.compile(r"\bvfio-pci\.ids=([0-9a-fA-F:,]{9,400})")


def _claimed(machine: Snapshot, gpu: Gpu) -> bool:
    """Whether the command line gives devices of the GPU's id to guests."""
    found = _IDS.search(machine.kernel.cmdline or "")
    return found is not None and bool(gpu.pci_id) and (gpu.pci_id or "").lower() in found[1].lower().split(",")


def _for_a_guest(machine: Snapshot, gpu: Gpu, module: str, name: str) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        summary=f"The kernel's command line gives {presence.label(gpu)} to guests (vfio-pci.ids); {module} gets none.",
        subject=presence.subject(gpu),
        evidence=evidence(machine, (f"{name}[{gpu.key}].pci_id", "kernel.cmdline")),
        fixes=_fixes(gpu),
        verify=("lspci", "-nnk", "-s", gpu.pci_address) if gpu.pci_address else None,
    )


_BOUND = re.compile(r"is already bound to ([\w-]{2,40})")


def _logged(machine: Snapshot, gpu: Gpu) -> tuple[str, KernelEvent] | None:
    """The driver that NVIDIA's own found on a GPU (kernel-open/nvidia/nv-pci.c), and the line that says so."""
    for event in machine.kernel_log.events or ():
        found = _BOUND.search(event.text or "") if event.code == "nvidia-bound-elsewhere" else None
        if found and gpu.vendor == "nvidia" and event.device in (gpu.pci_address, gpu.key):
            return found[1], event
    return None


def _told_by_nvrm(machine: Snapshot, gpu: Gpu, driver: str, event: KernelEvent) -> Finding:
    """A warning: the log may be of a time when the GPU was meant for a guest."""
    return Finding(
        severity=Severity.INFO if presence.answers(machine, "nvidia") else Severity.WARNING,
        summary=f"{driver} owns {presence.label(gpu)}: the NVIDIA driver found it bound.",
        subject=presence.subject(gpu),
        evidence=(Evidence(text=event.text, source=machine.source("kernel_log.events")),),
        fixes=_fixes(gpu),
        verify=("lspci", "-nnk", "-s", gpu.pci_address) if gpu.pci_address else None,
    )


def _severity(machine: Snapshot, gpu: Gpu, others: bool) -> Severity:
    if presence.work_is_of(machine, "amd" if gpu.vendor == "nvidia" else "nvidia") or _meant(machine, gpu, others):
        return Severity.INFO
    return Severity.WARNING if others or gpu.driver == "radeon" else Severity.ERROR


def _meant(machine: Snapshot, gpu: Gpu, others: bool) -> bool:
    """Of a pasted text: a GPU is held for a guest, and a guest's nvidia-smi lists one, somebody tells that it is passed
    on, or the compute driver has others. Where something says that no GPU is seen, it may be held by mistake."""
    name = "gpus" if machine.of_vendor(gpu.vendor or "nvidia") else "pci"
    if gpu.driver not in _PASSED_ON or not run_line.from_text(machine, f"{name}[{gpu.key}].driver"):
        return False
    told = machine.symptom("guest-has-gpu-told", "card-passed-to-guest-told") is not None
    missed = run_line.sees_none(machine) or machine.symptom("one-gpu-of-several-told") is not None
    return (told or others or presence.answers(machine, "nvidia")) and not missed


def _hypervisor(machine: Snapshot, gpus: tuple[Gpu, ...], module: str, name: str) -> Finding:
    """All GPUs of a vendor are held for guests, which is how a hypervisor is set up: one finding, and a warning only
    where something on the host itself wants them."""
    failed = machine.symptom(
        "nvidia-smi-cannot-communicate", "nvidia-smi-no-devices", "hip-no-device", "cuda-no-device"
    )
    wanted = (
        failed is not None
        or machine.torch.build in ("cuda", "rocm")
        or any(i.kind == "prefix" for i in machine.rocm or machine.cuda or ())
    )
    drivers = ", ".join(sorted({gpu.driver or "" for gpu in gpus}))
    return Finding(
        severity=Severity.WARNING if wanted else Severity.INFO,
        summary=f"{drivers} holds all {presence.count(gpus)} for virtual machines; {module} can't use them here.",
        subject=Subject(kind="driver", id=module),
        evidence=evidence(machine, (*(f"{name}[{gpu.key}].driver" for gpu in gpus[:8]), "kernel.cmdline")),
        explains=RULE.explains if wanted else (),
        fixes=_fixes(gpus[0]) if wanted else (),
        verify=("lspci", "-nnk"),
    )


def _fixes(gpu: Gpu) -> tuple[Fix, ...]:
    if gpu.driver == "radeon":
        text = (
            "Nothing makes ROCm work here: it supports no GPU of this age. Only Southern and Sea Islands (HD 7000, R5 "
            "to R9 200) can have amdgpu: boot with radeon.si_support=0 radeon.cik_support=0 amdgpu.si_support=1 "
            "amdgpu.cik_support=1."
        )
        return (Fix(text=text, reboot=True),)
    how = "(kernel command line, modprobe.d or driverctl)"
    text = f"Take the GPU out of what binds it to {gpu.driver} {how}, then reboot."
    return (Fix(text=text, reboot=True, risk="a virtual machine that uses the GPU loses it"),)
