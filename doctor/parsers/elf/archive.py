"""A static library (.a) -> its members: name, and where each lies. The contents are not read.

Both the plain and the thin form of ar are read, with GNU's long names (`//`) and BSD's (`#1/20`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from doctor.errors import ParserError
from doctor.parsers.elf.blocks import Blocks, Held

MAGIC = b"!<arch>\n"
THIN = b"!<thin>\n"
_HEADER = 60
_MOST_MEMBERS = 50_000
_NAMES_LIMIT = 4 << 20
_LONGEST = 200


class Member(NamedTuple):
    """`offset` is that of the content; None in a thin archive, which keeps its members outside."""

    name: str
    offset: int | None
    size: int


def members(blocks: Blocks) -> Iterator[Member]:
    """Tables of the archive itself are left out. Raises ParserError for what is no archive; damage further on ends the
    walk."""
    magic = blocks.at(0, len(MAGIC))
    if magic not in (MAGIC, THIN):
        raise ParserError("no static library")
    thin, place, names = magic == THIN, len(MAGIC), b""
    for _ in range(_MOST_MEMBERS):
        header = blocks.at(place, _HEADER)
        if len(header) < _HEADER or header[58:60] != b"`\n":
            return
        digits = header[48:58].strip()
        if not digits.isdigit():
            return
        size, raw, start = int(digits), header[:16].rstrip(), place + _HEADER
        table = raw in (b"/", b"//", b"/SYM64/", b"__.SYMDEF")
        if raw == b"//":
            names = blocks.at(start, min(size, _NAMES_LIMIT))
        if not table:
            name, skipped = _name(blocks, raw, names, start, size)
            yield Member(name, None if thin else start + skipped, size - skipped)
        stored = size if table or not thin else 0
        place = start + stored + stored % 2


def _name(blocks: Blocks, raw: bytes, names: bytes, start: int, size: int) -> tuple[str, int]:
    """The member's name, and how many bytes of its content the name takes (BSD)."""
    if raw.startswith(b"#1/") and raw[3:].isdigit():
        length = min(int(raw[3:]), size, _LONGEST)
        return _text(blocks.at(start, length).rstrip(b"\0")), min(int(raw[3:]), size)
    if raw.startswith(b"/") and raw[1:].isdigit():
        place = int(raw[1:])
        end = names.find(b"\n", place, place + 4096)
        return _text(names[place : end if end >= 0 else place + _LONGEST].rstrip(b"/")), 0
    return _text(raw.rstrip(b"/")), 0


def _text(raw: bytes) -> str:
    return "".join(c for c in raw.decode("utf-8", "replace") if c.isprintable())[:_LONGEST]


def read(content: bytes) -> tuple[Member, ...]:
    return tuple(members(Held(content)))
