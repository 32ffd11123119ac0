"""Healthy machines to edit: each builder returns a Snapshot, changed by dotted names.

>>> h100_host({"nvidia_driver.version": "535.54.03"}).nvidia_driver.version
'535.54.03'
>>> h100_host({"nvidia_driver.version": None}).nvidia_driver.version is None
True

None makes a fact unknown; a name that ends before a member (`gpus`, `nodes`, `kernel_log.events`) replaces or forgets
all its members; `pci[0000:41:00.0]` set to None drops that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.facts import FactSheet, Snapshot, assemble

Facts = dict[str, Any]
H100 = tuple(f"0000:{bus}:00.0" for bus in ("1b", "29", "45", "4e", "9c", "aa", "bf", "c9"))
MI300X = tuple(f"0000:{bus}:00.0" for bus in ("05", "26", "46", "65", "85", "a6", "c6", "e5"))
RX7900 = "0000:03:00.0"
RTX4090 = "0000:01:00.0"


def build(facts: Mapping[str, Any], edits: Mapping[str, Any] | None = None) -> Snapshot:
    """A Snapshot of dotted names and values, after the edits."""
    known = dict(facts)
    for name, value in (edits or {}).items():
        for held in [k for k in known if k == name or k.startswith((f"{name}.", f"{name}["))]:
            del known[held]
        if value is not None:
            known[name] = value
    sheet = FactSheet()
    symptoms = known.pop("symptoms", {})
    for name, value in known.items():
        sheet.put(name, value, "test")
    for key, text in symptoms.items():
        sheet.put(f"symptoms[{key}].text", text, "text:issue:1")
        sheet.put(f"symptoms[{key}].source", "text:issue:1", "text:issue:1")
    return assemble([sheet])


def event(code: str, device: str | None = None, text: str = "a line of the kernel log", count: int = 1) -> Facts:
    """Names of one kernel log event: `h100_host(event("xid-79", H100[0]))`."""
    name = f"kernel_log.events[{code}@{device or ''}]"
    facts: Facts = {f"{name}.code": code, f"{name}.count": count, f"{name}.text": text, f"{name}.last": "[ 812.000000]"}
    return facts | ({f"{name}.device": device} if device else {})


def h100_host(edits: Mapping[str, Any] | None = None) -> Snapshot:
    """Eight H100 SXM on Ubuntu 22.04, driver 575.57.08 open, fabric manager up, torch 2.7 for CUDA 12.8."""
    return build(_h100(), edits)


def h100_container(edits: Mapping[str, Any] | None = None) -> Snapshot:
    """A Docker container on that host, with all of its GPUs passed."""
    return build(_h100() | _docker() | {"nvidia_driver.fabric_manager.installed": False}, edits)


def rtx4090_desktop(edits: Mapping[str, Any] | None = None) -> Snapshot:
    """One RTX 4090 on Fedora 42, driver 575.57.08 proprietary."""
    facts = _linux("fedora", "42", "6.14.9-300.fc42.x86_64") | _nvidia("proprietary")
    facts |= _nvidia_gpu(0, RTX4090, "NVIDIA GeForce RTX 4090", "10de:2684", "sm_89", 24 << 30)
    return build(facts, edits)


def mi300x_host(edits: Mapping[str, Any] | None = None) -> Snapshot:
    """Eight MI300X on Ubuntu 22.04, amdgpu from DKMS, ROCm 6.4.1, torch 2.7 for ROCm 6.3."""
    return build(_mi300x(), edits)


def mi300x_container(edits: Mapping[str, Any] | None = None) -> Snapshot:
    """A Docker container on that host, with /dev/kfd and /dev/dri passed."""
    return build(_mi300x() | _docker(), edits)


def rx7900_desktop(edits: Mapping[str, Any] | None = None) -> Snapshot:
    """One RX 7900 XTX on Fedora 42, the kernel's own amdgpu, ROCm 6.3.1."""
    return build(_rx7900(), edits)


def rx7900_container(edits: Mapping[str, Any] | None = None) -> Snapshot:
    """A Docker container on that desktop, with /dev/kfd and /dev/dri passed."""
    return build(_rx7900() | _docker(), edits)


