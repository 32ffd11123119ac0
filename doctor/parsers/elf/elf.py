"""An ELF file's headers -> class, machine, sections and segments. Nothing but headers is read.

The layout is that of the System V ABI (gabi, chapters 4 and 5). 32-bit and big-endian files are read too.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import NamedTuple

from doctor.errors import ParserError
from doctor.parsers.elf.blocks import Blocks, Held, name_at, unpack

MACHINES = {3: "i386", 21: "ppc64", 62: "x86_64", 183: "aarch64", 190: "cuda", 224: "amdgpu", 243: "riscv"}
"""e_machine, of those that carry GPU code or run beside it (gabi's registry; llvm BinaryFormat/ELF.h)."""
TYPES = {1: "object", 2: "executable", 3: "shared", 4: "core"}
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE = 1, 2, 3, 4
SHT_NOBITS, SHT_DYNSYM = 8, 11
_MOST_SECTIONS = 4096
"""Of a shared object 30 to 60 are usual; an object with -ffunction-sections has thousands."""
_MOST_SEGMENTS = 256
_NAMES_LIMIT = 1 << 20
_EXTENDED = 0xFFFF


class Section(NamedTuple):
    name: str
    kind: int
    address: int
    offset: int
    size: int
    link: int
    entry_size: int


class Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    file_size: int


class Elf(NamedTuple):
    """`bits` 64 or 32; `order` `<` or `>` as struct has it; `flags` e_flags."""

    bits: int
    order: str
    kind: str
    machine: str
    flags: int
    sections: tuple[Section, ...]
    segments: tuple[Segment, ...]
    cut: bool = False
    """The table of sections lies beyond the end of the file."""

    def section(self, name: str) -> Section | None:
        return next((s for s in self.sections if s.name == name), None)

    def offset_of(self, address: int) -> int | None:
        """Where in the file an address lies; None for one that no segment maps."""
        for part in self.segments:
            if part.kind == PT_LOAD and part.address <= address < part.address + part.file_size:
                return address - part.address + part.offset
        return None


@lru_cache(maxsize=8)
def _layouts(bits: int, order: str) -> tuple[struct.Struct, struct.Struct, struct.Struct]:
    """Header behind e_ident, section header, program header."""
    word = "Q" if bits == 64 else "I"
    head = struct.Struct(f"{order}HHI{word}{word}{word}IHHHHHH")
    section = struct.Struct(f"{order}II{word}{word}{word}{word}II{word}{word}")
    segment = struct.Struct(f"{order}IIQQQQQQ" if bits == 64 else f"{order}IIIIIIII")
    return head, section, segment


def head(blocks: Blocks) -> Elf:
    """Raises ParserError for what is no ELF file or is cut short."""
    ident = blocks.at(0, 16)
    if ident[:4] != b"\x7fELF" or len(ident) < 16:
        raise ParserError("not an ELF file")
    bits, order = {1: 32, 2: 64}.get(ident[4], 0), {1: "<", 2: ">"}.get(ident[5], "")
    if not bits or not order:
        raise ParserError(f"an ELF file of class {ident[4]} and byte order {ident[5]}")
    layouts = _layouts(bits, order)
    kind, machine, _, _, phoff, shoff, flags, _, phentsize, phnum, shentsize, shnum, shstrndx = unpack(
        layouts[0], blocks, 16, "the ELF header"
    )
    segments = _segments(blocks, layouts[2], phoff, phentsize, phnum, bits)
    sections = _sections(blocks, layouts[1], shoff, shentsize, shnum, shstrndx)
    cut = bool(shoff) and shoff + shnum * shentsize > blocks.size
    named = TYPES.get(kind, str(kind)), MACHINES.get(machine, str(machine))
    return Elf(bits, order, *named, flags, sections, segments, cut)


def _segments(
    blocks: Blocks, layout: struct.Struct, offset: int, entry: int, count: int, bits: int
) -> tuple[Segment, ...]:
    if not offset or entry < layout.size:
        return ()
    count = min(count, _MOST_SEGMENTS)
    table = blocks.at(offset, entry * count)
    rows = []
    for number in range(min(count, len(table) // entry)):
        row = layout.unpack_from(table, number * entry)
        # 64 bits: type, flags, offset, address …; 32 bits: type, offset, address, physical address, size …
        rows.append(Segment(row[0], row[2], row[3], row[5]) if bits == 64 else Segment(row[0], row[1], row[2], row[4]))
    return tuple(rows)


def _sections(
    blocks: Blocks, layout: struct.Struct, offset: int, entry: int, count: int, names: int
) -> tuple[Section, ...]:
    if not offset or entry < layout.size:
        return ()
    first = blocks.at(offset, layout.size)
    if len(first) < layout.size:
        return ()  # a file cut short, or one whose headers a tool removed: the segments still tell
    zero = layout.unpack(first)
    count, names = count or zero[5], zero[6] if names == _EXTENDED else names
    count = min(count, _MOST_SECTIONS)
    table = blocks.at(offset, entry * count)
    rows = [layout.unpack_from(table, n * entry) for n in range(min(count, len(table) // entry))]
    text = blocks.at(rows[names][4], min(rows[names][5], _NAMES_LIMIT)) if names < len(rows) else b""
    return tuple(Section(name_at(text, r[0], 80), r[1], r[3], r[4], r[5], r[6], r[9]) for r in rows)


def read(content: bytes) -> Elf:
    return head(Held(content))
