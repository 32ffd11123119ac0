"""Small binaries made byte by byte: ELF, fat binaries, offload bundles, static libraries."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from doctor.parsers.elf.elf_symbols import gnu_hash

SPECIFIC, FAMILY, LZ4, ZSTD = 0x100000, 0x200000, 0x2000, 0x8000


class Entry(NamedTuple):
    """One code of a fat binary. `kind` 1 PTX, 2 cubin."""

    arch: int
    kind: int = 2
    flags: int = 0x11
    size: int = 16


def fat_binary(*entries: Entry) -> bytes:
    body = b"".join(
        struct.pack("<HHIQIIHHIIIQQQ", e.kind, 0x101, 64, e.size, 0, 0, 7, 8, e.arch, 0, 0, e.flags, 0, 0)
        + bytes(e.size)
        for e in entries
    )
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def bundle(*ids: str) -> bytes:
    """An uncompressed offload bundle with empty codes."""
    head = 24 + 8 + sum(24 + len(name) for name in ids)
    rows = b"".join(struct.pack("<QQQ", head, 0, len(name)) + name.encode() for name in ids)
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(ids)) + rows


def packed_bundle(plain: bytes, version: int, method: str = "zlib") -> bytes:
    if method == "zlib":
        body = zlib.compress(plain)
    else:
        import zstandard

        body = zstandard.ZstdCompressor().compress(plain)
    number, digest = {"zlib": 0, "zstd": 1}[method], 0x1234
    sizes = {
        1: lambda: struct.pack("<IQ", len(plain), digest),
        2: lambda: struct.pack("<IIQ", 24 + len(body), len(plain), digest),
        3: lambda: struct.pack("<QQQ", 32 + len(body), len(plain), digest),
    }[version]()
    return struct.pack("<4sHH", b"CCOB", version, number) + sizes + body


def archive(*members: tuple[str, bytes]) -> bytes:
    """A static library, long names in a table as GNU's ar writes them."""
    names, rows = b"", []
    for name, content in members:
        short = f"{name}/" if len(name) < 16 else f"/{len(names)}"
        if len(name) >= 16:
            names += name.encode() + b"/\n"
        rows.append(_member(short, content))
    table = _member("//", names) if names else b""
    return b"!<arch>\n" + table + b"".join(rows)


def _member(name: str, content: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(content):<10}`\n".encode()
    return head + content + (b"\n" if len(content) % 2 else b"")


def elf(
    sections: Sequence[tuple[str, bytes]] = (),
    *,
    needed: Sequence[str] = (),
    soname: str | None = None,
    rpath: str | None = None,
    runpath: str | None = None,
    wants: Sequence[str] = (),
    defines: Sequence[str] = (),
    build_id: bytes = b"",
    machine: int = 62,
    flags: int = 0,
) -> bytes:
    """A 64-bit little-endian shared object. With `needed` or symbols it gets a dynamic section, whose addresses are its
    file offsets."""
    made: list[tuple[str, int, bytes, int, int]] = [(name, 1, content, 0, 0) for name, content in sections]
    segments: list[tuple[int, str]] = []
    if needed or soname or rpath is not None or runpath is not None or wants or defines:
        strings, place = _strings((*needed, soname or "", rpath or "", runpath or "", *wants, *defines))
        symbols, hashes = _symbols(wants, defines, place)
        tags = [(1, place[name]) for name in needed]
        tags += [(tag, place[text]) for tag, text in ((14, soname), (15, rpath), (29, runpath)) if text is not None]
        tags += [(5, -1), (10, len(strings)), (6, -2), (0x6FFFFEF5, -3), (0, 0)]
        made += [
            (".dynstr", 3, strings, 0, 0),
            (".dynsym", 11, symbols, 0, 24),
            (".gnu.hash", 0x6FFFFFF6, hashes, 0, 0),
            (".dynamic", 6, b"".join(struct.pack("<qQ", t, max(v, 0)) for t, v in tags), 0, 16),
        ]
        segments.append((2, ".dynamic"))
    if build_id:
        note = struct.pack("<III", 4, len(build_id), 3) + b"GNU\0" + build_id
        made.append((".note.gnu.build-id", 7, note, 0, 0))
        segments.append((4, ".note.gnu.build-id"))
    return _laid_out(made, segments, machine, flags)


def _strings(texts: Sequence[str]) -> tuple[bytes, dict[str, int]]:
    content, place = b"\0", {"": 0}
    for text in texts:
        if text not in place:
            place[text] = len(content)
            content += text.encode() + b"\0"
    return content, place


def _symbols(wants: Sequence[str], defines: Sequence[str], place: dict[str, int]) -> tuple[bytes, bytes]:
    """The table of symbols, and a GNU hash table of one bucket over those that are defined."""
    rows = [bytes(24)]
    rows += [struct.pack("<IBBHQQ", place[name], 0x12, 0, 0, 0, 0) for name in wants]
    first = len(rows)
    rows += [struct.pack("<IBBHQQ", place[name], 0x12, 0, 1, 0x1000, 8) for name in defines]
    codes = [gnu_hash(name.encode()) for name in defines]
    chain = [code & ~1 for code in codes]
    if chain:
        chain[-1] |= 1
    words = struct.pack("<IIII", 1, first, 1, 6) + struct.pack("<Q", 2**64 - 1)
    table = struct.pack("<I", first if codes else 0) + b"".join(struct.pack("<I", code) for code in chain)
    return b"".join(rows), words + table


def _laid_out(
    made: list[tuple[str, int, bytes, int, int]], segments: list[tuple[int, str]], machine: int, flags: int
) -> bytes:
    names, place = _strings([name for name, *_ in made] + [".shstrtab"])
    made = [*made, (".shstrtab", 3, names, 0, 0)]
    head = 64 + 56 * (len(segments) + 1)
    offsets, content = {}, b""
    for name, _, body, _, _ in made:
        content += bytes(-(head + len(content)) % 16)
        offsets[name] = head + len(content)
        content += body
    content = _fixed(content, head, offsets)
    table = head + len(content) + -(head + len(content)) % 8
    rows = [bytes(64)] + [
        struct.pack("<IIQQQQIIQQ", place[n], kind, 0, 0, offsets[n], len(body), 0, 0, 8, size)
        for n, kind, body, _, size in made
    ]
    parts = [struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, head + len(content), head + len(content), 4096)]
    sizes = {name: len(body) for name, _, body, _, _ in made}
    parts += [
        struct.pack("<IIQQQQQQ", kind, 4, offsets[n], offsets[n], 0, sizes[n], sizes[n], 8) for kind, n in segments
    ]
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = ident + struct.pack(
        "<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, table, flags, 64, 56, len(parts), 64, len(rows), len(made)
    )
    return header + b"".join(parts) + content + bytes(table - head - len(content)) + b"".join(rows)


def _fixed(content: bytes, head: int, offsets: dict[str, int]) -> bytes:
    """The dynamic section with the addresses of its tables put in."""
    if ".dynamic" not in offsets:
        return content
    image, place = bytearray(content), offsets[".dynamic"] - head
    tables = {5: ".dynstr", 6: ".dynsym", 0x6FFFFEF5: ".gnu.hash"}
    while True:
        (tag,) = struct.unpack_from("<q", image, place)
        if tag in tables:
            struct.pack_into("<Q", image, place + 8, offsets[tables[tag]])
        if tag == 0:
            return bytes(image)
        place += 16
