"""Versions of drivers, kernels and distribution packages: ordered by their numbers, kept as their text.

`packaging.Version` is for Python packages only: it prints 575.57.08 as 575.57.8 and refuses 6.8.0-51-generic.

>>> Dotted("575.57.08") > Dotted("575.57.7"), str(Dotted("575.57.08"))
(True, '575.57.08')
>>> Dotted("6.8.0-51-generic") < Dotted("6.11.0")
True
>>> Dotted("12.4") == Dotted("12.4.0")       # equality is of the text; compare() and the order are of the numbers
False
>>> Dotted("12.4") >= Dotted("12.4.0")
True
>>> len(Dotted("9" * 6000).numbers)          # anybody's text: Python converts no number of that length
1
"""

from __future__ import annotations

import re
from functools import lru_cache, total_ordering

_NUMBER = re.compile(r"\d+")
_HEAD = re.compile(r"\D{0,2}(\d+(?:\.\d+)*)")


@lru_cache(8192)
def _numbers(text: str) -> tuple[int, ...]:
    head = _HEAD.match(text)
    return tuple(int(n[:18]) for n in _NUMBER.findall(head[1])[:8]) if head else ()


@total_ordering
class Dotted(str):
    """A version text. `==` compares texts, the order compares the dotted numbers (missing ones count as 0)."""

    __slots__ = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """The leading dotted numbers: (6, 8, 0) of `6.8.0-51-generic`; () where there is none."""
        return _numbers(self)

    def compare(self, other: str) -> int:
        """-1, 0 or 1 by the numbers alone."""
        mine, theirs = self.numbers, Dotted(other).numbers
        width = max(len(mine), len(theirs))
        a, b = mine + (0,) * (width - len(mine)), theirs + (0,) * (width - len(theirs))
        return (a > b) - (a < b)

    def __lt__(self, other: object) -> bool:
        return self.compare(str(other)) < 0

    def __le__(self, other: object) -> bool:
        return self.compare(str(other)) <= 0

    def __gt__(self, other: object) -> bool:
        return self.compare(str(other)) > 0

    def __ge__(self, other: object) -> bool:
        return self.compare(str(other)) >= 0

    @property
    def major(self) -> int | None:
        return self.numbers[0] if self.numbers else None

    def reaches(self, floor: str) -> bool:
        """Whether it is as new as the floor. Of a series or a branch (`7.0`, `525.x`) any release may be there.

        >>> Dotted("525.x").reaches("525.60.13"), Dotted("525.x").reaches("530.30.02")
        (True, False)
        >>> Dotted("7.0").reaches("7.0.2"), Dotted("6.4").reaches("7.0.2")
        (True, False)
        """
        held = self.numbers
        return self >= floor or (bool(held) and Dotted(floor).numbers[: len(held)] == held)

    def is_branch_of(self, release: str) -> bool:
        """Whether this is a driver's branch alone, and the release is of it: `570.x` and `570.86.15`."""
        return self.endswith(".x") and self.numbers == Dotted(release).numbers[:1]

    def series(self, parts: int = 2) -> str:
        """The first `parts` numbers: `12.4` of `12.4.131`."""
        return ".".join(map(str, self.numbers[:parts]))
