"""AMD's driver: KFD's topology, the DRM cards with their files, ROCm below /opt, amd-smi."""

from __future__ import annotations

import json

from tests.fakenode import stand_in
from tests.fakenode.layout_pci import path
from tests.fakenode.machine import Command, Gpu, Machine
from tests.fakenode.tree import Tree

_TOPOLOGY = "sys/class/kfd/kfd/topology"
_SPLITS = {"SPX": 1, "DPX": 2, "QPX": 4, "CPX": 8}
_XGMI, _PCIE = 11, 2
_LIBRARIES = ("libamdhip64.so.6", "libhsa-runtime64.so.1", "librocblas.so.4", "libhipblaslt.so.0", "librccl.so.1")
_FIRST_RENDER = 128


def write(machine: Machine, tree: Tree) -> None:
    for version in machine.rocm:
        _rocm(tree, version)
    if machine.rocm:
        tree.link("opt/rocm", f"rocm-{machine.rocm[-1]}")
        tree.write("etc/ld.so.conf.d/rocm.conf", "/opt/rocm/lib\n")
    for version in machine.cuda:
        tree.write(f"usr/local/cuda-{version}/version.json", json.dumps(_cuda(version)))
        tree.write(f"usr/local/cuda-{version}/bin/nvcc", "", 0o755)
    if machine.cuda:
        tree.link("usr/local/cuda", f"cuda-{machine.cuda[-1]}")
    cards = [g for g in machine.of("amd") if g.driver == "amdgpu"]
    if "amdgpu" not in machine.modules or not cards:
        return
    minors = iter(range(_FIRST_RENDER, _FIRST_RENDER + 256))
    parts = [(gpu, [next(minors) for _ in range(parts_of(gpu))]) for gpu in cards]
    for number, (gpu, render) in enumerate(parts):
        _card(tree, gpu, number, render)
    _kfd(machine, tree, [(gpu, render) for gpu, render in parts if gpu.in_kfd])
    if machine.rocm and "amd-smi" not in machine.commands:
        machine.commands["amd-smi"] = _amd_smi(machine, cards)


def parts_of(gpu: Gpu) -> int:
    """Partitions of a GPU in its mode; six of an MI300A in CPX."""
    return min(_SPLITS[gpu.partition], gpu.board.xccs)


def _rocm(tree: Tree, version: str) -> None:
    tree.write(f"opt/rocm-{version}/.info/version", f"{version}-83\n")
    for library in _LIBRARIES:
        tree.write(f"opt/rocm-{version}/lib/{library}", stand_in.empty_library(library.split(".")[0]), 0o755)
    tree.write(f"opt/rocm-{version}/bin/hipcc", "#!/bin/sh\nexit 1\n", 0o755)


def _cuda(version: str) -> dict[str, dict[str, str]]:
    return {"cuda": {"name": "CUDA SDK", "version": f"{version}.0" if version.count(".") < 2 else version}}


def _card(tree: Tree, gpu: Gpu, number: int, render: list[int]) -> None:
    place, board = path(gpu), gpu.board
    files: dict[str, object] = {
        "mem_info_vram_total": board.memory,
        "mem_info_vram_used": 300 << 20,
        "mem_info_vis_vram_total": board.memory,
        "mem_info_gtt_total": 264 << 30 if board.datacenter else 32 << 30,
        "vbios_version": "113-M3000100-102",
        "power_dpm_force_performance_level": "auto",
    }
    if board.datacenter:
        files |= {"unique_id": f"{0xABCD0000 + gpu.number:016x}", "ras/umc_err_count": "ue: 0\nce: 0"}
    if board.xccs > 1:
        files |= {"current_compute_partition": gpu.partition, "current_memory_partition": "NPS1"}
    tree.write_all(place, {k: v for k, v in files.items() if k not in gpu.sysfs})
    names = [f"card{number}", f"renderD{render[0]}"]
    for name in names:
        tree.join(f"{place}/drm/{name}/device", place)
        tree.join(f"sys/class/drm/{name}", f"{place}/drm/{name}")
    for extra in render[1:]:  # partitions hang on platform devices of their own
        platform = f"sys/devices/platform/amdgpu_xcp_{extra - _FIRST_RENDER}"
        tree.join(f"{platform}/drm/renderD{extra}/device", platform)
        tree.join(f"sys/class/drm/renderD{extra}", f"{platform}/drm/renderD{extra}")