def no_gpu_host(edits: Mapping[str, Any] | None = None) -> Snapshot:
    """An Ubuntu 22.04 server known to have no GPU and no GPU driver."""
    absent = {
        "gpus": [], "pci": [], "nodes": [], "nvidia_driver.loaded": False, "amdgpu_driver.loaded": False,
        "amdgpu_driver.source": "absent", "kfd.present": False,
    }  # fmt: skip
    return build(_linux("ubuntu", "22.04", "5.15.0-141-generic") | absent, edits)


def _linux(os_id: str, version: str, kernel: str) -> Facts:
    return {
        "os.id": os_id, "os.version": version, "os.id_like": "debian" if os_id == "ubuntu" else "fedora",
        "kernel.release": kernel, "kernel.cmdline": "ro quiet", "kernel.secure_boot": False, "kernel.lockdown": "none",
        "kernel.modules": ["ext4"], "kernel_log.readable": True, "kernel_log.events": [],
        "host.machine": "x86_64", "host.virtual_machine": False, "host.wsl": False,
        "container.inside": False, "account.uid": 1000, "account.gid": 1000, "account.gids": [1000],
        "environment": {"PATH": "/usr/bin:/bin"}, "nodes": [],
    }  # fmt: skip


def _docker() -> Facts:
    return {"container.inside": True, "container.engine": "docker"}


def _torch(version: str, build_: str, toolkit: str, arch_list: list[str]) -> Facts:
    name = "cuda" if build_ == "cuda" else "hip"
    return {
        "torch.installed": True, "torch.version": version, "torch.build": build_, f"torch.{name}": toolkit,
        "torch.arch_list": arch_list,
    }  # fmt: skip


def _node(path: str, kind: str, major: int, minor: int, mode: int = 0o666, group: str = "root") -> Facts:
    name = f"nodes[{path}]"
    return {
        f"{name}.kind": kind, f"{name}.is_device": True, f"{name}.major": major, f"{name}.minor": minor,
        f"{name}.mode": mode, f"{name}.uid": 0, f"{name}.gid": 0 if group == "root" else 109, f"{name}.group": group,
        f"{name}.openable": True,
    }  # fmt: skip


