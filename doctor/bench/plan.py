"""What is measured: cases by name, at two levels. `quick` is over within 60 seconds of the command's start, `full`
takes all shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from doctor.errors import InputError

NAMES = ("gemm", "copy", "host", "p2p", "l2", "attention", "flex", "compile", "launch", "collectives")
LEVELS = ("quick", "full")
GEMM_SHAPES = ("16384x8192x1280", "16384x1024x8192", "16384x8192x7168", "16384x3584x8192", "8192x8192x8192")
"""M x N x K of training steps of large models, which public comparisons of GPUs use."""
_CPU_SHAPES = {"quick": ("512x512x512",), "full": ("512x512x512", "1024x1024x1024")}
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
QUICK_S = 60.0
ENDS_S = 4.0
"""Of a quick run, what its end may take: ending children, applying rules, writing."""
_FULL_S = 1800.0
LATE = "the run's time limit was reached"
_START_S = 15.0
"""Of a quick run, what importing torch and waking the GPUs takes once more."""
_QUICK_SILENCE_S = 25.0
"""A case of a quick run that is silent for so long hangs: else it would take the time of all the others."""


@dataclass(frozen=True)
class Plan:
    """`cases` are what the script takes; `budget_s` is for the repeats of one case."""

    cases: tuple[dict[str, Any], ...]
    collectives: tuple[dict[str, Any], ...]
    repeats: int
    budget_s: float
    total_s: float
    """For each GPU."""
    at_once: bool = False
    """All GPUs side by side: eight in turn would take longer than a quick run may."""
    silence_s: float = math.inf
    warm_s: float = 0.2
    reserved_s: float = 0.0
    """Of `total_s`, what the collectives, which come first, may take at most; 0: all of it."""


def plan(
    names: Sequence[str], level: str, device: str, gpus: int = 1, shapes: Sequence[str] = (), left_s: float = QUICK_S
) -> Plan:
    """Raises InputError for names, levels and shapes that are none. `shapes`: products of a baseline, or asked for;
    `left_s`: what is left of a quick run's time."""
    wanted = tuple(dict.fromkeys(names)) or NAMES
    unknown = [name for name in wanted if name not in NAMES]
    if unknown or level not in LEVELS:
        raise InputError(
            f"invalid {'case' if unknown else '--level'} '{(unknown[0] if unknown else level)[:40]}' "
            f"(choose from {', '.join(NAMES if unknown else LEVELS)})"
        )
    for shape in shapes:
        sizes(shape)
    cpu = device == "cpu"
    cases: list[dict[str, Any]] = []
    for name in wanted:
        cases += _cases(name, level, cpu, shapes, gpus)
    together = collectives(level, cpu) if "collectives" in wanted and (cpu or gpus > 1) else []
    quick = level == "quick"
    number = max(1, len(cases) + len(together))
    if not quick:
        return Plan(tuple(cases), tuple(together), 100, 5.0, _FULL_S, warm_s=1.0)
    left = min(left_s, QUICK_S)
    starts = _START_S * (bool(cases) + bool(together))
    budget = min(5.0, max(0.2, round((left - starts) / number, 2)))
    reserved = min(left / 2, _START_S + budget * len(together)) if together and cases else 0.0
    return Plan(tuple(cases), tuple(together), 100, budget, left, gpus > 1, _QUICK_SILENCE_S, reserved_s=reserved)


def sizes(shape: str) -> tuple[int, ...]:
    parts = shape.split("x")
    if len(parts) != 3 or not all(p.isascii() and p.isdecimal() and 16 <= int(p) <= 1 << 17 for p in parts):
        raise InputError(f"invalid --shape '{shape[:40]}' (MxNxK, each from 16 to 131072, such as 8192x8192x8192)")
    return tuple(int(p) for p in parts)


def _gemm(level: str, cpu: bool, shapes: Sequence[str]) -> list[dict[str, Any]]:
    default: tuple[str, ...]
    dtypes: tuple[str, ...]
    if cpu:
        default, dtypes = _CPU_SHAPES[level], ("float32",) if level == "quick" else ("float32", "bfloat16")
    else:
        default = GEMM_SHAPES[-1:] if level == "quick" else GEMM_SHAPES
        dtypes = ("bfloat16",) if level == "quick" else ("bfloat16", "float16", "float8", "float4")
    chosen = tuple(dict.fromkeys(shapes)) or default
    return [{"what": "gemm", "dtype": d, "shape": s} for s in chosen for d in dtypes]


def _cases(name: str, level: str, cpu: bool, shapes: Sequence[str], gpus: int) -> list[dict[str, Any]]:
    """Of one name but collectives. A compiler's start takes longer than a quick run has, and its GPUs all work at once,
    which copies between two of them would show."""
    dtype = "float32" if cpu else "bfloat16"
    if name == "gemm":
        return _gemm(level, cpu, shapes)
    if name == "copy":
        return [{"what": "copy", "dtype": "float64", "shape": "64MiB" if cpu else "1024MiB"}]
    if name == "host" and not cpu:
        return [{"what": "host", "dtype": "bytes", "shape": "256MiB"}]
    if name == "p2p" and gpus > 1 and level == "full":
        return [{"what": "p2p", "dtype": "bytes", "shape": "256MiB"}]
    if name == "l2" and not cpu and level == "full":
        return [{"what": "l2", "dtype": "float32", "shape": "16GiB"}]
    if name == "attention":
        shape = "1x4x256x64" if cpu else "4x16x2048x128" if level == "quick" else "4x32x4096x128"
        return [{"what": "attention", "dtype": dtype, "shape": shape}]
    if name == "launch" and (not cpu or level == "full"):
        sizes = "16x512x512" if cpu else "16x4096x4096"
        return [
            {"what": "launch", "dtype": "float32", "shape": "1"},
            {"what": "decode", "dtype": dtype, "shape": sizes},
        ]
    if name in ("flex", "compile") and level == "full":
        return [{"what": name, "dtype": dtype, "shape": "1x4x256x64" if name == "flex" else "512x512"}]
    return []


_SIZES = {
    ("quick", True): ("8B", "1MiB"),
    ("full", True): ("8B", "32KiB", "1MiB", "16MiB"),
    ("quick", False): ("8B", "1MiB", "256MiB"),
    ("full", False): ("8B", "64B", "512B", "4KiB", "32KiB", "256KiB", "2MiB", "16MiB", "128MiB", "1GiB", "8GiB"),
}
"""By level and whether on a CPU; `nccl-tests -b 8 -e 8G -f 8` takes the last ones."""


def collectives(level: str, cpu: bool) -> list[dict[str, Any]]:
    """float32, the default of nccl-tests. One size is also timed as single calls."""
    sizes = _SIZES[level, cpu]
    single = sizes[len(sizes) // 2]
    return [
        {"what": name, "dtype": "float32", "shape": size, "one_shot": size == single}
        for name in COLLECTIVES
        for size in sizes
    ]
