"""Which GPUs hipBLASLt and rocBLAS have kernels for in a ROCm release, by the tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from doctor.facts.snapshot import Snapshot
from doctor.knowledge.store import table
from doctor.versions import Dotted


def rocm_of(machine: Snapshot) -> str | None:
    """The ROCm whose BLAS libraries are used: torch brings its own, else the one that is installed."""
    return machine.torch.rocm or next((i.version for i in machine.rocm or () if i.version), None)


def hipblaslt_lacks(machine: Snapshot, gfx: str) -> bool:
    """Whether no hipBLASLt was ever built for the GPU, or not that of the machine's ROCm."""
    return gfx.startswith(_NEVER) or _has("hipblaslt_releases", rocm_of(machine), gfx) is False


_NEVER = ("gfx8", "gfx900", "gfx906", "gfx90c", "gfx101", "gfx103")


def rocblas_has(rocm: str | None, gfx: str) -> bool | None:
    """Whether rocBLAS of that ROCm has kernels for the GPU; None where the table can't tell."""
    return _has("rocblas_releases", rocm, gfx)


def _has(name: str, rocm: str | None, gfx: str) -> bool | None:
    """A release with a list of its own decides; one that only adds to an earlier list says yes, never no."""
    target = gfx.split(":")[0]
    version = Dotted(rocm or "").numbers[:3]
    rows = sorted(_rows(name), key=lambda row: row[0])
    if not version or not rows or "Debian" in rows[-1][2].get("source", "") or version < rows[0][0]:
        return None
    verdict: bool | None = None
    for first, last, row in rows:
        if first > version:
            break
        if target in (*row.get("gfx", ()), *row.get("gfx_added", ())):
            verdict = True
        elif row.get("gfx") and version <= last:
            return False
    return verdict


def _rows(name: str) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], Mapping[str, Any]]]:
    """(first, last release, entry) of the table; builds of distributions and of branches are left out."""
    for key, row in table(name).items():
        numbers = re.findall(r"\d{1,2}\.\d{1,2}(?:\.(?:\d{1,2}|x))?", key)
        if not numbers or row.get("evidence") == "distribution build":
            continue
        first, last = numbers[0], numbers[-1]
        yield tuple(int(n) for n in first.replace(".x", ".0").split(".")), _high(last), row


def _high(text: str) -> tuple[int, ...]:
    """`6.2.x`, and `10.0` without a third number, end with the last of their series."""
    parts = text.replace(".x", ".99").split(".")
    return tuple(int(n) for n in (parts if len(parts) > 2 else [*parts, "99"]))