def _nvidia(flavour: str) -> Facts:
    facts: Facts = {
        "kernel.modules": ["ext4", "nvidia", "nvidia_modeset", "nvidia_uvm"], "nvidia_driver.loaded": True,
        "nvidia_driver.version": "575.57.08", "nvidia_driver.flavour": flavour, "nvidia_driver.cuda_version": "12.9",
        "nvidia_driver.user_version": "575.57.08", "nvidia_driver.module_on_disk": "575.57.08",
        "nvidia_driver.uvm_loaded": True, "nvidia_driver.modeset_loaded": True, "amdgpu_driver.loaded": False,
        "nvidia_driver.fabric_manager.installed": False, "nvidia_driver.fabric_manager.running": False,
    }  # fmt: skip
    facts |= _node("/dev/nvidiactl", "nvidiactl", 195, 255) | _node("/dev/nvidia-uvm", "nvidia-uvm", 507, 0)
    return facts | _torch("2.7.0+cu128", "cuda", "12.8", ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"])


def _nvidia_gpu(number: int, address: str, name: str, pci_id: str, arch: str, memory: int) -> Facts:
    gpu = f"gpus[{address}]"
    return {
        f"{gpu}.vendor": "nvidia", f"{gpu}.name": name, f"{gpu}.arch": arch, f"{gpu}.pci_address": address,
        f"{gpu}.pci_id": pci_id, f"{gpu}.memory_bytes": memory, f"{gpu}.driver": "nvidia", f"{gpu}.minor": number,
        f"{gpu}.device_node": f"nvidia{number}", f"{gpu}.index.smi": number, f"{gpu}.index.cuda": number,
        f"{gpu}.index.pci": number, f"{gpu}.errors.uncorrected": 0, f"{gpu}.errors.remap_pending": False,
        f"{gpu}.errors.remap_failed": False, f"{gpu}.errors.retired_pending": False,
    } | _pci(address, pci_id, "nvidia") | _node(f"/dev/nvidia{number}", "nvidia", 195, number)  # fmt: skip


def _pci(address: str, pci_id: str, driver: str, kind: str = "gpu") -> Facts:
    vendor, device = pci_id.split(":")
    return {
        f"pci[{address}].kind": kind, f"pci[{address}].vendor_id": vendor, f"pci[{address}].device_id": device,
        f"pci[{address}].driver": driver,
    }  # fmt: skip


def _h100() -> Facts:
    facts = _linux("ubuntu", "22.04", "5.15.0-141-generic") | _nvidia("open")
    facts |= {
        "nvidia_driver.fabric_manager.installed": True, "nvidia_driver.fabric_manager.running": True,
        "nvidia_driver.fabric_manager.version": "575.57.08", "host.memory_bytes": 2 << 40,
    }  # fmt: skip
    for number, address in enumerate(H100):
        facts |= _nvidia_gpu(number, address, "NVIDIA H100 80GB HBM3", "10de:2330", "sm_90", 80 << 30)
        facts[f"gpus[{address}].fabric_state"] = "completed"
    for bus in ("07", "08", "09", "0a"):
        facts |= _pci(f"0000:{bus}:00.0", "10de:22a3", "nvidia-nvswitch", "nvswitch")
    return facts


def _amd_gpu(number: int, address: str, name: str, pci_id: str, arch: str, memory: int) -> Facts:
    gpu = f"gpus[{address}]"
    kfd = f"kfd.nodes[{number + 1}]"
    return {
        f"{gpu}.vendor": "amd", f"{gpu}.name": name, f"{gpu}.arch": arch, f"{gpu}.pci_address": address,
        f"{gpu}.pci_id": pci_id, f"{gpu}.memory_bytes": memory, f"{gpu}.driver": "amdgpu", f"{gpu}.integrated": False,
        f"{gpu}.render_node": f"renderD{128 + number}", f"{gpu}.card_node": f"card{number}",
        f"{gpu}.index.smi": number, f"{gpu}.index.hip": number, f"{gpu}.index.kfd": number + 1,
        f"{gpu}.index.pci": number, f"{gpu}.errors.uncorrected": 0, f"{gpu}.errors.bad_pages": 0,
        f"{kfd}.node": number + 1, f"{kfd}.gfx": arch, f"{kfd}.pci_address": address, f"{kfd}.readable": True,
        f"{kfd}.render_minor": 128 + number, f"{kfd}.simd_count": 4,
    } | _pci(address, pci_id, "amdgpu") | _node(f"/dev/dri/renderD{128 + number}", "render", 226, 128 + number,
                                               0o660, "render")  # fmt: skip


def _amd(rocm: str) -> Facts:
    facts: Facts = {
        "amdgpu_driver.loaded": True, "nvidia_driver.loaded": False, "kfd.present": True,
        "kfd.nodes[0].node": 0, "kfd.nodes[0].cpu_cores": 64, "kfd.nodes[0].simd_count": 0,
        f"rocm[/opt/rocm-{rocm}].path": f"/opt/rocm-{rocm}", f"rocm[/opt/rocm-{rocm}].version": rocm,
        "account.groups": {"render": 109, "video": 44}, "account.gids": [1000, 109, 44],
        "account.member_of": ["render", "video"],
    }  # fmt: skip
    return facts | _node("/dev/kfd", "kfd", 511, 0, 0o660, "render")


def _mi300x() -> Facts:
    facts = _linux("ubuntu", "22.04", "5.15.0-141-generic") | _amd("6.4.1")
    facts |= {
        "amdgpu_driver.source": "dkms", "amdgpu_driver.version": "6.12.12", "kernel.modules": ["amdgpu", "ext4"],
        "host.numa_balancing": 0, "host.memory_bytes": 2 << 40,
    }  # fmt: skip
    for number, address in enumerate(MI300X):
        facts |= _amd_gpu(number, address, "AMD Instinct MI300X", "1002:74a1", "gfx942", 192 << 30)
    return facts | _torch("2.7.0+rocm6.3", "rocm", "6.3.42134", ["gfx90a", "gfx942", "gfx1100"])


def _rx7900() -> Facts:
    facts = _linux("fedora", "42", "6.14.9-300.fc42.x86_64") | _amd("6.3.1")
    facts |= {"amdgpu_driver.source": "in-tree", "kernel.modules": ["amdgpu", "ext4"]}
    facts |= _amd_gpu(0, RX7900, "AMD Radeon RX 7900 XTX", "1002:744c", "gfx1100", 24 << 30)
    facts[f"gpus[{RX7900}].revision"] = "c8"
    return facts | _torch("2.7.0+rocm6.3", "rocm", "6.3.42134", ["gfx90a", "gfx942", "gfx1100"])
