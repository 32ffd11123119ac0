"""amdgpu's `gpu_metrics` (a table of the GPU's firmware, in binary) -> why its clocks are held down.

The layouts are those of the kernel's `struct gpu_metrics_vN_M` (drivers/gpu/drm/amd/include/kgd_pp_interface.h; from
1.6 on as rocm-smi-lib's rocm_smi_gpu_metrics.h has them too), and the names those of `SMU_THROTTLER_*_BIT`
(drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h). Three ways to tell, by revision: bits that mean the same on every chip
(1.3, 2.2 to 2.4), bits of the one chip that has that table (1.4, 1.5: MI300), and counters that grow while something
holds the clocks down (1.6 and later, 3.0), of which two readings tell.

>>> read(bytes.fromhex("78000103") + bytes(108) + (1 | 1 << 36).to_bytes(8, "little")).reasons
('power limit', 'hotspot temperature')
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from doctor.errors import ParserError

LIMIT = 8192
_BITS = {
    0: "power limit", 1: "power limit 1", 2: "power limit 2", 3: "power limit 3", 4: "sustained power limit",
    5: "fast power limit", 6: "slow power limit", 7: "slow power limit of the APU",
    16: "graphics current", 17: "SoC current", 18: "memory current", 19: "VDD current", 20: "CVIP current",
    21: "CPU peak current", 22: "graphics peak current", 23: "peak current control",
    32: "GPU temperature", 33: "core temperature", 34: "memory temperature", 35: "edge temperature",
    36: "hotspot temperature", 37: "SoC temperature", 38: "graphics regulator's temperature",
    39: "SoC regulator's temperature", 40: "memory regulator's temperature", 41: "memory regulator 1's temperature",
    42: "liquid temperature", 43: "liquid 1's temperature", 44: "regulator too hot", 45: "regulator 1 too hot",
    46: "CPU's PROCHOT", 47: "PROCHOT", 56: "power management", 57: "reliability limit",
}  # fmt: skip
"""Of indep_throttle_status: power from 0, current from 16, temperature from 32, else from 56."""
_OF_MI300 = {
    0: "PROCHOT", 1: "power limit", 2: "GPU temperature", 3: "graphics regulator's temperature",
    4: "memory temperature",
}  # fmt: skip
"""THROTTLER_*_BIT of smu_v13_0_6_pmfw.h, which alone writes tables 1.4 and 1.5."""
_COUNTED = ("PROCHOT", "power limit", "GPU temperature", "regulator's temperature", "memory temperature")
_COUNTED_ON_APU = (
    "PROCHOT", "sustained power limit", "fast power limit", "slow power limit", "core temperature",
    "graphics temperature", "SoC temperature",
)  # fmt: skip
_INDEPENDENT = {(1, 3): 112, (2, 2): 120, (2, 3): 120, (2, 4): 120}
_DEPENDENT = {(1, 4): 40, (1, 5): 104}
_COUNTERS = {(1, 6): (36, _COUNTED), (1, 7): (44, _COUNTED), (1, 8): (44, _COUNTED), (3, 0): (228, _COUNTED_ON_APU)}
_GFX_CLOCKS = {(1, 4): 240, (1, 5): 312, (1, 6): 264, (1, 7): 296, (1, 8): 296}
"""Of eight clocks in MHz, one for each die (XCC)."""
_FIRST_1_6 = (384, 108)
"""Size of the first layout that was called 1.6, which kept the engines' activity, and where its counters are."""


@dataclass(frozen=True)
class Metrics:
    """`reasons`: what holds the clocks down now, None where the table does not tell; `counters`: time that each has, in
    units of the firmware; `gfx_mhz`: the clock of each die."""

    revision: str
    reasons: tuple[str, ...] | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    gfx_mhz: tuple[int, ...] = ()


def read(content: bytes) -> Metrics:
    """Raises ParserError for what is no such table. A revision that tells no reasons has neither."""
    if len(content) < 4:
        raise ParserError("no table of gpu_metrics: shorter than its header")
    size, major, minor = struct.unpack_from("<HBB", content)
    if not 4 <= size <= LIMIT or size > len(content) or not 1 <= major <= 9:
        raise ParserError(f"no table of gpu_metrics: {size} bytes of {len(content)}, revision {major}.{minor}")
    revision, table = f"{major}.{minor}", content[:size]
    clocks = tuple(_dies(table, _GFX_CLOCKS.get((major, minor)))) if size != _FIRST_1_6[0] else ()
    if (at := _INDEPENDENT.get((major, minor))) is not None:
        return Metrics(revision, _names(_number(table, at, "<Q"), _BITS))
    if (at := _DEPENDENT.get((major, minor))) is not None:
        return Metrics(revision, _names(_number(table, at, "<I"), _OF_MI300), gfx_mhz=clocks)
    if (major, minor) in _COUNTERS:
        at, names = _COUNTERS[major, minor]
        if (major, minor, size) == (1, 6, _FIRST_1_6[0]):
            at = _FIRST_1_6[1]
        counted = {name: _number(table, at + 4 * n, "<I") for n, name in enumerate(names)}
        return Metrics(revision, None, {name: v for name, v in counted.items() if v is not None}, clocks)
    return Metrics(revision)


def held_down(before: Metrics | None, now: Metrics | None) -> tuple[str, ...] | None:
    """What holds, or held between two readings, the clocks down. None if unknown.

    >>> held_down(Metrics("1.7", None, {"power limit": 5}), Metrics("1.7", None, {"power limit": 9}))
    ('power limit',)
    """
    if now is None or now.reasons is not None:
        return now.reasons if now else None
    if before is None or before.revision != now.revision or not now.counters:
        return None
    return tuple(name for name, value in now.counters.items() if value > before.counters.get(name, value))


def _dies(table: bytes, at: int | None) -> Iterator[int]:
    for place in range(8 if at is not None else 0):
        clock = _number(table, (at or 0) + 2 * place, "<H")
        if clock is not None:
            yield clock


def _number(table: bytes, at: int, kind: str) -> int | None:
    """None where the table ends before, and for all ones, which the driver writes where the firmware has no value."""
    if at + struct.calcsize(kind) > len(table):
        return None
    value: int = struct.unpack_from(kind, table, at)[0]
    return None if value == (1 << 8 * struct.calcsize(kind)) - 1 else value


def _names(mask: int | None, names: Mapping[int, str]) -> tuple[str, ...] | None:
    """A bit without a name gets its number."""
    if mask is None:
        return None
    return tuple(names.get(bit, f"bit {bit}") for bit in range(mask.bit_length()) if mask >> bit & 1)
