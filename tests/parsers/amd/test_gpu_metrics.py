"""Tables of real GPUs, and layouts held against the kernel's structures as C lays them out."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import pytest

from doctor.errors import ParserError
from doctor.parsers.amd.gpu_metrics import Metrics, held_down, read
from tests.paths import FIELDLAB

U16, U32, U64 = ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64
HEADER = (("size", U16), ("major", ctypes.c_uint8), ("minor", ctypes.c_uint8))
TIME = (("energy", U64), ("clock", U64))
COUNTERS = (("accumulation", U32), ("prochot", U32), ("ppt", U32), ("socket", U32), ("vr", U32), ("hbm", U32))
V1_3 = (
    *HEADER, ("heat", U16 * 6), ("activity", U16 * 3), ("power", U16), *TIME, ("average", U16 * 7),
    ("current", U16 * 7), ("throttle_status", U32), ("fan", U16), ("link", U16 * 2), ("padding", U16),
    ("gfx", U32), ("mem", U32), ("hbm", U16 * 4), ("timestamp", U64), ("volts", U16 * 3), ("padding1", U16),
    ("indep_throttle_status", U64),
)  # fmt: skip
V1_4 = (*HEADER, ("heat", U16 * 3), ("power", U16), ("activity", U16 * 2), ("vcn", U16 * 4), *TIME,
        ("throttle_status", U32))  # fmt: skip
V1_5 = (*V1_4[:7], ("jpeg", U16 * 32), *TIME, ("throttle_status", U32))
V1_6 = (*HEADER, ("heat", U16 * 3), ("power", U16), ("activity", U16 * 2), *TIME, *COUNTERS)
V1_7 = (*V1_6[:6], ("bandwidth", U64), *TIME, *COUNTERS)
LINKS = (("lock", U32), ("widths", U16 * 4), ("gfx_acc", U32), ("mem_acc", U32), ("pcie", U64 * 5))
MOVED = (("naks", U32 * 2), ("xgmi", U64 * 16))
AT_END = (("timestamp", U64), ("gfxclk", U16 * 8))
V2_2 = (
    *HEADER, ("heat", U16 * 12), ("activity", U16 * 2), ("clock", U64), ("power", U16 * 12), ("average", U16 * 6),
    ("current", U16 * 6), ("cores", U16 * 8), ("l3", U16 * 2), ("throttle_status", U32), ("fan", U16),
    ("padding", U16 * 3), ("indep_throttle_status", U64),
)  # fmt: skip
V3_0 = (
    *HEADER, ("heat", U16 * 19), ("activity", U16 * 2), ("ipu", U16 * 8), ("c0", U16 * 16), ("bandwidth", U16 * 4),
    ("clock", U64), ("socket", U32), ("ipu_power", U16), ("apu", U32), ("gfx", U32), ("dgpu", U32), ("cores", U32),
    ("core", U16 * 16), ("sys", U16), ("stapm", U16 * 2), ("average", U16 * 8), ("coreclk", U16 * 16),
    ("maxfreq", U16 * 2), ("prochot", U32), ("spl", U32), ("fppt", U32), ("sppt", U32), ("thm_core", U32),
    ("thm_gfx", U32), ("thm_soc", U32), ("alpha", U32),
)  # fmt: skip


def table(layout: Sequence[tuple[str, Any]], major: int, minor: int, size: int | None = None, **values: int) -> bytes:
    """As the driver fills it: all ones first, then what it knows."""
    kind: Any = type("Table", (ctypes.LittleEndianStructure,), {"_fields_": list(layout)})
    made: Any = kind.from_buffer_copy(b"\xff" * ctypes.sizeof(kind))
    made.major, made.minor = major, minor
    for name, value in values.items():
        setattr(made, name, value)
    made.size = size or ctypes.sizeof(kind)
    return bytes(made).ljust(made.size, b"\0")


@pytest.mark.parametrize(
    ("machine", "card", "told"),
    [
        ("amd-rx6900xt-drm-sysfs", "card0", Metrics("1.3", ())),
        ("amd-rx7800xt-drm-sysfs", "card1", Metrics("1.3", ())),
        ("amd-rx7600s-drm-sysfs", "card1", Metrics("1.3", ("hotspot temperature",))),
        ("amd-phoenix-drm-sysfs", "card1", Metrics("2.1")),  # a table that has no bits which mean the same everywhere
    ],
)
def test_of_real_gpus(machine: str, card: str, told: Metrics) -> None:
    path = FIELDLAB / machine / "snapshot" / card / "device/gpu_metrics"
    if not path.is_file():
        pytest.skip(f"no {path.name} of {machine} here")
    assert read(path.read_bytes()) == told


@pytest.mark.parametrize(
    ("layout", "major", "minor", "values", "reasons"),
    [
        (V1_3, 1, 3, {"indep_throttle_status": 1 << 0 | 1 << 36}, ("power limit", "hotspot temperature")),
        (V1_3, 1, 3, {"indep_throttle_status": 0}, ()),
        (V1_3, 1, 3, {"indep_throttle_status": 1 << 63}, ("bit 63",)),
        (V1_3, 1, 3, {}, None),
        (V1_4, 1, 4, {"throttle_status": 0b10}, ("power limit",)),
        (V1_5, 1, 5, {"throttle_status": 0b10001}, ("PROCHOT", "memory temperature")),
        (V2_2, 2, 2, {"indep_throttle_status": 1 << 5}, ("fast power limit",)),
    ],
)
def test_bits(layout: Any, major: int, minor: int, values: dict[str, int], reasons: tuple[str, ...] | None) -> None:
    assert read(table(layout, major, minor, **values)).reasons == reasons


@pytest.mark.parametrize(
    ("layout", "major", "minor", "size", "grown", "reason"),
    [
        (V1_6, 1, 6, 1544, "ppt", "power limit"),
        ((*V1_5[:10], *COUNTERS), 1, 6, 384, "hbm", "memory temperature"),
        (V1_7, 1, 7, None, "prochot", "PROCHOT"),
        (V1_7, 1, 8, None, "socket", "GPU temperature"),
        (V3_0, 3, 0, None, "thm_gfx", "graphics temperature"),
    ],
)
def test_a_counter_that_grew_between_two_readings(
    layout: Any, major: int, minor: int, size: int | None, grown: str, reason: str
) -> None:
    still = {name: 100 for name, _ in layout if name in ("prochot", "ppt", "socket", "vr", "hbm", "spl", "thm_gfx")}
    before = read(table(layout, major, minor, size, **still))
    now = read(table(layout, major, minor, size, **{**still, grown: 101}))
    assert held_down(before, now) == (reason,)
    assert held_down(now, now) == ()
    assert held_down(None, now) is None, "one reading of counters tells nothing"
    assert held_down(Metrics("1.3", ()), now) is None


@pytest.mark.parametrize(
    ("layout", "minor"),
    [
        ((*V1_4, *LINKS, MOVED[1], *AT_END), 4),
        ((*V1_5, *LINKS, *MOVED, *AT_END), 5),
        ((*V1_6, *LINKS, *MOVED, *AT_END), 6),
        ((*V1_7, *LINKS, *MOVED, ("status", U16 * 8), ("padding", U16), *AT_END), 7),
        ((*V1_7, *LINKS, *MOVED, ("status", U16 * 8), ("padding", U16), *AT_END), 8),
    ],
)
def test_the_clock_of_each_die(layout: Any, minor: int) -> None:
    clocks: Any = (U16 * 8)(2100, 2090, 2080, 2070, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF)  # four dies: MI308X
    assert read(table(layout, 1, minor, gfxclk=clocks)).gfx_mhz == (2100, 2090, 2080, 2070)


def test_what_is_told_now_needs_no_reading_before() -> None:
    assert held_down(None, Metrics("1.3", ("power limit",))) == ("power limit",)
    assert held_down(None, None) is None


@pytest.mark.parametrize("content", [b"", b"\x78\x00\x01", b"\xff\xff\x01\x03", b"\x78\x00\x01\x03" + bytes(8),
                                     b"\x08\x00\x00\x00" + bytes(8)])  # fmt: skip
def test_what_is_no_table(content: bytes) -> None:
    with pytest.raises(ParserError):
        read(content)


def test_a_table_that_ends_early_or_is_of_another_revision_tells_nothing() -> None:
    assert read(b"\x10\x00\x01\x03" + bytes(12)) == Metrics("1.3")
    assert read(b"\x10\x00\x01\x09" + bytes(12)) == Metrics("1.9")
