"""The PCI bus: each GPU under a root port of its own, NVSwitches, the drivers that hold them, IOMMU groups."""

from __future__ import annotations

import struct

from tests.fakenode.machine import Gpu, Machine
from tests.fakenode.tree import Tree

_SUBSYSTEM_VENDOR = {"nvidia": "0x10de", "amd": "0x1002"}
_BAR_FLAGS = 0x14220C
"""A prefetchable memory window of 64 bits."""
_EXPRESS, _POINTER = 0x10, 0x40
_MAX_READ_REQUEST, _ATOMICS_REQUESTER = 0x2910, 0x0040


def write(machine: Machine, tree: Tree) -> None:
    for group, gpu in enumerate(() if machine.wsl else machine.gpus):  # WSL's GPU is on no PCI bus
        place = path(gpu)
        bridge = place.rpartition("/")[0]
        _device(tree, bridge, _bridge() | gpu.bridge)
        _device(tree, place, _files(machine, gpu) | gpu.sysfs)
        tree.write(f"{place}/config", config_space()) if "config" not in gpu.sysfs else None
        if gpu.driver:
            _bind(tree, place, gpu.driver)
        if machine.iommu:
            tree.write(f"sys/kernel/iommu_groups/{group}/type", f"{machine.iommu}\n")
            tree.join(f"{place}/iommu_group", f"sys/kernel/iommu_groups/{group}")
    tree.folder("sys/class/iommu")
    if machine.iommu:
        tree.folder("sys/class/iommu/dmar0")
    if machine.nvswitches:
        pci_id, number = machine.nvswitches
        for switch in range(number):
            place = f"sys/devices/pci0000:f0/0000:f0:01.{switch}/0000:{0xF1 + switch:02x}:00.0"
            _device(tree, place, _identity(pci_id, "0x068000") | {"numa_node": "0", "enable": "1"})
            if "nvidia" in machine.modules:
                _bind(tree, place, "nvidia")


def path(gpu: Gpu) -> str:
    """Of its folder below sys/devices."""
    root = f"0000:{gpu.bus - 1:02x}"
    if gpu.board.integrated:
        return f"sys/devices/pci0000:00/0000:00:08.1/{gpu.address}"
    return f"sys/devices/pci{root}/{root}:01.0/{gpu.address}"


def _files(machine: Machine, gpu: Gpu) -> dict[str, str | None]:
    board = gpu.board
    link = "32.0 GT/s PCIe" if board.datacenter else "16.0 GT/s PCIe"
    names = _identity(board.pci_id, board.pci_class)
    uevent = f"DRIVER={gpu.driver}\n" if gpu.driver else ""
    vendor, device = board.pci_id.upper().split(":")
    uevent += f"PCI_CLASS={board.pci_class[2:]}\nPCI_ID={vendor}:{device}\nPCI_SLOT_NAME={gpu.address}"
    return names | {
        "revision": "0xa1" if board.vendor == "nvidia" else "0xc8" if not board.datacenter else "0x00",
        "subsystem_vendor": _SUBSYSTEM_VENDOR[board.vendor],
        "subsystem_device": "0x16c1",
        "numa_node": "0",
        "current_link_speed": link,
        "max_link_speed": link,
        "current_link_width": "16",
        "max_link_width": "16",
        "enable": "1",
        "power_state": "D0",
        "power/runtime_status": "active",
        "resource": _resource(board.memory, integrated=board.integrated),
        "uevent": uevent,
    }


def _identity(pci_id: str, pci_class: str) -> dict[str, str | None]:
    vendor, device = pci_id.split(":")
    return {"vendor": f"0x{vendor}", "device": f"0x{device}", "class": pci_class}


def _bridge() -> dict[str, str | None]:
    width = {"current_link_width": "16", "max_link_width": "16"}
    return {"vendor": "0x1022", "device": "0x14ab", "class": "0x060400", **width}


def _resource(memory: int, *, integrated: bool) -> str:
    """Two windows: the whole memory (rounded up to a power of two), and 32 MiB of registers."""
    whole = 256 << 20 if integrated else 1 << (memory - 1).bit_length()
    start = 0x20000000000
    rows = [(start, start + whole - 1, _BAR_FLAGS), (0, 0, 0), (0xE0000000, 0xE1FFFFFF, _BAR_FLAGS)]
    return "\n".join(f"0x{a:016x} 0x{b:016x} 0x{c:016x}" for a, b, c in [*rows, *[(0, 0, 0)] * 10])


def config_space(*, atomics: bool = True) -> bytes:
    """Configuration space with one capability, PCI Express, whose driver has turned atomic requests on (or not)."""
    space = bytearray(4096)
    space[0x06] = _EXPRESS  # the status register's bit for a list of capabilities
    space[0x34] = _POINTER
    space[_POINTER : _POINTER + 4] = struct.pack("<BBH", 0x10, 0, 0x0002)
    struct.pack_into("<H", space, _POINTER + 0x08, _MAX_READ_REQUEST)
    struct.pack_into("<H", space, _POINTER + 0x28, _ATOMICS_REQUESTER if atomics else 0)
    return bytes(space)


def _device(tree: Tree, place: str, files: dict[str, str | None]) -> None:
    tree.write_all(place, {name: value for name, value in files.items() if value is not None})
    tree.folder(place)
    tree.join(f"sys/bus/pci/devices/{place.rpartition('/')[2]}", place)


def _bind(tree: Tree, place: str, driver: str) -> None:
    tree.folder(f"sys/bus/pci/drivers/{driver}")
    tree.join(f"{place}/driver", f"sys/bus/pci/drivers/{driver}")
    tree.join(f"sys/bus/pci/drivers/{driver}/{place.rpartition('/')[2]}", place)
