"""NVIDIA's fat binaries (.nv_fatbin, __nv_relfatbin) -> which code each object brings, by architecture.

A section holds one fat binary for each object that was linked: a header (magic 0xBA55ED50, version, header size, size
of what follows), then entries, each with a header of its own: kind 1 PTX or 2 cubin, sizes, and the architecture. Only
headers are read; what they lead to may be compressed (flags 0x2000 LZ4, 0x8000 zstd) and is skipped.

NVIDIA documents none of it. The fields are those that clones of cuobjdump read, checked on the wheels of
docs/slow-tier.md: flag 0x100000 stands where the cubin's own e_flags say `a` (sm_90a), 0x200000 where they say `f`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from doctor.errors import ParserError
from doctor.parsers.elf.blocks import Blocks, Held, Window

MAGIC = 0xBA55ED50
SECTIONS = (".nv_fatbin", "__nv_relfatbin")
"""The second holds code that is linked on the device (-rdc=true), as static libraries bring it."""
_HEADER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_PTX, _CUBIN = 1, 2
_SPECIFIC, _FAMILY = 0x100000, 0x200000
_COMPRESSED = {0x2000: "lz4", 0x8000: "zstd"}
_ALIGNMENT = 8
_MOST_OBJECTS = 20_000
_MOST_ENTRIES = 64
"""In one object; 8 to 14 are usual."""
_GAP = 1 << 16
"""Bytes that are looked through for the next header behind a gap."""
_NAME_LIMIT = 200
_ARCHS = range(10, 400)


class Code(NamedTuple):
    """One entry. `arch` is `sm_90`, `sm_90a` for a cubin, `compute_90` for PTX."""

    arch: str
    ptx: bool
    compressed: str | None
    size: int
    toolkit: str | None
    """Of PTX: its version, `8.7`."""


class FatBinary(NamedTuple):
    """What one object brought. `name` where the object says it (seldom)."""

    name: str | None
    codes: tuple[Code, ...]

    @property
    def archs(self) -> tuple[str, ...]:
        return tuple(sorted({c.arch for c in self.codes}, key=order))


def order(arch: str) -> tuple[str, int, str]:
    """Sorts `sm_90` before `sm_100`, and PTX behind all cubins."""
    kind, _, rest = arch.partition("_")
    digits = rest.rstrip("af")
    return ("z" if kind == "compute" else "a", int(digits) if digits.isdecimal() else 0, rest)


def fat_binaries(blocks: Blocks, offset: int, size: int) -> Iterator[FatBinary]:
    """Each fat binary between the two offsets. Raises ParserError where the first bytes are of no fat binary; damage
    further on ends the walk."""
    place, end = offset, min(offset + size, blocks.size)
    for number in range(_MOST_OBJECTS):
        found = _header(blocks, place, end)
        if found is None:
            if number == 0:
                raise ParserError("no fat binary where its section says")
            return
        place, header, length = found
        yield _object(blocks, place + header, min(place + header + length, end))
        place += header + length
        place += -place % _ALIGNMENT
        if place + _HEADER.size > end:
            return


def _header(blocks: Blocks, place: int, end: int) -> tuple[int, int, int] | None:
    """Place, header size and size of the next fat binary; padding before it is stepped over."""
    raw = blocks.at(place, _HEADER.size)
    if len(raw) < _HEADER.size or place + _HEADER.size > end:
        return None
    magic, _, header, length = _HEADER.unpack(raw)
    if magic != MAGIC:
        gap = blocks.at(place, min(_GAP, end - place)).find(struct.pack("<I", MAGIC))
        return _header(blocks, place + gap, end) if gap > 0 else None
    return (place, header, length) if header >= _HEADER.size and length > 0 else None


def _object(blocks: Blocks, place: int, end: int) -> FatBinary:
    codes: list[Code] = []
    named: str | None = None
    for _ in range(_MOST_ENTRIES):
        raw = blocks.at(place, _ENTRY.size)
        if len(raw) < _ENTRY.size or place + _ENTRY.size > end:
            break
        kind, _, header, length, _, _, minor, major, arch, name_at, name_size, flags, _, _ = _ENTRY.unpack(raw)
        if header < _ENTRY.size or kind not in (_PTX, _CUBIN) or arch not in _ARCHS:
            break
        if not named and _ENTRY.size <= name_at < header + 4096 and 0 < name_size <= _NAME_LIMIT:
            named = _printable(blocks.at(place + name_at, name_size))
        codes.append(_code(kind == _PTX, arch, flags, length, f"{major}.{minor}"))
        place += header + length
    return FatBinary(named, tuple(codes))


def _code(ptx: bool, arch: int, flags: int, size: int, version: str) -> Code:
    letter = "a" if flags & _SPECIFIC else "f" if flags & _FAMILY else ""
    packed = next((name for bit, name in _COMPRESSED.items() if flags & bit), None)
    return Code(f"{'compute' if ptx else 'sm'}_{arch}{letter}", ptx, packed, size, version if ptx else None)


def _printable(raw: bytes) -> str | None:
    text = "".join(c for c in raw.decode("utf-8", "replace") if c.isprintable())
    return text or None


def read(content: bytes) -> tuple[FatBinary, ...]:
    held = Held(content)
    return tuple(fat_binaries(Window(held, 0, held.size), 0, held.size))
