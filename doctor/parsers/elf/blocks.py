"""Bytes of a file by offset: what the parsers of binaries take, so that a library of gigabytes costs a few pages.

>>> held = Held(b"0123456789")
>>> held.at(2, 3), Window(held, 4, 4).at(2, 9), Window(held, 4, 4).size
(b'234', b'67', 4)
"""

from __future__ import annotations

import struct
from typing import Any, Protocol

from doctor.errors import ParserError
from doctor.parsers.lib.printable import clean


class Blocks(Protocol):
    """`system.base.Ranges`, or bytes that are held already."""

    size: int

    def at(self, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset`; fewer at the end, none behind it."""
        ...


class Held:
    def __init__(self, content: bytes) -> None:
        self._content, self.size = content, len(content)

    def at(self, offset: int, length: int) -> bytes:
        return self._content[offset : offset + length] if offset >= 0 and length > 0 else b""


class Window:
    """A part of other blocks, as if it were a file: a member of an archive."""

    def __init__(self, inner: Blocks, offset: int, size: int) -> None:
        self._inner, self._offset = inner, offset
        self.size = max(0, min(size, inner.size - offset))

    def at(self, offset: int, length: int) -> bytes:
        if offset < 0 or offset >= self.size:
            return b""
        return self._inner.at(self._offset + offset, min(length, self.size - offset))


def unpack(layout: struct.Struct, blocks: Blocks, offset: int, what: str) -> tuple[Any, ...]:
    """The fields at an offset. Raises ParserError where the file ends before them."""
    found = blocks.at(offset, layout.size)
    if len(found) < layout.size:
        raise ParserError(f"{what} at byte {offset}: the file ends before it")
    return layout.unpack(found)


def name_at(table: bytes, offset: int, limit: int = 512) -> str:
    """The NUL-terminated text at an offset of a string table; printable, at most `limit` characters."""
    end = table.find(b"\0", offset, offset + limit)
    raw = table[offset : end if end >= 0 else offset + limit] if 0 <= offset < len(table) else b""
    return clean(raw.decode("utf-8", "replace"), limit)
