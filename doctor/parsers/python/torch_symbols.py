"""Mangled C++ names -> whether torch defines them, in words, and which C++ ABI they were compiled with.

>>> is_torchs("_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"), is_torchs("_ZNSt6vectorIiE")
(True, False)
>>> plain("_ZN3c106detail14torchCheckFailEPKcS2_jRKSs")
'c10::detail::torchCheckFail'
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from doctor.errors import ParserError

if TYPE_CHECKING:
    from doctor.parsers.elf.blocks import Blocks

_TORCHS = re.compile(r"^_Z(?:T[VTIS]|G[VR])?N[KVRO]{0,3}(?:3c10|2at|5torch|6caffe2)(?=[\dCDSaIL])")
_C_NAMES = ("aoti_torch_", "THPVariable_", "THPDtype_", "THPDevice_")
_NESTED = re.compile(r"^_Z(?:T[VTIS])?N[KVRO]{0,3}")
_PART = re.compile(r"(\d{1,3})")
_NEW = "NSt7__cxx1112basic_string"
_OLD = re.compile(r"(?:RKSs|[A-Z]Ss|Ss[A-Z]|Ss$)")
_ERRORS = {
    True: "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    False: "_ZN3c105ErrorC2ENS_14SourceLocationESs",
}
"""The constructor of c10::Error, as each ABI mangles its string (libc10.so of torch 1.13 to 2.14)."""
_MOST_PARTS = 12


def is_torchs(name: str) -> bool:
    """Whether a name lies in one of torch's namespaces, or is one of its C functions."""
    return bool(_TORCHS.match(name[:200])) or name.startswith(_C_NAMES)


def plain(name: str) -> str:
    """The qualified name without its arguments; the name itself where it is not mangled that way."""
    match = _NESTED.match(name)
    if not match:
        return name[:200]
    place = match.end()
    parts: list[str] = []
    while len(parts) < _MOST_PARTS and (number := _PART.match(name, place)):
        start = number.end()
        place = start + int(number[1])
        parts.append(name[start:place])
    return "::".join(p for p in parts if p)[:200] or name[:200]


def abi_of(names: Iterable[str]) -> bool | None:
    """True: the new ABI of GCC 5, False: the old one, None: no name says it, or they differ."""
    new = {_NEW in name for name in names if _NEW in name or _OLD.search(name)}
    return new.pop() if len(new) == 1 else None


def cxx11_abi(blocks: Blocks) -> bool:
    """Of libc10.so itself. Raises ParserError where it defines c10::Error in neither way."""
    from doctor.parsers.elf import elf, elf_dynamic, elf_symbols  # rules take the names alone from this module

    held = elf.head(blocks)
    tags = elf_dynamic.dynamic(blocks, held)
    if tags is None:
        raise ParserError("no dynamic section")
    defines = elf_symbols.Definitions(blocks, held, tags)
    for new, name in _ERRORS.items():
        if name in defines:
            return new
    raise ParserError("c10::Error is not defined in it")
