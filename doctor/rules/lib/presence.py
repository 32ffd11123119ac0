"""Which GPUs are surely there, and whether their driver surely is or is not: shared by the rules on drivers."""

from __future__ import annotations

from typing import Literal

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.facts.host import KernelEvent
from doctor.findings import Subject
from doctor.rules.lib import run_line

OTHER_DRIVERS = ("vfio-pci", "pci-stub", "xen-pciback", "uio_pci_generic", "radeon", "nvidiafb")
"""Modules that own a GPU and keep the compute driver from it. The boot framebuffer (simple-framebuffer, efifb) is not
one: it hands the GPU over."""
_PCI_VENDOR = {"10de": "nvidia", "1002": "amd"}


def present(machine: Snapshot, vendor: Literal["nvidia", "amd"]) -> tuple[Gpu, ...]:
    """GPUs of the vendor by any source: the merged list, else the PCI bus. () also where nothing is known."""
    known = machine.of_vendor(vendor)
    if known:
        return known
    return tuple(
        Gpu(key=d.key, vendor=vendor, pci_address=d.key, driver=d.driver, name=d.name)
        for d in machine.pci or ()
        if d.kind in ("gpu", "accelerator") and _PCI_VENDOR.get(d.vendor_id or "") == vendor
    )


def bound(gpus: tuple[Gpu, ...], module: str) -> bool:
    """Whether the module owns one of them: it is loaded then, built in or not."""
    return any(gpu.driver == module for gpu in gpus)


def takeable(gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """Those that no other driver owns (nouveau and the pass-through drivers have rules of their own)."""
    return tuple(gpu for gpu in gpus if gpu.driver not in (*OTHER_DRIVERS, "nouveau"))


def answers(machine: Snapshot, vendor: Literal["nvidia", "amd"]) -> bool:
    """Whether a pasted text shows that the vendor's tool (nvidia-smi, rocminfo) lists a GPU, which only a driver that
    works lets it do, and nothing tells that none is seen."""
    if run_line.sees_none(machine) or (vendor == "nvidia" and machine.nvidia_driver.smi_error is not None):
        return False
    return any(listed(machine, gpu) for gpu in machine.of_vendor(vendor))


def listed(machine: Snapshot, gpu: Gpu) -> bool:
    """Whether a pasted text shows that the vendor's tool lists this GPU. An agent's name alone, without what the
    runtime tells of it, may say which card it is and be of another day."""
    known: dict[str, object] = {"index.hip": gpu.index.hip} if gpu.uuid else {}
    if gpu.vendor == "nvidia":  # what no other tool shows
        known = {
            "uuid": gpu.uuid,
            "index.smi": gpu.index.smi,
            "mig_mode": gpu.mig_mode,
            "compute_mode": gpu.compute_mode,
        }
    shown = [name for name, value in known.items() if value is not None]
    return any(run_line.from_text(machine, f"gpus[{gpu.key}].{name}") for name in shown)


def work_is_of(machine: Snapshot, vendor: Literal["nvidia", "amd"]) -> bool:
    """Whether the GPUs that compute are that vendor's: its stack is what is there, and its driver has one of them. A
    card of the other vendor beside them shows a desktop."""
    module, build = ("nvidia", "cuda") if vendor == "nvidia" else ("amdgpu", "rocm")
    meant = machine.torch.build == build
    if machine.torch.build not in ("cuda", "rocm"):
        nvidia, amd = machine.nvidia_driver.version is not None, bool(machine.rocm)
        meant = nvidia != amd and (nvidia if vendor == "nvidia" else amd)
    return meant and (bound(present(machine, vendor), module) or answers(machine, vendor))


def subject(gpu: Gpu) -> Subject:
    return Subject(kind="gpu", id=gpu.pci_address or gpu.key)


def label(gpu: Gpu) -> str:
    """`NVIDIA H100 80GB HBM3 (0000:1b:00.0)`"""
    where = gpu.pci_address or gpu.key
    return f"{gpu.name} ({where})" if gpu.name else f"GPU {where}"


def count(gpus: tuple[Gpu, ...]) -> str:
    """`1 GPU`, `8 GPUs`"""
    return f"{len(gpus)} GPU" + ("s" if len(gpus) != 1 else "")


def board(machine: Snapshot, address: str) -> str | None:
    """`GPU 0000:1b:00.0, serial: 1650522003820, slot 3`, for whoever replaces it; None where neither is known.

    The colon lets the redaction see the serial number."""
    gpu = next((g for g in machine.gpus or () if address in (g.pci_address, g.key)), None)
    if gpu is None or not (gpu.serial or gpu.slot):
        return None
    serial = f", serial: {gpu.serial[:40]}" if gpu.serial else ""
    return f"GPU {address}{serial}" + (f", slot {gpu.slot[:40]}" if gpu.slot else "")


def ago(seconds: int) -> str:
    """`last 3 days ago`

    >>> ago(200), ago(7300), ago(90 * 3600)
    ('last 3 min ago', 'last 2 h ago', 'last 3 days ago')
    """
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"last {seconds // 60} min ago"
    return f"last {seconds // 3600} h ago" if seconds < 48 * 3600 else f"last {seconds // 86400} days ago"


def times(event: KernelEvent) -> str:
    """`12 times, last 3 h ago: `, or nothing if neither is known."""
    when = [f"{event.count} times"] if event.count > 1 else []
    if event.age_s is not None:
        when.append(ago(event.age_s))
    return f"{', '.join(when)}: " if when else ""
