"""Machines to plan for: what the probes would have told of them."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts.sheet import FactSheet, assemble
from doctor.facts.snapshot import Snapshot

RENDER_GID = 992


def mi300x(count: int = 3, mode: int = 0o660) -> Snapshot:
    """MI300X GPUs whose nodes belong to gid 992."""
    sheet = FactSheet()
    for number in range(count):
        address, render = f"0000:{5 + 0x20 * number:02x}:00.0", f"renderD{128 + number}"
        gpu = {"vendor": "amd", "name": "AMD Instinct MI300X", "pci_address": address, "render_node": render}
        _put(sheet, f"gpus[{address}]", {**gpu, "index.smi": number, "index.hip": number, "index.kfd": 2 + number})
        _node(sheet, f"/dev/dri/{render}", "render", mode, RENDER_GID)
    _node(sheet, "/dev/kfd", "kfd", mode, RENDER_GID)
    return assemble([sheet])


def h100(count: int = 2) -> Snapshot:
    """H100 GPUs with the usual nodes, open to all."""
    sheet = FactSheet()
    for number in range(count):
        address = f"0000:{0x1B + 0x10 * number:02x}:00.0"
        gpu = {"vendor": "nvidia", "name": "NVIDIA H100 80GB HBM3", "pci_address": address, "index.smi": number}
        _put(sheet, f"gpus[{address}]", {**gpu, "device_node": f"nvidia{number}", "uuid": f"GPU-{number}f2e"})
        _node(sheet, f"/dev/nvidia{number}", "nvidia", 0o666, 0)
    for name, kind in (("nvidiactl", "nvidiactl"), ("nvidia-uvm", "nvidia-uvm")):
        _node(sheet, f"/dev/{name}", kind, 0o666, 0)
    return assemble([sheet])


def cpx() -> Snapshot:
    """One MI300X in CPX: eight partitions, each with a render node of its own."""
    sheet = FactSheet()
    gpu = {"vendor": "amd", "name": "AMD Instinct MI300X", "pci_address": "0000:05:00.0", "index.smi": 0}
    order = {"index.kfd": 2, "index.hip": 0}
    _put(sheet, "gpus[0000:05:00.0]", {**gpu, **order, "render_node": "renderD128", "compute_partition": "CPX"})
    for number in range(8):
        base = f"gpus[0000:05:00.0].partitions[{number}]"
        _put(sheet, base, {"kind": "compute", "render_node": f"renderD{128 + number}", "kfd": 2 + number})
        _node(sheet, f"/dev/dri/renderD{128 + number}", "render", 0o660, RENDER_GID)
    _node(sheet, "/dev/kfd", "kfd", 0o660, RENDER_GID)
    return assemble([sheet])


def mig() -> Snapshot:
    """One H100 cut in two MIG instances, numbered 0 and 1, and a whole one."""
    sheet = FactSheet()
    for number in (1, 0):  # told in another order than they are numbered
        base = f"gpus[0000:1b:00.0].partitions[mig{number}]"
        _put(sheet, base, {"kind": "mig", "name": "3g.40gb", "uuid": f"MIG-{number}a"})
    return _merged(h100(), assemble([sheet]))


def _merged(whole: Snapshot, parts: Snapshot) -> Snapshot:
    cut = {gpu.key: gpu.partitions for gpu in parts.gpus or ()}
    gpus = tuple(
        gpu.model_copy(update={"partitions": cut[gpu.key]}) if gpu.key in cut else gpu for gpu in whole.gpus or ()
    )
    return whole.model_copy(update={"gpus": gpus})


def both() -> Snapshot:
    """GPUs of both vendors."""
    amd, nvidia = mi300x(1), h100(1)
    update = {"gpus": (*(amd.gpus or ()), *(nvidia.gpus or ())), "nodes": (*(amd.nodes or ()), *(nvidia.nodes or ()))}
    return amd.model_copy(update=update)


def wsl() -> Snapshot:
    """WSL 2 with Windows' GPU node; no GPU is listed."""
    sheet = FactSheet()
    sheet.put("host.wsl", True, "example")
    _node(sheet, "/dev/dxg", "dxg", 0o666, 0)
    return assemble([sheet])


def without(machine: Snapshot, paths: Sequence[str]) -> Snapshot:
    """The same, those device nodes missing."""
    kept = tuple(node for node in machine.nodes or () if node.key not in paths)
    return machine.model_copy(update={"nodes": kept})


def _node(sheet: FactSheet, path: str, kind: str, mode: int, gid: int) -> None:
    _put(sheet, f"nodes[{path}]", {"kind": kind, "mode": mode, "gid": gid, "uid": 0, "is_device": True})


def _put(sheet: FactSheet, base: str, facts: dict[str, object]) -> None:
    for name, value in facts.items():
        sheet.put(f"{base}.{name}", value, "example")
