"""Machines with one kind of board each, made by hand: what their PCI bus shows, and what their tools call them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from doctor.facts import FactSheet, Snapshot, assemble


class Board(NamedTuple):
    vendor: str
    pci_id: str
    arch: str
    name: str
    revision: str = "00"
    integrated: bool = False


BOARDS: Mapping[str, Board] = {
    "mi210": Board("amd", "1002:740f", "gfx90a", "AMD Instinct MI210"),
    "mi250": Board("amd", "1002:740c", "gfx90a", "AMD Instinct MI250X"),
    "mi300x": Board("amd", "1002:74a1", "gfx942", "AMD Instinct MI300X"),
    "mi325x": Board("amd", "1002:74a5", "gfx942", "AMD Instinct MI325X"),
    "mi350x": Board("amd", "1002:75a0", "gfx950", "AMD Instinct MI350X"),
    "mi355x": Board("amd", "1002:75a3", "gfx950", "AMD Instinct MI355X"),
    "rx7900": Board("amd", "1002:744c", "gfx1100", "AMD Radeon RX 7900 XTX", "c8"),
    "rx9070": Board("amd", "1002:7550", "gfx1201", "AMD Radeon RX 9070 XT", "c0"),
    "strix-halo": Board("amd", "1002:1586", "gfx1151", "AMD Radeon 8060S", "c1", True),
    "a100": Board("nvidia", "10de:20b2", "sm_80", "NVIDIA A100-SXM4-80GB"),
    "h100": Board("nvidia", "10de:2330", "sm_90", "NVIDIA H100 80GB HBM3"),
    "h200": Board("nvidia", "10de:2335", "sm_90", "NVIDIA H200"),
    "b200": Board("nvidia", "10de:2901", "sm_100", "NVIDIA B200"),
    "gh200": Board("nvidia", "10de:2342", "sm_90", "NVIDIA GH200 480GB"),
    "gb200": Board("nvidia", "10de:2941", "sm_100", "NVIDIA GB200"),
    "l40s": Board("nvidia", "10de:26b9", "sm_89", "NVIDIA L40S"),
    "rtx4090": Board("nvidia", "10de:2684", "sm_89", "NVIDIA GeForce RTX 4090"),
    "rtx5090": Board("nvidia", "10de:2b85", "sm_120", "NVIDIA GeForce RTX 5090"),
    "t4": Board("nvidia", "10de:1eb8", "sm_75", "Tesla T4"),
}

NEIGHBOURS: Mapping[str, Board] = {
    "mi300a": Board("amd", "1002:74a0", "gfx942", "AMD Instinct MI300A"),
    "mi308x": Board("amd", "1002:74a2", "gfx942", "AMD Instinct MI308X"),
    "mi350p": Board("amd", "1002:75a8", "gfx950", "AMD Instinct MI350P"),
    "w7900": Board("amd", "1002:7448", "gfx1100", "AMD Radeon PRO W7900"),
    "r9700": Board("amd", "1002:7551", "gfx1201", "AMD Radeon AI PRO R9700", "c0"),
    "gb300": Board("nvidia", "10de:31c2", "sm_103", "NVIDIA GB300"),
    "a10": Board("nvidia", "10de:2236", "sm_86", "NVIDIA A10"),
    "l40": Board("nvidia", "10de:26b5", "sm_89", "NVIDIA L40"),
    "rtx4090-laptop": Board("nvidia", "10de:2757", "sm_89", "NVIDIA GeForce RTX 4090 Laptop GPU"),
    "rtx5090d": Board("nvidia", "10de:2b87", "sm_120", "NVIDIA GeForce RTX 5090 D"),
    "t400": Board("nvidia", "10de:1fb2", "sm_75", "NVIDIA T400 4GB"),
}
"""Boards of the same architecture or of a name that begins alike, for which no profile is shipped."""


def machine(
    board: Board, count: int = 1, facts: Mapping[str, Any] | None = None, without: tuple[str, ...] = ()
) -> Snapshot:
    """`count` boards, without those fields (`pci_id`, `name` …), and further facts by name."""
    sheet = FactSheet()
    for number in range(count):
        gpu = f"gpus[0000:{number + 1:02x}:00.0]"
        told = {**board._asdict(), "pci_address": f"0000:{number + 1:02x}:00.0"}
        for field, value in told.items():
            if field not in without:
                sheet.put(f"{gpu}.{field}", value, "test")
    for name, value in (facts or {}).items():
        sheet.put(name, value, "test")
    return assemble([sheet])
