"""Bytes of libtorch_python's read-only data -> the architectures that torch.cuda.get_arch_list() prints.

The build's list is there as one text: `sm_75 sm_80 sm_86 sm_90 sm_100 sm_120`, or `gfx90a gfx942` of a ROCm build.

>>> read(b"x\\0sm_80 sm_90a compute_90\\0y")
('sm_80', 'sm_90a', 'compute_90')
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.parsers.elf.blocks import Blocks, Held
from doctor.parsers.elf.elf import head

_NAME = rb"(?:(?:sm|compute)_\d{2,3}[af]?|gfx(?:[0-9a-f]{3,5}|\d{1,2}(?:-\d)?-generic))"
_LIST = re.compile(rb"(" + _NAME + rb"(?: " + _NAME + rb"){0,40})\0")
_NEAR = 2048
_SIGNS = (b"sm_", b"gfx", b"compute_")
_PIECE = 4 << 20
_MOST = 64 << 20
_MOST_HITS = 20_000


def find(content: bytes) -> tuple[str, ...] | None:
    """The longest list in a piece of data. What is before it may have no NUL at its end; a single name counts
    only behind one."""
    best: tuple[str, ...] = ()
    hits = 0
    for sign in _SIGNS:
        place = content.find(sign)
        while place >= 0 and hits < _MOST_HITS:
            hits += 1
            if match := _LIST.match(content, place, place + _NEAR):
                names = tuple(match[1].decode().split(" "))
                if len(names) > 1 or content[place - 1 : place] == b"\0":
                    best = max(best, names, key=len)
            place = content.find(sign, place + 1)
    return best or None


def arch_list(blocks: Blocks) -> tuple[str, ...]:
    """Of the whole library, of which only the read-only data is read. Raises ParserError where no list is there."""
    section = head(blocks).section(".rodata")
    if section is None:
        raise ParserError("no section .rodata")
    for start in range(0, min(section.size, _MOST), _PIECE):
        # pieces overlap, so that a list on their border is seen whole
        if found := find(blocks.at(section.offset + start, min(_PIECE + _NEAR, section.size - start))):
            return found
    raise ParserError("no list of architectures in the read-only data: a CPU build?")


def read(content: bytes) -> tuple[str, ...]:
    """Of that data itself. Raises ParserError where no list is there."""
    found = find(Held(b"\0" + content).at(0, len(content) + 1))
    if found is None:
        raise ParserError("no list of architectures")
    return found
