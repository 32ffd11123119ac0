"""Which AMD GPUs are part of the CPU: shared by the rules on them."""

from __future__ import annotations

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu

APU_TARGETS = frozenset(
    ("gfx902", "gfx909", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036", "gfx1037", "gfx1103", "gfx1150",
     "gfx1151", "gfx1152", "gfx1153")
)  # fmt: skip
"""Targets that only integrated GPUs have. Source: llvm.org/docs/AMDGPUUsage.html, processors, as of 2026-08."""


def is_integrated(gpu: Gpu) -> bool:
    if gpu.integrated is not None:
        return gpu.integrated
    return (gpu.arch or "").partition(":")[0] in APU_TARGETS


def integrated(machine: Snapshot) -> tuple[Gpu, ...]:
    return tuple(g for g in machine.of_vendor("amd") if is_integrated(g))


def discrete(machine: Snapshot) -> tuple[Gpu, ...]:
    """AMD GPUs that are surely cards: their target is known and no integrated GPU has it."""
    return tuple(g for g in machine.of_vendor("amd") if g.arch and not is_integrated(g))
