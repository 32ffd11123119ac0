"""What was masked so far: how many of each kind and, where asked, the values, so that they go elsewhere too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

MASK = "[secret]"


class Tally:
    """`counts` by kind; `values` only while `remember` is set."""

    __slots__ = ("counts", "remember", "values")

    def __init__(self, counts: Counter[str] | None = None, *, remember: bool = False) -> None:
        self.counts: Counter[str] = Counter() if counts is None else counts
        self.remember = remember
        self.values: dict[str, None] = {}

    def hit(self, kind: str, value: str) -> str:
        """Counts it; the mask. What is masked already stays as it is."""
        if value.strip("\"' ") in (MASK, MASK[:-1]):
            return value
        self.counts[kind] += 1
        if self.remember and len(value) <= 4096:
            self.values.setdefault(value)
        return MASK


def masked(text: str, where: Iterable[tuple[int, int]], kind: str, tally: Tally) -> str:
    """The text with those spans masked, as far as they do not begin in one before them."""
    out: list[str] = []
    place = 0
    for start, end in where:
        if start >= place:
            out += (text[place:start], tally.hit(kind, text[start:end]))
            place = end
    return "".join(out) + text[place:] if out else text
