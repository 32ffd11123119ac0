"""An ELF file's dynamic symbols: which names it wants from others, and whether it defines a name.

A name is looked up as the loader does it, through the hash table, so that a library of 200,000 symbols costs a few
reads for each name and not a pass over all of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from doctor.errors import ParserError
from doctor.parsers.elf.blocks import Blocks, Held, name_at
from doctor.parsers.elf.elf import SHT_DYNSYM, Elf, head
from doctor.parsers.elf.elf_dynamic import Dynamic, dynamic

_SYMTAB, _GNU_HASH, _HASH = 6, 0x6FFFFEF5, 4
_MOST_SYMBOLS = 400_000
_LONGEST_NAME = 4096
_WEAK = 2
_LOCAL = 0
_TABLE_LIMIT = 32 << 20
_MOST_IN_CHAIN = 4096


class Symbol(NamedTuple):
    name: str
    weak: bool


class _Entry(NamedTuple):
    layout: struct.Struct
    size: int


def _entry(elf: Elf) -> _Entry:
    layout = struct.Struct(f"{elf.order}IBBHQQ" if elf.bits == 64 else f"{elf.order}IIIBBH")
    return _Entry(layout, layout.size)


def undefined(blocks: Blocks, elf: Elf, tags: Dynamic) -> Iterator[Symbol]:
    """Names that the file wants from the libraries loaded with it, in the order of its table."""
    offset, count = _table(blocks, elf, tags)
    entry = _entry(elf)
    table = blocks.at(offset, entry.size * count)
    start, size = tags.strings
    strings = blocks.at(start, size)
    for row in entry.layout.iter_unpack(table[: len(table) // entry.size * entry.size]):
        info, section = (row[1], row[3]) if elf.bits == 64 else (row[3], row[5])
        if section == 0 and row[0] and info >> 4 != _LOCAL:
            yield Symbol(name_at(strings, row[0], _LONGEST_NAME), info >> 4 == _WEAK)


def _table(blocks: Blocks, elf: Elf, tags: Dynamic) -> tuple[int, int]:
    """Offset of the symbols and how many there are: the section says it, else the old hash table does."""
    entry = _entry(elf).size
    section = next((s for s in elf.sections if s.kind == SHT_DYNSYM), None)
    if section is not None:
        return section.offset, min(section.size // entry, _MOST_SYMBOLS)
    if _SYMTAB in tags.tables and _HASH in tags.tables:
        chains = blocks.at(tags.tables[_HASH] + 4, 4)
        if len(chains) == 4:
            return tags.tables[_SYMTAB], min(struct.unpack(f"{elf.order}I", chains)[0], _MOST_SYMBOLS)
    raise ParserError("neither a section nor a hash table says how many symbols there are")


class Definitions:
    """What one library defines. Raises ParserError where it has no GNU hash table."""

    def __init__(self, blocks: Blocks, elf: Elf, tags: Dynamic) -> None:
        self._blocks, self._elf, self._told = blocks, elf, tags
        start = tags.tables.get(_GNU_HASH)
        self._symbols = tags.tables.get(_SYMTAB)
        header = blocks.at(start, 16) if start is not None else b""
        if start is None or self._symbols is None or len(header) < 16:
            raise ParserError("no GNU hash table")
        self._buckets, self._first, words, self._shift = struct.unpack(f"{elf.order}IIII", header)
        word = elf.bits // 8
        if not 0 < self._buckets <= _MOST_SYMBOLS or not 0 < words <= _TABLE_LIMIT // word:
            raise ParserError("a GNU hash table of no likely size")
        self._word, self._words, self._bloom = word, words, start + 16
        self._bucket_table = self._bloom + words * word
        self._chains = self._bucket_table + 4 * self._buckets

    def __contains__(self, name: str) -> bool:
        return self._find(name) is not None

    def bytes_of(self, name: str, most: int) -> bytes | None:
        """What the file holds at a variable of that name, at most `most` bytes; None where there is none."""
        index = self._find(name)
        entry = _entry(self._elf)
        row = self._blocks.at((self._symbols or 0) + index * entry.size, entry.size) if index is not None else b""
        if len(row) < entry.size:
            return None
        fields = entry.layout.unpack(row)
        address, size = (fields[4], fields[5]) if self._elf.bits == 64 else (fields[1], fields[2])
        offset = self._elf.offset_of(address)
        return self._blocks.at(offset, min(size, most)) if offset is not None else None

    def _find(self, name: str) -> int | None:
        wanted = name.encode("utf-8", "replace")
        code = gnu_hash(wanted)
        if not self._bloomed(code):
            return None
        index = self._number(self._bucket_table + 4 * (code % self._buckets))
        if index < self._first:
            return None
        chain = self._blocks.at(self._chains + 4 * (index - self._first), 4 * 64)
        for step in range(_MOST_IN_CHAIN):
            if 4 * step >= len(chain):
                chain += self._blocks.at(self._chains + 4 * (index - self._first + step), 4 * 64)
            if len(chain) < 4 * step + 4:
                return None
            (held,) = struct.unpack_from(f"{self._elf.order}I", chain, 4 * step)
            if held | 1 == code | 1 and self._is(index + step, wanted):
                return index + step
            if held & 1:
                return None
        return None

    def _bloomed(self, code: int) -> bool:
        """False: surely not there."""
        bits = self._elf.bits
        place = self._bloom + self._word * (code // bits % self._words)
        word = self._blocks.at(place, self._word)
        number = int.from_bytes(word, "little" if self._elf.order == "<" else "big")
        return bool(number >> (code % bits) & 1 and number >> ((code >> self._shift) % bits) & 1)

    def _number(self, offset: int) -> int:
        found = self._blocks.at(offset, 4)
        return int(struct.unpack(f"{self._elf.order}I", found)[0]) if len(found) == 4 else 0

    def _is(self, index: int, wanted: bytes) -> bool:
        entry = _entry(self._elf)
        row = self._blocks.at((self._symbols or 0) + index * entry.size, entry.size)
        if len(row) < entry.size:
            return False
        fields = entry.layout.unpack(row)
        section = fields[3] if self._elf.bits == 64 else fields[5]
        start, size = self._told.strings
        text = self._blocks.at(start + fields[0], len(wanted) + 1) if fields[0] < size else b""
        return section != 0 and text == wanted + b"\0"


def gnu_hash(name: bytes) -> int:
    """The hash of a symbol's name, as DT_GNU_HASH has it.

    >>> hex(gnu_hash(b"printf"))
    '0x156b2bb8'
    """
    code = 5381
    for byte in name:
        code = (code * 33 + byte) & 0xFFFFFFFF
    return code


def read(content: bytes) -> tuple[Symbol, ...]:
    """The undefined names of a whole file in memory; () for one that is linked with nothing."""
    held = Held(content)
    elf = head(held)
    tags = dynamic(held, elf)
    return tuple(undefined(held, elf, tags)) if tags else ()


def lacking(blocks: Blocks, names: Sequence[str]) -> list[str]:
    """Those of the names that a library does not define. Raises ParserError if unknown."""
    held = head(blocks)
    tags = dynamic(blocks, held)
    if tags is None:
        raise ParserError("no dynamic section")
    defines = Definitions(blocks, held, tags)
    return [name for name in names if name not in defines]
