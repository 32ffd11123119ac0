"""Which AMD GPUs are part of the CPU: shared by the rules on them."""

from __future__ import annotations

import re

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu

APU_TARGETS = frozenset(
    ("gfx902", "gfx909", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036", "gfx1037", "gfx1103", "gfx1150",
     "gfx1151", "gfx1152", "gfx1153")
)  # fmt: skip
"""Targets that only integrated GPUs have. Source: llvm.org/docs/AMDGPUUsage.html, processors, as of 2026-08."""

_WITH_GRAPHICS = re.compile(
    r"\bradeon\b|\bintegrated\b|\bapu\b|\bvega\b|\biGPU\b"
    r"|\b(?:raven ridge|picasso|dal[ií]|renoir|lucienne|cezanne|barcelo|rembrandt|phoenix|hawk point)\b"
    r"|\b(?:ryzen|athlon)\b[\w ]{0,12}\b\d{3,4}(?:GE?|U|HS?)\b",
    re.IGNORECASE,
)
"""How the name of an AMD processor says that a GPU is in it: named outright, by its code name, or by the letter behind
its number. Source: www.amd.com's table of processor specifications, column Graphics Model, as of 2026-08."""


def processor_has_gpu(machine: Snapshot) -> bool:
    """Whether the CPU's name shows an integrated GPU. False if it shows none: desktop models since 2022 have one
    and do not say so."""
    cpu = machine.host.cpu or ""
    return _WITH_GRAPHICS.search(cpu) is not None and "intel" not in cpu.lower()


def is_integrated(gpu: Gpu) -> bool:
    if gpu.integrated is not None:
        return gpu.integrated
    return (gpu.arch or "").partition(":")[0] in APU_TARGETS


def integrated(machine: Snapshot) -> tuple[Gpu, ...]:
    return tuple(g for g in machine.of_vendor("amd") if is_integrated(g))


def discrete(machine: Snapshot) -> tuple[Gpu, ...]:
    """AMD GPUs that are surely cards: their target is known and no integrated GPU has it."""
    return tuple(g for g in machine.of_vendor("amd") if g.arch and not is_integrated(g))