def _kfd(machine: Machine, tree: Tree, parts: list[tuple[Gpu, list[int]]]) -> None:
    tree.write_all(_TOPOLOGY, {"generation_id": 2, "system_properties": "platform_oem 0\nplatform_id 0"})
    _node(tree, 0, {"cpu_cores_count": 96, "simd_count": 0, "gfx_target_version": 0}, 0)
    tree.write(
        f"{_TOPOLOGY}/nodes/0/mem_banks/0/properties", f"heap_type 0\nsize_in_bytes {machine.memory_kib * 1024}\n"
    )
    owners = [(gpu, split, minor) for gpu, render in parts for split, minor in enumerate(render)]
    for place, (gpu, split, minor) in enumerate(owners, 1):
        _node(tree, place, _properties(gpu, split, minor) | gpu.kfd, 1000 + place)
        memory = gpu.board.memory // parts_of(gpu)
        heap = 0 if gpu.board.integrated else 1
        bank = f"{_TOPOLOGY}/nodes/{place}/mem_banks/0/properties"
        tree.write(bank, f"heap_type {heap}\nsize_in_bytes {memory}\nflags 0\nwidth 8192\nmem_clk_max 1300\n")
        peers = [(0, _PCIE, 64_000)]
        if gpu.board.xccs > 1 and not split:
            peers += [(n, _XGMI, 64_000) for n, (other, *_) in enumerate(owners, 1) if other is not gpu]
        for number, (peer, kind, speed) in enumerate(peers):
            link = f"type {kind}\nnode_from {place}\nnode_to {peer}\nweight 20\nmax_bandwidth {speed}\nflags 1\n"
            tree.write(f"{_TOPOLOGY}/nodes/{place}/io_links/{number}/properties", link)


def _node(tree: Tree, number: int, properties: dict[str, int], gpu_id: int) -> None:
    folder = f"{_TOPOLOGY}/nodes/{number}"
    tree.write(f"{folder}/properties", "".join(f"{key} {value}\n" for key, value in properties.items()))
    tree.write_all(folder, {"gpu_id": gpu_id, "name": "ip discovery" if gpu_id else ""})


def _properties(gpu: Gpu, split: int, minor: int) -> dict[str, int]:
    board, parts = gpu.board, parts_of(gpu)
    per_unit = 4 if board.wavefront == 64 else 2
    vendor, device = (int(word, 16) for word in board.pci_id.split(":"))
    slot = int(gpu.address[8:10], 16)
    return {
        "cpu_cores_count": 0, "simd_count": board.compute_units * per_unit // parts, "mem_banks_count": 1,
        "lds_size_in_kb": 64, "wave_front_size": board.wavefront, "simd_per_cu": per_unit,
        "gfx_target_version": board.gfx_version, "vendor_id": vendor, "device_id": device,
        "location_id": gpu.bus << 8 | slot << 3 | split, "domain": 0, "drm_render_minor": minor,
        "hive_id": 0x1234 if board.xccs > 1 else 0, "num_sdma_engines": 2, "num_cp_queues": 24, "local_mem_size": 0,
        "fw_version": 177, "capability": 671588992, "sdma_fw_version": 24,
        "unique_id": 0xABCD0000 + gpu.number if board.datacenter else 0, "num_xcc": board.xccs // parts,
    }  # fmt: skip


def _amd_smi(machine: Machine, cards: list[Gpu]) -> Command:
    rows: list[dict[str, object]] = []
    for gpu in sorted(cards, key=lambda g: g.address):
        asic = {"market_name": gpu.board.name, "target_graphics_version": gpu.board.arch}
        size = {"value": gpu.board.memory >> 20, "unit": "MB"}
        rows += [{"gpu": len(rows) + n, "asic": asic, "bus": {"bdf": gpu.address}, "vram": {"size": size}}
                 for n in range(parts_of(gpu))]  # fmt: skip
    answers = {"static --json": json.dumps({"gpu_data": rows}, indent=1) + "\n"}
    answers["version --json"] = json.dumps([{"tool": "AMDSMI Tool", "version": "25.5.1"}]) + "\n"
    return Command(answers, 1, "unknown command", f"opt/rocm-{machine.rocm[-1]}/bin")
