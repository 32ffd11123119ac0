"""Texts that make a regular expression work hard, generated from the expression itself: what each of its repeats takes,
over and over, behind what stands before the repeat, and a sign at the end that nothing matches.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

_OLD = sys.version_info < (3, 11)
kind: Any = importlib.import_module("sre_constants" if _OLD else "re._constants")
parser: Any = importlib.import_module("sre_parse" if _OLD else "re._parser")

Items = Iterable[tuple[Any, Any]]
_REPEATS = {kind.MAX_REPEAT, kind.MIN_REPEAT, getattr(kind, "POSSESSIVE_REPEAT", kind.MAX_REPEAT)}
_ATOMIC = getattr(kind, "ATOMIC_GROUP", None)
_LONG = 16
"""A repeat of at most fewer is part of a word."""
_SIGNS = "a1A-=:/. _\"'\t\n@%+,;|[]{}()<>\\#$&*!?~^`"
_OF_CATEGORY = {kind.CATEGORY_DIGIT: "1", kind.CATEGORY_SPACE: " ", kind.CATEGORY_NOT_WORD: "-"}


def texts(pattern: re.Pattern[Any], size: int) -> Iterator[Any]:
    """Each of that size, as str or bytes like the pattern."""
    plain = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    flags = pattern.flags if isinstance(pattern.pattern, str) else pattern.flags | re.A
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = parser.parse(plain, flags & ~re.DEBUG & ~(re.U if flags & re.A else 0))
    units = {
        (unit, head)
        for before, one in _repeats(tree, "")
        for unit, head in ((one, before), (before + one, ""), (one, ""))
    }
    for unit, head in sorted(units):
        text = (head + unit * (size // len(unit) + 1))[:size] + "\0"
        yield text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")


def _repeats(items: Items, before: str) -> Iterator[tuple[str, str]]:
    """What stands before each long repeat, and what one round of it takes."""
    for what, value in items:
        if what in _REPEATS:
            if value[1] >= _LONG:
                yield before, _of(value[2]) or "a"
            yield from _repeats(value[2], before)
        elif what is kind.SUBPATTERN:
            yield from _repeats(value[3], before)
        elif what is kind.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch, before)
        elif what is _ATOMIC:
            yield from _repeats(value, before)
        before += _of([(what, value)])


def _of(items: Items) -> str:
    """A short text that the items match, as far as one can be had without searching."""
    out = ""
    for what, value in items:
        if what is kind.LITERAL:
            out += chr(value)
        elif what is kind.IN:
            out += _member(value)
        elif what in (kind.ANY, kind.NOT_LITERAL):
            out += "a" if what is kind.ANY or value != ord("a") else "b"
        elif what in _REPEATS:
            out += _of(value[2]) * value[0]
        elif what is kind.SUBPATTERN:
            out += _of(value[3])
        elif what is kind.BRANCH:
            out += _of(value[1][0])
        elif what is _ATOMIC:
            out += _of(value)
    return out


def _member(items: Items) -> str:
    rows = list(items)
    if rows[0][0] is kind.NEGATE:
        out = {chr(value) for what, value in rows if what is kind.LITERAL}
        spaces = any(what is kind.CATEGORY and value is kind.CATEGORY_SPACE for what, value in rows)
        return next(sign for sign in _SIGNS + "bcdefxyz" if sign not in out and not (spaces and sign.isspace()))
    what, value = rows[0]
    if what is kind.CATEGORY:
        return _OF_CATEGORY.get(value, "a")
    return chr(value if what is kind.LITERAL else value[0])
