"""The table of torch's selection rules on ROCm: the row of a series, and the GPUs that it lists.

Read from torch's headers and pull requests (`doctor knowledge show blas_selection`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from doctor.knowledge.store import table
from doctor.versions import Dotted


def is_fork(version: str) -> bool:
    """AMD's own wheels are built from ROCm/pytorch: `2.9.1+rocm7.2.0.git…`, and all of ROCm 7.9 and later (TheRock)."""
    local = version.partition("+")[2]
    rocm = re.match(r"rocm(\d{1,2}\.\d{1,2})", local)
    return "git" in local or bool(rocm and Dotted(rocm[1]) >= Dotted("7.9"))


def row_of(version: Dotted, fork: bool) -> Mapping[str, Any] | None:
    """The entry of a torch series. The last one stands for what came after it."""
    series = version.numbers[:2]
    rows = table("blas_selection")
    if len(series) < 2:
        return None
    named = {key: row for key, row in rows.items() if not key.startswith("ROCm/pytorch")}
    found = next((row for key, row in named.items() if _covers(key, series)), None)
    if found is None:
        newest = next((row for key, row in named.items() if key.startswith("main")), None)
        found = newest if series >= (2, 14) else None
    if found is not None and "preferred_archs" not in found and series >= (2, 7):
        before: Mapping[str, Any] = next(
            (row for key, row in named.items() if _covers(key, (series[0], series[1] - 1))), {}
        )
        found = {**before, **found}
    if found is not None and "supported_archs" not in found:
        found = {**found, **_between(named, series)}
    theirs = next((row for key, row in rows.items() if key.startswith("ROCm/pytorch")), None)
    if fork and theirs and found and (2, 9) <= series <= (2, 13):
        return {**found, "preferred_archs": theirs["preferred_archs"], "source": theirs["source"]}
    return found


def _between(rows: Mapping[str, Mapping[str, Any]], series: tuple[int, ...]) -> dict[str, Any]:
    """Of a series whose list of supported GPUs no source has: what both the nearest list before and the one after it
    have; what one of them alone has is `unsure`."""
    listed = {key: row["supported_archs"] for key, row in rows.items() if "supported_archs" in row}
    earlier = [(*series[:1], minor) for minor in range(series[1] - 1, 0, -1)]
    before = next((archs for one in earlier for key, archs in listed.items() if _covers(key, one)), None)
    after = next((archs for key, archs in listed.items() if key.startswith("main")), None)
    if before is None or after is None:
        return {}
    sides = ({a["gfx"] for a in before}, {a["gfx"] for a in after})
    return {
        "supported_archs": [a for a in before if a["gfx"] in sides[1]],
        "unsure_archs": sorted(sides[0] ^ sides[1]),
    }


def _covers(key: str, series: tuple[int, ...]) -> bool:
    if key.startswith("<="):
        return series <= tuple(int(n) for n in key[2:].split("."))
    ends = [tuple(int(n) for n in end.split(".")) for end in re.findall(r"^\d\.\d{1,2}|(?<=-)\d\.\d{1,2}$", key)]
    return bool(ends) and ends[0] <= series <= ends[-1]


def archs_of(row: Mapping[str, Any], key: str, rocm: str | None) -> frozenset[str] | None:
    """Those that the build's ROCm is new enough for; None where the table has no list, or a guard can't be judged."""
    listed = row.get(key)
    if listed is None:
        return None
    floors = [(a["gfx"], a.get("min_rocm_build")) for a in listed]  # 6.5 was never public, and means 7.0
    return frozenset(gfx for gfx, floor in floors if floor is None or rocm is None or Dotted(rocm) >= Dotted(floor))


def all_in(archs: Sequence[str] | None, listed: frozenset[str] | None, unsure: Sequence[str] = ()) -> bool | None:
    """One that is surely not in it decides; one of which that is not known leaves it open."""
    if archs is None or listed is None:
        return None
    outside = [arch for arch in archs if arch not in listed]
    if any(arch not in unsure for arch in outside):
        return False
    return None if outside else True
