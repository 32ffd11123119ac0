"""A fact in which a node differs from its kind -> whose matter that is, and what to do with the node.

A node is drained for what it has lost: GPUs, lanes or links. Another driver, setting or package takes no node out.
"""

from __future__ import annotations

import re

from doctor.findings import Action, Scope
from doctor.fleet.configuration import NOT_KNOWN

_OF_AREA = {
    "doctor": (Scope.HOST, Action.INFORM),
    "gpu": (Scope.DRIVER, Action.RECONFIGURE),
    "driver": (Scope.DRIVER, Action.RECONFIGURE),
    "firmware": (Scope.FIRMWARE, Action.RECONFIGURE),
    "links": (Scope.HARDWARE, Action.INFORM),
    "devices": (Scope.HOST, Action.RECONFIGURE),
    "kernel": (Scope.HOST, Action.RECONFIGURE),
    "system": (Scope.HOST, Action.RECONFIGURE),
    "stack": (Scope.HOST, Action.RECONFIGURE),
    "packages": (Scope.ENVIRONMENT, Action.REBUILD),
    "flags": (Scope.ENVIRONMENT, Action.INFORM),
    "bench": (Scope.HARDWARE, Action.INFORM),
}
_BUILT_IN = re.compile(
    r"gpu: GPU (pci id|subsystem id|memory|addresses|slots|NUMA nodes|errors: .*)|system: (memory|host\.cpu)"
)
"""What nobody sets: the board, the processor, and what the GPU counted of itself."""
_COUNTED = re.compile(r"gpu: GPUs|links: (PCIe width|GPU links up|RDMA NICs)")
"""Fewer than elsewhere is a loss; more is none."""
_STATES = "links: NIC state"


def meaning(fact: str, value: str, common: str) -> tuple[Scope, Action]:
    """Of `AREA: NAME`, its value there and its value elsewhere."""
    if _lost(fact, value, common):
        return Scope.HARDWARE, Action.DRAIN
    if _BUILT_IN.fullmatch(fact) or _COUNTED.fullmatch(fact):
        return Scope.HARDWARE, Action.INFORM
    return _OF_AREA.get(fact.partition(":")[0], (Scope.HOST, Action.INFORM))


def _lost(fact: str, value: str, common: str) -> bool:
    if fact == "gpu: lost GPUs":
        return True
    if fact == _STATES:
        return any("ACTIVE" not in part for part in _parts(value)) and all("ACTIVE" in p for p in _parts(common))
    return bool(_COUNTED.fullmatch(fact)) and _least(value) < _least(common)


def _parts(value: str) -> list[str]:
    """`16; 0000:1b:00.0: 8` -> 16 and 8: what all others have, and what single members have."""
    usual, _, others = value.partition("; ")
    parts = [usual, *(part.rpartition(": ")[2] for part in others.split(", ") if part)]
    return [part for part in parts if part != NOT_KNOWN]


def _least(value: str) -> float:
    found = [float(m[0]) for part in _parts(value) if (m := re.match(r"\d{1,6}", part))]
    return min(found, default=float("inf"))
