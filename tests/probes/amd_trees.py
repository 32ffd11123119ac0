"""Trees of AMD machines, written by code: what their kernels show under sys."""

from __future__ import annotations

from pathlib import Path

from doctor.facts import FactSheet, Snapshot, assemble
from doctor.probes.amd import amd
from doctor.probes.host import pci
from doctor.system.tree import TreeSystem


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def link(root: Path, path: str, target: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).symlink_to(target)


def pci_device(root: Path, place: str, driver: str | None = None, **files: str) -> None:
    """`place` is the path under sys/devices, bridges included."""
    address = place.rpartition("/")[2]
    write(root, {f"sys/devices/{place}/{name}": f"{text}\n" for name, text in files.items()})
    link(root, f"sys/bus/pci/devices/{address}", f"../../../devices/{place}")
    if driver:
        (root / f"sys/bus/pci/drivers/{driver}").mkdir(parents=True, exist_ok=True)
        link(root, f"sys/devices/{place}/driver", "../" * (place.count("/") + 2) + f"bus/pci/drivers/{driver}")


def kfd_node(root: Path, number: int, banks: tuple[tuple[int, int], ...] = (), **numbers: int) -> None:
    """`banks` are pairs of heap type and bytes."""
    folder = f"sys/class/kfd/kfd/topology/nodes/{number}"
    text = "".join(f"{key} {value}\n" for key, value in numbers.items())
    write(root, {f"{folder}/properties": text, f"{folder}/gpu_id": f"{number * 1000}\n"})
    for place, (heap, size) in enumerate(banks):
        write(root, {f"{folder}/mem_banks/{place}/properties": f"heap_type {heap}\nsize_in_bytes {size}\n"})


def mi300x(root: Path, *buses: int) -> None:
    """One CPU node and an MI300X in SPX on each bus, under a bridge of its own, joined by xGMI."""
    kfd_node(root, 0, cpu_cores_count=96, simd_count=0)
    write(root, {"sys/module/amdgpu/version": "6.10.5\n", "sys/module/amdgpu/parameters/noretry": "-1\n"})
    for place, bus in enumerate(buses):
        address = f"0000:{bus:02x}:00.0"
        pci_device(
            root,
            f"pci0000:{bus - 1:02x}/0000:{bus - 1:02x}:01.1/{address}",
            "amdgpu",
            **{"class": "0x120000", "vendor": "0x1002", "device": "0x74a1", "numa_node": "0", "revision": "0x00"},
            current_link_speed="32.0 GT/s PCIe",
            current_link_width="16",
            mem_info_vram_total="206141652992",
            current_compute_partition="SPX",
            uevent=f"DRIVER=amdgpu\nPCI_SLOT_NAME={address}",
        )
        link(root, f"sys/class/drm/card{place}/device", f"../../../bus/pci/devices/{address}")
        kfd_node(
            root,
            place + 1,
            ((1, 206141652992),),
            simd_count=1216,
            simd_per_cu=4,
            gfx_target_version=90402,
            vendor_id=4098,
            device_id=0x74A1,
            location_id=bus << 8,
            domain=0,
            drm_render_minor=128 + place,
            num_xcc=8,
            local_mem_size=0,
            unique_id=1000 + place,
        )
        for index, peer in enumerate(n for n in range(len(buses)) if n != place):
            folder = f"sys/class/kfd/kfd/topology/nodes/{place + 1}/io_links/{index}"
            write(root, {f"{folder}/properties": f"type 11\nnode_from {place + 1}\nnode_to {peer + 1}\n"})


def look(root: Path) -> Snapshot:
    """The PCI and AMD probes over a tree."""
    sheets = [FactSheet(), FactSheet()]
    system = TreeSystem(root)
    pci.probe(system, sheets[0])
    amd.probe(system, sheets[1])
    return assemble(sheets)
