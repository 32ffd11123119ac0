"""Damaged binaries: every reader of bytes answers or raises ParserError, soon, and keeps no control characters."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.errors import ParserError
from doctor.parsers.elf import archive, elf, elf_dynamic, elf_symbols, fatbin, gpu_code, offload_bundle
from doctor.parsers.elf.blocks import Held
from doctor.parsers.python import torch_strings
from doctor.parsers.python.torch_symbols import cxx11_abi
from tests.each import each
from tests.parsers import binaries, surface
from tests.parsers.binaries import Entry

MI = "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
WHOLE = binaries.elf(
    [
        (".nv_fatbin", binaries.fat_binary(Entry(80), Entry(90, kind=1)) * 2),
        (".hip_fatbin", binaries.packed_bundle(binaries.bundle(MI), 2, "zstd")),
        (".rodata", b"sm_80 sm_90\0"),
    ],
    needed=("libc10.so",), rpath="$ORIGIN", wants=("_ZN3c105ErrorE",), defines=("_ZN2at3addE",), build_id=b"1234",
)  # fmt: skip
SAMPLES = (
    WHOLE,
    binaries.fat_binary(Entry(80), Entry(90)),
    binaries.bundle(MI, MI),
    *(binaries.packed_bundle(binaries.bundle(MI), v, m) for v in (1, 2, 3) for m in ("zlib", "zstd")),
    binaries.archive(("a.o", WHOLE), ("a_long_name_that_needs_the_table.o", WHOLE)),
)


def _lacking(content: bytes) -> list[str]:
    return elf_symbols.lacking(Held(content), ["_ZN2at3addE", "x"])


READERS: dict[str, Callable[[bytes], Any]] = {
    "elf": elf.read, "dynamic": elf_dynamic.read, "symbols": elf_symbols.read, "lacking": _lacking,
    "fatbin": fatbin.read, "bundle": offload_bundle.read, "archive": archive.read, "code": gpu_code.read,
    "strings": torch_strings.read, "abi": lambda content: cxx11_abi(Held(content)),
}  # fmt: skip
QUICK = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
NUMBERS = (0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63 - 1, 2**64 - 1)


def damaged(content: bytes, seed: int, steps: int) -> bytes:
    """Cut, with bytes changed, or with numbers put where sizes and offsets stand; the same for the same seed."""
    dice, image = random.Random(seed), bytearray(content)
    for _ in range(steps):
        how, place = dice.randrange(5), dice.randrange(max(1, len(image) - 8))
        if how == 0:
            del image[place:]
        elif how == 1:
            image[place : place + 1] = bytes([dice.randrange(256)])
        elif how == 2:
            layout = dice.choice(("<H", "<I", "<Q"))
            number = dice.choice(NUMBERS) & (2 ** (8 * struct.calcsize(layout)) - 1)
            image[place : place + struct.calcsize(layout)] = struct.pack(layout, number)
        elif how == 3:
            image[place:place] = image[: dice.randrange(200)]
        else:
            del image[place : place + dice.randrange(64)]
    return bytes(image)


@QUICK
@given(st.sampled_from(SAMPLES), st.integers(0, 2**32), st.integers(1, 6))
def test_damage_is_told_as_such(sample: bytes, seed: int, steps: int) -> None:
    content = damaged(sample, seed, steps)
    for name, run in READERS.items():
        try:
            found = run(content)
        except ParserError:
            continue
        for word in surface.words_of(found):
            assert not surface.unclean(word), f"{name} keeps {word[:80]!r}"


@QUICK
@given(st.binary(max_size=2000))
def test_any_bytes(content: bytes) -> None:
    for start in (b"", b"\x7fELF\x02\x01\x01", b"CCOB\x02\0\x01\0", b"__CLANG_OFFLOAD_BUNDLE__", b"!<arch>\n"):
        for run in READERS.values():
            with suppress(ParserError):
                run(start + content)


@each("name", READERS)
def test_each_place_of_a_library_holding_the_largest_number(name: str) -> None:
    for place in range(0, min(len(WHOLE) - 8, 1200), 4):
        image = bytearray(WHOLE)
        image[place : place + 8] = b"\xff" * 8
        try:
            READERS[name](bytes(image))
        except ParserError:
            continue


def test_a_compressed_bundle_that_claims_to_be_huge_costs_little() -> None:
    import zstandard

    bomb = zstandard.ZstdCompressor().compress(binaries.bundle(MI) + bytes(200 << 20))
    content = struct.pack("<4sHHIIQ", b"CCOB", 2, 1, 24 + len(bomb), 200 << 20, 0) + bomb
    (found,) = offload_bundle.read(content)
    assert found.targets == ("gfx942:sramecc+:xnack-",)
