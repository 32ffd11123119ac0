"""An ELF file's dynamic section -> what the loader reads: NEEDED, SONAME, RPATH, RUNPATH; and its notes.

The tables are found as the loader finds them, through the segments, so that a file without section headers tells too.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from typing import NamedTuple

from doctor.errors import ParserError
from doctor.parsers.elf.blocks import Blocks, Held, name_at
from doctor.parsers.elf.elf import PT_DYNAMIC, PT_INTERP, PT_NOTE, Elf, head

_NEEDED, _STRTAB, _STRSZ, _SONAME, _RPATH, _RUNPATH = 1, 5, 10, 14, 15, 29
_SYMTAB, _GNU_HASH, _HASH, _VERSYM, _VERNEED, _VERNEEDNUM = 6, 0x6FFFFEF5, 4, 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF
_VERDEF, _VERDEFNUM = 0x6FFFFFFC, 0x6FFFFFFD
_MOST_VERSIONS, _VERSIONS_LIMIT = 1000, 1 << 16
_WEAK_VERSION, _LONGEST_VERSION = 2, 128
_FLAGS_1 = 0x6FFFFFFB
_NODEFLIB = 0x800
_MOST_ENTRIES = 4096
_STRINGS_LIMIT = 64 << 20
"""libtorch_cpu's table of strings is some 20 MiB."""
_WINDOW = 4096
_LONGEST_PATHS = 8192
_BUILD_ID = 3


_TABLES = (_SYMTAB, _GNU_HASH, _HASH, _VERSYM, _VERNEED, _VERDEF)


class Versions(NamedTuple):
    """Versions of symbols: `wanted` as (library, version), those that are optional left out; `defined` by this file."""

    wanted: tuple[tuple[str, str], ...]
    defined: tuple[str, ...]


class Dynamic(NamedTuple):
    """`rpath` and `runpath` as they are in the file, `$ORIGIN` included; None where there is none. `tables` are file
    offsets by dynamic tag, for elf_symbols."""

    needed: tuple[str, ...]
    soname: str | None
    rpath: str | None
    runpath: str | None
    no_default: bool
    """DF_1_NODEFLIB: default folders are not searched."""
    tables: dict[int, int]
    strings: tuple[int, int]
    """Offset and size of the table of strings."""


def dynamic(blocks: Blocks, elf: Elf) -> Dynamic | None:
    """None for a file without a dynamic section: static, or a relocatable object."""
    segment = next((s for s in elf.segments if s.kind == PT_DYNAMIC), None)
    if segment is None:
        return None
    layout = struct.Struct(f"{elf.order}{'qQ' if elf.bits == 64 else 'iI'}")
    table = blocks.at(segment.offset, min(segment.file_size, _MOST_ENTRIES * layout.size))
    rows = []
    for place in range(0, len(table) - layout.size + 1, layout.size):
        tag, value = layout.unpack_from(table, place)
        if tag == 0:
            break
        rows.append((tag, value))
    values = dict(rows)
    start = elf.offset_of(values.get(_STRTAB, -1))
    size = min(values.get(_STRSZ, 0), _STRINGS_LIMIT)
    if start is None:
        raise ParserError("the dynamic section names no table of strings")

    def text(offset: int, limit: int = _WINDOW) -> str:
        return name_at(blocks.at(start + offset, min(limit, size - offset)), 0, limit) if 0 <= offset < size else ""

    paths = {tag: text(values[tag], _LONGEST_PATHS) for tag in (_RPATH, _RUNPATH) if tag in values}
    offsets = {t: elf.offset_of(values[t]) for t in _TABLES if t in values}
    tables = {tag: offset for tag, offset in offsets.items() if offset is not None}
    return Dynamic(
        tuple(name for tag, value in rows if tag == _NEEDED and (name := text(value))),
        text(values[_SONAME]) or None if _SONAME in values else None,
        paths.get(_RPATH),
        paths.get(_RUNPATH),
        bool(values.get(_FLAGS_1, 0) & _NODEFLIB),
        {**tables, **{n: min(values.get(n, 0), _MOST_VERSIONS) for n in (_VERNEEDNUM, _VERDEFNUM)}},
        (start, size),
    )


def versions(blocks: Blocks, elf: Elf, tags: Dynamic, of: Collection[str]) -> Versions:
    """Of the libraries named by `of`. The loader compares them before it takes a library, and gives up where one lacks:
    `version 'GLIBC_2.34' not found`."""
    start, size = tags.strings

    def text(offset: int) -> str:  # a large library's table of strings has 100 MB
        return name_at(blocks.at(start + offset, min(_LONGEST_VERSION, size - offset)), 0) if offset < size else ""

    wanted: list[tuple[str, str]] = []
    for rest, (_, count, file, aux, step) in _chained(blocks, elf, tags, _VERNEED, _VERNEEDNUM, "HHIII"):
        place, library = aux, text(file)
        if library not in of:
            count = 0
        for _ in range(min(count, _MOST_VERSIONS)):
            if place + 16 > len(rest):
                break
            _, flags, _, name, ahead = struct.unpack_from(f"{elf.order}IHHII", rest, place)
            if not flags & _WEAK_VERSION and len(wanted) < _MOST_VERSIONS:
                wanted.append((library, text(name)))
            place += ahead
            if not ahead:
                break
        if not step:
            break
    defined: list[str] = []
    if tags.soname not in of:
        return Versions(tuple(wanted), ())
    for rest, (_, _, _, _, _, aux, step) in _chained(blocks, elf, tags, _VERDEF, _VERDEFNUM, "HHHHIII"):
        if aux + 4 <= len(rest):
            defined.append(text(struct.unpack_from(f"{elf.order}I", rest, aux)[0]))
        if not step:
            break
    return Versions(tuple(wanted), tuple(defined))


def _chained(
    blocks: Blocks, elf: Elf, tags: Dynamic, table: int, number: int, form: str
) -> Iterator[tuple[bytes, tuple[int, ...]]]:
    """Records of a table in which each says how far the next one is (its last number)."""
    layout = struct.Struct(f"{elf.order}{form}")
    content = blocks.at(tags.tables[table], _VERSIONS_LIMIT) if table in tags.tables else b""
    place = 0
    for _ in range(tags.tables.get(number, 0)):
        if place + layout.size > len(content):
            return
        record = layout.unpack_from(content, place)
        yield content[place:], record
        place += record[-1]


def interpreter(blocks: Blocks, elf: Elf) -> str | None:
    """The loader that an executable asks for: `/lib64/ld-linux-x86-64.so.2`."""
    segment = next((s for s in elf.segments if s.kind == PT_INTERP), None)
    return name_at(blocks.at(segment.offset, min(segment.file_size, 512)), 0) or None if segment else None


def build_id(blocks: Blocks, elf: Elf) -> str | None:
    """The build's fingerprint, from the notes: two files that share it are copies of one."""
    for segment in elf.segments:
        if segment.kind != PT_NOTE:
            continue
        content, place = blocks.at(segment.offset, min(segment.file_size, _WINDOW)), 0
        while place + 12 <= len(content):
            name_size, size, kind = struct.unpack_from(f"{elf.order}III", content, place)
            name = content[place + 12 : place + 12 + name_size]
            start = place + 12 + (name_size + 3) // 4 * 4
            if kind == _BUILD_ID and name == b"GNU\0" and 0 < size <= 64:
                return content[start : start + size].hex()
            place = start + (size + 3) // 4 * 4
    return None


def read(content: bytes) -> Dynamic | None:
    held = Held(content)
    return dynamic(held, head(held))
