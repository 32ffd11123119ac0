"""Bytes of etc/ld.so.cache -> the libraries that the loader finds without a folder in their name, in its own order.

The format is glibc's `glibc-ld.so.cache1.1` (elf/cache.c): a header of 48 bytes, entries of 24, then the names. An old
cache has another table before it, which is skipped.
"""

from __future__ import annotations

import struct

from doctor.errors import ParserError
from doctor.parsers.lib.printable import clean

_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER, _ENTRY = 48, struct.Struct("<iIIIQ")
_MOST = 100_000


def read(data: bytes) -> tuple[tuple[str, str], ...]:
    """(name, path) of every entry. ParserError where it is no cache."""
    start = data.find(_MAGIC)
    if start < 0 or start + _HEADER > len(data):
        raise ParserError("no table of ld.so.cache")
    (count,) = struct.unpack_from("<I", data, start + 20)
    table = data[start + _HEADER : start + _HEADER + min(count, _MOST) * _ENTRY.size]
    entries = _ENTRY.iter_unpack(table[: len(table) // _ENTRY.size * _ENTRY.size])
    return tuple((_text(data, start + key), _text(data, start + value)) for _, key, value, _, _ in entries)


def _text(data: bytes, place: int) -> str:
    end = data.find(b"\0", place, place + 4096)
    return clean(data[place : max(end, place)].decode("utf-8", "replace"), 4096)
