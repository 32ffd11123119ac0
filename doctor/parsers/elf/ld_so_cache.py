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


def read(data: bytes, stems: tuple[str, ...] | None = None) -> tuple[tuple[str, str], ...]:
    """(name, path) of every entry whose name starts with one of `stems` and `.so`; of all without `stems`. ParserError
    where it is no cache."""
    start = data.find(_MAGIC)
    if start < 0 or start + _HEADER > len(data):
        raise ParserError("no table of ld.so.cache")
    (count,) = struct.unpack_from("<I", data, start + 20)
    table = data[start + _HEADER : start + _HEADER + min(count, _MOST) * _ENTRY.size]
    wanted = tuple(f"{stem}.so".encode() for stem in stems) if stems is not None else b""
    found = []
    for _, key, value, _, _ in _ENTRY.iter_unpack(table[: len(table) // _ENTRY.size * _ENTRY.size]):
        if data.startswith(wanted, start + key):
            found.append((_text(data, start + key), _text(data, start + value)))
    return tuple(found)


def _text(data: bytes, place: int) -> str:
    end = data.find(b"\0", place, place + 4096)
    return clean(data[place : max(end, place)].decode("utf-8", "replace"), 4096)
