"""Whether a word is random: how much likelier it comes from a generator of keys than from a text of the field, in bits.
How often signs follow each other in the field is in `data/pairs.txt` (scripts/train_randomness.py).

>>> [is_random(word) for word in ("Zq8vT3kP0sLw9Yb2Rf6Xc", "Llama-3-8B-Instruct", "_ZN3c104cuda9SetDeviceEi")]
[True, False, False]
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files

from doctor.redaction.lazy import Lazy

SIGNS = string.ascii_letters + string.digits
FIRST = "^"
SHARE = 1 / 6
"""Of a bit, in the table."""
SURE = 14.0
"""Bits from which on a word is random anywhere."""
_RUN = Lazy(r"[A-Za-z0-9]+")
_ALPHABETS = tuple(
    (Lazy(pattern), math.log2(size))
    for pattern, size in (("[0-9a-f]+|[0-9A-F]+", 16), ("[0-9a-z]+|[0-9A-Z]+", 36), ("[0-9A-Za-z]+", 62))
)
_HEX = Lazy(r"[0-9a-f]+|[0-9A-F]+|0x[0-9a-fA-F]+")
_SHORT = 4
_GAP = 2
_LEAST = 0.2
"""Bits a sign, below which a run is a word: what is random begins behind it."""
_DENSITY = 0.6
"""Bits a sign."""
_FEWEST = 8
"""Different signs in a random word."""


@cache
def _rarity() -> dict[str, float]:
    """Of each pair of signs, in bits."""
    rows = files("doctor.redaction").joinpath("data/pairs.txt").read_text("ascii").split("\n")
    return {
        before + sign: (ord(rare) - ord("!")) * SHARE
        for before, row in zip(FIRST + SIGNS, rows, strict=False)
        for sign, rare in zip(SIGNS, row, strict=True)
    }


@lru_cache(maxsize=4096)
def bits(run: str) -> float:
    """For random letters and digits some two a sign; far below zero for words, and for what is hexadecimal."""
    table, pairs = _rarity(), map("".join, zip(FIRST + run, run, strict=False))
    size = next((size for pattern, size in _ALPHABETS if pattern.fullmatch(run)), 0.0)
    return sum(table[pair] for pair in pairs) - size * len(run)


def random_parts(word: str, least: float = SURE, *, shortest: int = 16) -> Iterator[tuple[int, int]]:
    """Start and end of what is random in a word: runs of letters and digits, with one or two signs between them.
    What is hexadecimal is as random in a hash: it is left out, unless it follows what is random."""
    parts: list[list[tuple[int, str, float]]] = [[]]
    end = 0
    for found in _RUN.finditer(word):
        run = found[0]
        weighed = len(run) >= _SHORT and not _HEX.fullmatch(run)
        worth = bits(run) if weighed else 0.0
        is_word = weighed and worth < _LEAST * len(run)
        if found.start() - end > _GAP or is_word or not any(worth > 0 for _, _, worth in parts[-1]):
            parts.append([])
        parts[-1].append((found.start(), run, 0.0 if is_word else worth))
        end = found.end()
    for part in parts:
        counted = [(run, worth) for _, run, worth in part if not _HEX.fullmatch(run)]
        size, total = sum(len(run) for run, _ in counted), sum(worth for _, worth in counted)
        whole = any(worth and len(run) * 4 >= shortest * 3 for run, worth in counted)
        if whole and total >= max(least, _DENSITY * size * least / SURE):
            start, end = part[0][0], part[-1][0] + len(part[-1][1])
            if end - start >= shortest and _is_mixed(word[start:end], sure=total >= 2 * SURE):
                yield start, end


def is_random(word: str, least: float = SURE, *, shortest: int = 16) -> bool:
    return sum(end - start for start, end in random_parts(word, least, shortest=shortest)) * 2 > len(word)


def _is_mixed(part: str, *, sure: bool) -> bool:
    """Whether it has letters and digits, or else letters of both cases."""
    lower, upper = part != part.upper(), part != part.lower()
    return (
        (lower or upper) and (any(map(str.isdigit, part)) or (lower and upper and sure)) and len(set(part)) >= _FEWEST
    )
