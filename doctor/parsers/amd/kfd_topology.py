"""Numbers of KFD nodes -> architectures, PCI addresses, memory, and which nodes are partitions of one GPU.

>>> gfx(90402), gfx(90010), gfx(110501), gfx(0)
('gfx942', 'gfx90a', 'gfx1151', None)
>>> location({"location_id": 1281, "domain": 0})
Location(domain=0, bus=5, device=0, function=1)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

VRAM_HEAPS = (1, 2)
"""Frame buffer, public and private (include/uapi/linux/kfd_sysfs.h)."""
XGMI = 11
"""`type` of an xGMI link."""

INTEGRATED = frozenset(
    [
        "gfx902",
        "gfx909",
        "gfx90c",
        "gfx1013",
        "gfx1033",
        "gfx1035",
        "gfx1036",
        "gfx1037",
        "gfx1103",
        "gfx1150",
        "gfx1151",
        "gfx1152",
        "gfx1153",
    ]
)
"""GPUs inside a CPU (drivers/gpu/drm/amd/amdkfd/kfd_device.c). Their memory banks are system memory."""


class Location(NamedTuple):
    """Where a node sits. `function` holds the partition's number where a GPU is partitioned."""

    domain: int
    bus: int
    device: int
    function: int

    def address(self, function: int | None = None) -> str:
        """`0000:c1:00.0`"""
        chosen = self.function if function is None else function
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}.{chosen}"


@dataclass(frozen=True)
class GpuNodes:
    """One GPU: its address and its nodes in order, several when it is partitioned."""

    address: str
    nodes: tuple[int, ...]


def gfx(version: int) -> str | None:
    """Target name of gfx_target_version: decimal major, hexadecimal minor and stepping; None for 0 (a CPU)."""
    if version <= 0:
        return None
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def location(properties: Mapping[str, int]) -> Location:
    """Kernels before 5.x say no domain, which is then taken as 0."""
    place = properties.get("location_id", 0)
    return Location(properties.get("domain", 0) & 0xFFFFFFFF, place >> 8 & 0xFF, place >> 3 & 0x1F, place & 7)


def is_gpu(properties: Mapping[str, int]) -> bool:
    return properties.get("simd_count", 0) > 0


def compute_units(properties: Mapping[str, int]) -> int | None:
    per_unit = properties.get("simd_per_cu", 0)
    return properties["simd_count"] // per_unit if per_unit > 0 and "simd_count" in properties else None


def vram(banks: Iterable[Mapping[str, int]]) -> int:
    """Bytes of frame buffer in a node's memory banks. `local_mem_size` is no help: newer kernels print 0 there."""
    return sum(b.get("size_in_bytes", 0) for b in banks if b.get("heap_type") in VRAM_HEAPS)


def group(nodes: Mapping[int, Mapping[str, int]], pci: Collection[str] = ()) -> tuple[GpuNodes, ...]:
    """GPUs of the GPU nodes, in KFD order. Nodes of one PCI device are partitions of one GPU, whose own function is 0,
    unless PCI lists each function as a device (virtual functions). Unique ids can't tell: since Linux 7.1 each
    partition prints its own."""
    members: dict[str, list[int]] = {}
    for number in sorted(n for n, properties in nodes.items() if is_gpu(properties)):
        place = location(nodes[number])
        own = place.address()
        members.setdefault(own if own in pci else place.address(0), []).append(number)
    return tuple(GpuNodes(address, tuple(numbers)) for address, numbers in members.items())


def memory_is_whole(partitions: int) -> bool:
    """Whether that many nodes can be all partitions of a GPU (SPX 1, DPX 2, TPX 3, QPX 4, CPX 6 or 8)."""
    return partitions in (1, 2, 3, 4, 6, 8)
