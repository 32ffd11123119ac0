"""The boards that a node can hold, taken from the program's own tables: PCI id, name, architecture, memory.

>>> board("h100").arch, board("mi300x").arch, board("rx7900xtx").pci_id
('sm_90', 'gfx942', '1002:744c')
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from doctor.knowledge import Knowledge
from doctor.knowledge.catalogue import table

_NVIDIA = {
    "h100": "10de:2330",
    "h200": "10de:2335",
    "a100": "10de:20b2",
    "a10": "10de:2236",
    "gh200": "10de:2342",
    "b200": "10de:2901",
    "rtx5090": "10de:2b85",
    "rtx4090": "10de:2684",
    "gtx1080": "10de:1b80",
    "p100": "10de:15f8",
}
_MEMORY_GB = {"gtx1080": 8}
"""Of boards that the tables give no memory of."""
_XCCS = {"mi300a": 6, "mi300x": 8, "mi325x": 8, "mi350x": 8, "mi355x": 8}
"""Compute dies that CPX makes partitions of (linux drivers/gpu/drm/amd/amdgpu/aqua_vanjaram.c)."""
_NVSWITCHES = {"a100": ("10de:1af1", 6), "h100": ("10de:22a3", 4), "h200": ("10de:22a3", 4)}
"""PCI id and number in a server of eight."""
_NVLINKS = {"a100": 12, "h100": 18, "h200": 18, "b200": 18}
_INTEGRATED_MEMORY_GIB = 0.5
"""What firmware carves out for an integrated GPU unless it is told otherwise."""


@dataclass(frozen=True)
class Board:
    """One product. Memory in bytes; `arch` is `sm_90` or `gfx942`."""

    key: str
    vendor: str
    pci_id: str
    name: str
    arch: str
    memory: int
    integrated: bool = False
    datacenter: bool = True
    compute_units: int = 0
    wavefront: int = 32
    xccs: int = 1
    nvlinks: int = 0
    nvswitch: tuple[str, int] | None = None

    @property
    def pci_class(self) -> str:
        """0x030000 for what can drive a screen."""
        if not self.datacenter:
            return "0x030000"
        return "0x030200" if self.vendor == "nvidia" else "0x120000"

    @property
    def gfx_version(self) -> int:
        """90402 of gfx942, as KFD writes it."""
        digits = self.arch.removeprefix("gfx")
        return int(digits[:-2]) * 10000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)


@lru_cache(maxsize=64)
def board(key: str) -> Board:
    """By the short name of an NVIDIA board above, or by AMD's id in the tables. KeyError for another."""
    return _nvidia(key) if key in _NVIDIA else _amd(key)


def _nvidia(key: str) -> Board:
    known = Knowledge().nvidia_gpu(_NVIDIA[key])
    assert known is not None, key
    products = [p for p in table("nvidia_products").values() if known.id in p.get("pci_ids", ())]
    names = [*products[0].get("nvml_names", ()), f"NVIDIA {known.name}"] if products else [f"NVIDIA {known.name}"]
    return Board(
        key, "nvidia", known.id, names[0], known.arch, int((known.memory_gb or _MEMORY_GB[key]) * (1 << 30)),
        datacenter=known.gpu_class != "geforce", nvlinks=_NVLINKS.get(key, 0), nvswitch=_NVSWITCHES.get(key),
    )  # fmt: skip


def _amd(key: str) -> Board:
    row = table("amd_gpus")[key]
    integrated = row["gpu_class"] == "apu"
    return Board(
        key, "amd", next(p["id"] for p in row["pci"] if not p.get("virtual_function")), row["names"][0],
        row["gfx"].split(":")[0], int((row.get("memory_gib") or _INTEGRATED_MEMORY_GIB) * (1 << 30)),
        integrated=integrated, datacenter=row["gpu_class"] == "instinct", compute_units=row.get("compute_units") or 12,
        wavefront=row.get("wavefront") or 32, xccs=_XCCS.get(key, 1),
    )  # fmt: skip
