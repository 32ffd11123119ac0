from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.facts.host import KernelEvent
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import commands, presence, run_line
from doctor.rules.lib.advice import by_hand, step, way
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="gpu-bound-to-other-driver",
    severity=Severity.ERROR,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    layer=Layer.DRIVER,
    title="Another driver is bound to the GPU.",
    needs=[{"gpus[].driver"}, {"pci"}],
    proven="replay",
    order=9,
    explains=("nvidia-driver-not-loaded", "amdgpu-driver-not-loaded", "torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("amd", "nvidia", "driver"),
    doc="""
## What it finds
An NVIDIA or AMD GPU bound to vfio-pci, pci-stub or a similar driver for a virtual machine, also by the kernel log
alone. Or an old AMD card bound to radeon. It is an error if no GPU of the vendor is left to the compute driver,
otherwise a warning.

If all GPUs of a vendor are reserved for guests, the host is a hypervisor: one finding, info unless torch or a toolkit
on the host needs them. It is also information where the text shows intent (a guest has the GPU, the compute driver
has others, and nothing lacks one), and for a display card beside a stack of the other vendor.

## Why it matters
The GPU is on the bus, but no compute runtime can see it.

## Not raised when
- nouveau is bound to it (nouveau-loaded), no driver is (…-driver-not-loaded), or the bound driver is unknown.
- Only the boot framebuffer (simple-framebuffer, efifb) uses it.

## How to confirm
`lspci -nnk` shows `Kernel driver in use: vfio-pci`.

## Fix
Remove the GPU's id from `vfio-pci.ids=` on the kernel command line (or `driverctl unset-override`), rebuild the
initramfs and reboot. For radeon: `radeon.si_support=0 radeon.cik_support=0 amdgpu.si_support=1 amdgpu.cik_support=1`;
ROCm does not support those GPUs.

## Fix safety
A virtual machine that uses the GPU loses it.

## References
https://docs.kernel.org/driver-api/vfio.html ; https://docs.kernel.org/gpu/amdgpu/module-parameters.html
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    return (_release(machine, "Return the GPU to its own driver on the host, then reboot.", None),)


def _release(machine: Snapshot, title: str, gpu: Gpu | None) -> Remedy:
    address, pci_id = (gpu.pci_address, gpu.pci_id) if gpu else (None, None)
    what = f"the id {pci_id}" if pci_id else "the GPU's id"
    return way(
        title,
        Scope.DRIVER,
        step(f"Remove {what} from `vfio-pci.ids=` (kernel command line) and from /etc/modprobe.d."),
        step(f"If driverctl reserved it: `driverctl unset-override {address or 'PCI_ADDRESS'}`."),
        commands.initramfs(machine),
        commands.REBOOT,
        root=True,
        reboot=True,
        risk="a virtual machine that uses the GPU loses it",
        undo=(step("Put the id back, rebuild the initramfs and reboot."),),
    )


_PASSED_ON = ("vfio-pci", "pci-stub", "xen-pciback")
"""Drivers that hold a device for a guest; they take none of themselves."""
_UNLISTED = "amd-gpu-unsupported-by-rocm"
"""What no ROCm has been shown yet, none can have refused."""


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """A list of the PCI bus without drivers does not decide where `Kernel driver in use:` is quoted apart from it, or
    the driver is named beside the device."""
    gpus = (*presence.present(machine, "nvidia"), *presence.present(machine, "amd"))
    quoted = any(s.key in _OWNED and _QUOTED.search(s.text) for s in machine.symptoms)
    return not gpus or not quoted or any(gpu.driver is not None for gpu in gpus)


_OWNED = ("vfio-owns-gpu", "pciback-owns-gpu", "pci-stub-owns-gpu", "radeon-module-drives-card")
_QUOTED = re.compile(r"driver in use|\bdriver[:= ] ?(?:vfio-pci|pciback|pci-stub)\b", re.IGNORECASE)


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
                yield _seen_by_nvrm(machine, gpu, *logged)
                continue
            if gpu.driver is None and _claimed(machine, gpu) and not others and run_line.sees_none(machine):
                yield _for_a_guest(machine, gpu, module, name)
                continue
            if gpu.driver not in presence.OTHER_DRIVERS:
                continue
            yield Finding(
                severity=_severity(machine, gpu, others),
                summary=f"{gpu.driver} is bound to {presence.label(gpu)}, so {module} cannot use it.",
                explains=RULE.explains if others or gpu.driver not in _PASSED_ON else (*RULE.explains, _UNLISTED),
                subject=presence.subject(gpu),
                evidence=evidence(machine, (f"{name}[{gpu.key}].driver", "kernel.cmdline")),
                remedies=_fixes(machine, gpu),
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
        summary=f"The kernel command line reserves {presence.label(gpu)} for VMs (vfio-pci.ids), not {module}.",
        subject=presence.subject(gpu),
        evidence=evidence(machine, (f"{name}[{gpu.key}].pci_id", "kernel.cmdline")),
        remedies=_fixes(machine, gpu),
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


def _seen_by_nvrm(machine: Snapshot, gpu: Gpu, driver: str, event: KernelEvent) -> Finding:
    """A warning: the log may be of a time when the GPU was meant for a guest."""
    return Finding(
        severity=Severity.INFO if presence.answers(machine, "nvidia") else Severity.WARNING,
        summary=f"{driver} is bound to {presence.label(gpu)}, so the NVIDIA driver cannot use it.",
        subject=presence.subject(gpu),
        evidence=(Evidence(text=event.text, source=machine.source("kernel_log.events")),),
        remedies=_fixes(machine, gpu),
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
    missed = run_line.sees_none(machine)
    return (others or presence.answers(machine, "nvidia")) and not missed


def _hypervisor(machine: Snapshot, gpus: tuple[Gpu, ...], module: str, name: str) -> Finding:
    """All GPUs of a vendor are held for guests, which is how a hypervisor is set up: one finding, and a warning only
    where something on the host itself wants them."""
    failed = machine.symptom(
        "nvidia-smi-cannot-communicate",
        "nvidia-smi-no-devices",
        "hip-no-device",
        "hip-no-device-code",
        "cuda-no-device",
    )
    wanted = (
        failed is not None
        or machine.torch.build in ("cuda", "rocm")
        or any(i.kind == "prefix" for i in machine.rocm or machine.cuda or ())
    )
    drivers = ", ".join(sorted({gpu.driver or "" for gpu in gpus}))
    return Finding(
        severity=Severity.WARNING if wanted else Severity.INFO,
        summary=f"{drivers} reserves all {presence.count(gpus)} for VMs, so {module} cannot use them here.",
        subject=Subject(kind="driver", id=module),
        evidence=evidence(machine, (*(f"{name}[{gpu.key}].driver" for gpu in gpus[:8]), "kernel.cmdline")),
        explains=RULE.explains if wanted else (),
        remedies=_fixes(machine, gpus[0]) if wanted else (),
        verify=("lspci", "-nnk"),
    )


def _fixes(machine: Snapshot, gpu: Gpu) -> tuple[Remedy, ...]:
    if gpu.driver == "radeon":
        text = (
            "ROCm cannot work here: it does not support GPUs of this age. Only Southern and Sea Islands (HD 7000, R5 "
            "to R9 200) can have amdgpu: boot with radeon.si_support=0 radeon.cik_support=0 amdgpu.si_support=1 "
            "amdgpu.cik_support=1."
        )
        title = "Use this GPU without ROCm, or boot with amdgpu if it can drive the card."
        return (by_hand(title, Scope.DRIVER, text, undo="Remove the arguments again.", reboot=True, root=True),)
    title = f"Return the GPU from {gpu.driver} to its own driver, then reboot."
    return (_release(machine, title, gpu),)
