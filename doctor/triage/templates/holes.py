"""The typed holes of a template: what may stand where a program's source has a format argument.

A hole takes a bounded run of characters of its class; its shape is then checked on that run alone. Nothing here
backtracks over a line.

>>> fits(HOLES["soname"], (), "/usr/lib/libcudart.so.12"), fits(HOLES["soname"], ("libcublas",), "libcudart.so.12")
(True, False)
>>> fits(HOLES["int"], ("803", "804"), "803"), fits(HOLES["int"], ("80",), "803")
(True, False)
"""

from __future__ import annotations

import re
import string
from typing import NamedTuple

_ALNUM = frozenset(string.ascii_lowercase + string.digits)
_PATH = 200
_WORD = 80


class Hole(NamedTuple):
    """`may` are the characters that it takes (None: any), `most` how many of them, `shape` what they must look like."""

    name: str
    may: frozenset[str] | None
    most: int
    shape: re.Pattern[str]
    empty: bool = False
    """Whether nothing at all fits too."""


def _hole(name: str, may: str | None, most: int, shape: str, *, empty: bool = False) -> Hole:
    taken = None if may is None else _ALNUM | frozenset(may)
    return Hole(name, taken, most, re.compile(shape), empty)


_PRINTED = "".join(c for c in string.punctuation)

HOLES = {
    hole.name: hole
    for hole in (
        _hole("int", "-", 20, r"-?[0-9]+"),
        _hole("number", ".-+", 30, r"[-+]?[0-9.]+(?:e[-+]?[0-9]+)?"),
        _hole("hex", "", 34, r"(?:0x)?[0-9a-f]+"),
        _hole("version", ".-+_~", 60, r"[rv]?[0-9][a-z0-9.+_~-]*"),
        _hole("uuid", "-", 60, r"(?:gpu-|mig-)?[0-9a-f]+(?:-[0-9a-f]+)+"),
        _hole("pci", ":.", 20, r"(?:[0-9a-f]+:)?[0-9a-f]{1,2}:[0-9a-f]{1,2}(?:\.[0-9a-f])?"),
        _hole("soname", "._+-/", _PATH, r"(?:[a-z0-9._+/-]*/)?[a-z0-9_+][a-z0-9._+-]*\.so(?:\.[a-z0-9.]+)?"),
        _hole("path", "".join(set(_PRINTED) - set("'\"`")), _PATH, r"[^\s'\"`]+"),
        _hole("word", _PRINTED, _WORD, r"\S+"),
        _hole("name", "_.-", _WORD, r"[a-z0-9_.-]+"),
        _hole("symbol", "_$.@", 300, r"[a-z_$][a-z0-9_$.@]*"),
        _hole("gfx", ":+-", 40, r"gfx[0-9a-f]{3,5}(?:[:+a-z-]*)"),
        _hole("sm", "_.", 20, r"(?:sm_?|compute_?)?[0-9]+(?:\.[0-9])?[af]?"),
        _hole("quoted", None, 160, r"'[^']*'|\"[^\"]*\"|`[^`']*[`']"),
        _hole("any", None, 120, r".*", empty=True),
    )
}


def fits(hole: Hole, choices: tuple[str, ...], text: str) -> bool:
    """Whether the text (in lower case) may be in the hole. `choices`: it must begin with one of them; a path before
    a library's name is skipped first, and a whole number must be equal."""
    if len(text) > hole.most or not (text or hole.empty) or not hole.shape.fullmatch(text):
        return False
    if not choices:
        return True
    if hole.name == "int":
        return text in choices
    start = text.rpartition("/")[2] if hole.name == "soname" else text
    return start.startswith(choices)
