"""Lines of a long text that may hold one of many literals; the others are left out, so that searching for each literal
costs what the few lines left are long, not what the text is.

>>> text = ["fine " * 20] * 2000 + ["CUDA: Out of memory"] + ["fine " * 20] * 2000
>>> [number for number, _ in Sieve(grams_of(["out of memory"])).through(enumerate(text, 1)) if number < 3000]
[2001]
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping

BLOCK_CHARACTERS = 1 << 16
"""A text shorter than one block passes whole, and so does the last piece of a longer one."""
LINES_PER_LITERAL = 500
"""Lines that one literal lets pass; a literal that stands in every line of a log must not let the log pass."""
_GRAM = 4


Grams = Mapping[str, frozenset[int]]


def grams_of(literals: Iterable[str]) -> Grams:
    """What a text must hold for each literal (in lower case) to stand in it: its first, middle and last four bytes."""
    return {literal: _grams_of(literal) for literal in literals}


class Sieve:
    """Made for one text, with the literals of `grams_of`."""

    def __init__(self, grams: Grams) -> None:
        self.grams = grams
        self.spent: set[str] = set()
        self.passed: dict[str, int] = {}

    def through(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """The lines that may hold a literal, in order."""
        block: list[tuple[int, str]] = []
        size = 0
        for row in lines:
            block.append(row)
            size += len(row[1]) + 1
            if size >= BLOCK_CHARACTERS:
                yield from self._sifted(block)
                block, size = [], 0
        yield from block

    def _sifted(self, block: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        text = "\n".join(line for _, line in block).lower()
        there = _all_grams(text)
        held = [
            literal
            for literal, grams in self.grams.items()
            if grams <= there and literal not in self.spent and literal in text
        ]
        if not held:
            return
        for number, line in block:
            low = line.lower()
            literal = next((literal for literal in held if literal in low), None)
            if literal is None:
                continue
            yield number, line
            self.passed[literal] = self.passed.get(literal, 0) + 1
            if self.passed[literal] >= LINES_PER_LITERAL:
                held.remove(literal)
                self.spent.add(literal)


def _grams_of(literal: str) -> frozenset[int]:
    """The first, the middle and the last four bytes; none of a shorter literal, which is then searched for itself."""
    raw = literal.encode()
    if len(raw) < _GRAM:
        return frozenset()
    places = {0, (len(raw) - _GRAM) // 2, len(raw) - _GRAM}
    return frozenset(struct.unpack_from("=I", raw, place)[0] for place in places)


def _all_grams(text: str) -> set[int]:
    """Every run of four bytes, as the number it is in this machine's byte order."""
    raw = memoryview(text.encode("utf-8", "replace"))
    grams: set[int] = set()
    for start in range(_GRAM):
        end = start + (len(raw) - start) // _GRAM * _GRAM
        grams.update(raw[start:end].cast("B").cast("I"))
    return grams
