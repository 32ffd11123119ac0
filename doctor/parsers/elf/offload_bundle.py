"""AMD's offload bundles (.hip_fatbin, code object archives) -> the gfx targets that each object brings.

A bundle starts with `__CLANG_OFFLOAD_BUNDLE__`, the number of entries, and for each its offset, size and id
(`hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-`). A compressed one starts with `CCOB`: version 1 (sizes of 32 bits,
no size of the file), 2 (with it), 3 (sizes of 64 bits), each with method 0 zlib or 1 zstd (clang's OffloadBundler,
llvm.org ClangOffloadBundler). Of a compressed bundle only as much is unpacked as its header needs.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from doctor.errors import ParserError
from doctor.parsers.elf.blocks import Blocks, Held

PLAIN = b"__CLANG_OFFLOAD_BUNDLE__"
PACKED = b"CCOB"
SECTIONS = (".hip_fatbin", ".hipFatBin")
_COUNT = struct.Struct("<Q")
_ENTRY = struct.Struct("<QQQ")
_PACKED_HEAD = struct.Struct("<4sHH")
_SIZES = {1: struct.Struct("<IQ"), 2: struct.Struct("<IIQ"), 3: struct.Struct("<QQQ")}
_METHODS = {0: "zlib", 1: "zstd"}
_MOST_ENTRIES = 256
_MOST_BUNDLES = 4096
_PAGE = 4096
_HEAD_BYTES = 64 << 10
"""Unpacked bytes of a compressed bundle that are looked at: the header of 256 entries fits."""
_TAKEN = 1 << 20
"""Packed bytes that are handed to the unpacker: one zstd block is 128 KiB at most."""
_SCAN = 1 << 22
"""Bytes whose pages are searched for the next bundle: version 1 has no size of its file."""
_TARGET = re.compile(r"^(?!host-).{0,120}?-(?P<target>gfx[0-9a-z][0-9a-z:+\-]{2,60})$")


class Bundle(NamedTuple):
    """`targets` as the ids say them, host entries left out: `gfx90a:sramecc+:xnack-`, `gfx11-generic`. `compressed` is
    `zstd` or `zlib`, with `version` of the CCOB header; a plain bundle has neither."""

    targets: tuple[str, ...]
    compressed: str | None
    version: int | None
    size: int | None


def bundles(blocks: Blocks, offset: int, size: int) -> Iterator[Bundle]:
    """Each bundle between the two offsets. Raises ParserError where none starts there; damage further on ends the
    walk. ParserError too where one is compressed with zstd and no unpacker is installed."""
    place, end = offset, min(offset + size, blocks.size)
    for number in range(_MOST_BUNDLES):
        head = blocks.at(place, 64)
        if head.startswith(PLAIN):
            found, length = _plain(blocks, place, end)
        elif head.startswith(PACKED):
            found, length = _packed(blocks, place, end)
        elif number == 0:
            raise ParserError("no offload bundle where its section says")
        else:
            return
        yield found
        following = _next(blocks, offset, place + length, end)
        if following is None:
            return
        place = following


def _next(blocks: Blocks, start: int, place: int, end: int) -> int | None:
    """Where the next bundle of a section that begins at `start` lies: right behind, or at one of the next pages, to
    which compilers align each bundle. A magic elsewhere may be the inside of a compressed one."""
    aligned = place + -(place - start) % _PAGE
    for here in (place, aligned):
        if here + 64 <= end and blocks.at(here, len(PLAIN)).startswith((PLAIN, PACKED)):
            return here
    nearby = blocks.at(aligned, min(_SCAN, end - aligned)) if aligned < end else b""
    for offset in range(0, len(nearby) - 64, _PAGE):
        if nearby.startswith((PLAIN, PACKED), offset):
            return aligned + offset
    return None


def _plain(blocks: Blocks, place: int, end: int) -> tuple[Bundle, int]:
    ids, length = _entries(blocks.at(place, min(_HEAD_BYTES, end - place)))
    return Bundle(_targets(ids), None, None, length), max(length, len(PLAIN))


def _entries(head: bytes) -> tuple[list[str], int]:
    """Ids of a bundle's entries, and where the last one ends. Raises ParserError for a damaged header."""
    if not head.startswith(PLAIN) or len(head) < len(PLAIN) + _COUNT.size:
        raise ParserError("no offload bundle")
    (count,) = _COUNT.unpack_from(head, len(PLAIN))
    place, length, ids = len(PLAIN) + _COUNT.size, 0, []
    for _ in range(min(count, _MOST_ENTRIES)):
        if place + _ENTRY.size > len(head):
            raise ParserError("an offload bundle whose list of entries is cut short")
        offset, size, name_size = _ENTRY.unpack_from(head, place)
        place += _ENTRY.size
        ids.append(head[place : place + min(name_size, 200)].decode("ascii", "replace"))
        place, length = place + min(name_size, 1 << 16), max(length, offset + size)
    return ids, min(length, 1 << 40)


def _targets(ids: list[str]) -> tuple[str, ...]:
    return tuple(sorted({match["target"] for name in ids if (match := _TARGET.match(name))}))


def _packed(blocks: Blocks, place: int, end: int) -> tuple[Bundle, int]:
    head = blocks.at(place, 64)
    if len(head) < 32:
        raise ParserError("a compressed offload bundle that is cut short")
    _, version, method = _PACKED_HEAD.unpack_from(head)
    sizes = _SIZES.get(version)
    if sizes is None or method not in _METHODS:
        raise ParserError(f"a compressed offload bundle of version {version}, method {method}")
    numbers = sizes.unpack_from(head, _PACKED_HEAD.size)
    header = _PACKED_HEAD.size + sizes.size
    length = numbers[0] if version > 1 else header
    payload = blocks.at(place + header, min(_TAKEN, end - place - header))
    ids, _ = _entries(_unpacked(payload, _METHODS[method]))
    return Bundle(_targets(ids), _METHODS[method], version, numbers[0] if version > 1 else None), max(length, header)


def _unpacked(payload: bytes, method: str) -> bytes:
    """The first bytes of what is packed. Raises ParserError."""
    if method == "zlib":
        try:
            return zlib.decompressobj().decompress(payload, _HEAD_BYTES)
        except zlib.error as error:
            raise ParserError(f"zlib: {error}") from error
    try:
        import zstandard
    except ImportError as error:  # pragma: no cover -- it is among the dependencies
        raise ParserError("packed with zstd, and the zstandard package is not installed") from error
    try:
        return bytes(zstandard.ZstdDecompressor().stream_reader(payload).read(_HEAD_BYTES))
    except zstandard.ZstdError as error:
        raise ParserError(f"zstd: {str(error)[:80]}") from error


def read(content: bytes) -> tuple[Bundle, ...]:
    """The bundles of one section's bytes, or of one file."""
    held = Held(content)
    return tuple(bundles(held, 0, held.size))
