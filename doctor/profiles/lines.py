"""Text of a TOML file -> the line of each of its keys, so that a fault can say where it is.

Reads only what the parser has already accepted: headers, keys at the start of a line, and the keys of inline tables on
the same line. What it does not find (a row of a list over several lines) has the line of the key above it.

>>> found = lines('name = "x"\\n\\n[[expect]]\\nfact = "os.id"\\nsource = { url = "u" }\\n')
>>> line_of(found, ("expect", 0, "source", "url")), line_of(found, ("expect", 0, "why"))
(5, 3)
"""

from __future__ import annotations

import re
from collections.abc import Mapping

Path = tuple[str | int, ...]
_HEADER = re.compile(r"^\s{0,40}(\[\[?)\s{0,9}([A-Za-z0-9_\-.\"' ]{1,200})\]")
_KEY = re.compile(r"^\s{0,40}([A-Za-z0-9_\-\"']{1,100}(?:\.[A-Za-z0-9_\-\"']{1,100}){0,8})\s{0,9}=\s{0,9}(.{0,2000})")
_INLINE = re.compile(r"[{,]\s{0,9}([A-Za-z0-9_\-]{1,100})\s{0,9}=")
_MOST = 20_000


def lines(text: str) -> dict[Path, int]:
    """Path of each key → its line, from 1. A row of an array of tables has the line of its header."""
    found: dict[Path, int] = {(): 1}
    counts: dict[Path, int] = {}
    here: Path = ()
    fence: str | None = None
    for number, line in enumerate(text.splitlines()[:_MOST], 1):
        if fence is not None:
            fence = None if fence in line else fence
            continue
        if header := _HEADER.match(line):
            here = _resolved(tuple(_words(header[2])), counts, array=header[1] == "[[")
            found.setdefault(here, number)
            for cut in range(1, len(here)):
                found.setdefault(here[:cut], number)
        elif key := _KEY.match(line):
            place = (*here, *_words(key[1]))
            found.setdefault(place, number)
            for inner in _INLINE.findall(key[2]) if key[2].startswith("{") else ():
                found.setdefault((*place, inner), number)
            fence = next((f for f in ('"""', "'''") if key[2].count(f) == 1), None)
    return found


def line_of(found: Mapping[Path, int], path: Path) -> int:
    """The line of a key, else of the nearest one above it."""
    while path not in found:
        path = path[:-1]
    return found[path]


def _words(dotted: str) -> list[str]:
    return [word.strip().strip("\"'") for word in dotted.split(".")]


def _resolved(words: tuple[str, ...], counts: dict[Path, int], array: bool) -> Path:
    """With the number of the last row put in after each array of tables on the way."""
    place: Path = ()
    for position, word in enumerate(words):
        place = (*place, word)
        last = position == len(words) - 1
        if array and last:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place = (*place, counts[place])
    return place
