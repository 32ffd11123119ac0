"""A library of cuDNN -> its release, from the variable that its siblings compare when they are loaded.

Three of cuDNN 9's libraries have one (graph, ops, adv; wheels 9.1.0 and 9.10.2); of the others nothing is known.
"""

from __future__ import annotations

from doctor.errors import ParserError
from doctor.parsers.elf.blocks import Blocks
from doctor.parsers.elf.elf import head
from doctor.parsers.elf.elf_dynamic import dynamic
from doctor.parsers.elf.elf_symbols import Definitions

_VARIABLES = ("cudnn_graph_version", "cudnn_ops_infer_version", "cudnn_adv_infer_version")


def read(blocks: Blocks) -> str | None:
    """`9.10.2`; None for a library without the variable. Raises ParserError for a file that is no library."""
    held = head(blocks)
    tags = dynamic(blocks, held)
    if tags is None:
        raise ParserError("no dynamic section")
    defines = Definitions(blocks, held, tags)
    for name in _VARIABLES:
        raw = defines.bytes_of(name, 8)
        if raw:
            return release(int.from_bytes(raw, "little" if held.order == "<" else "big"))
    return None


def release(number: int) -> str | None:
    """One byte each for major, minor and patch (9.1.0 and 9.10.2 hold it so).

    >>> release(0x090A02), release(0)
    ('9.10.2', None)
    """
    major, minor, patch = number >> 16, number >> 8 & 0xFF, number & 0xFF
    return f"{major}.{minor}.{patch}" if 0 < major < 100 else None
