"""Which of many literals are in a text, without looking for each: only those are looked for whose first four bytes
are there.

>>> sorted(Literals({"out of memory": 1, "xid": 2, "segfault": 3}).within("CUDA: out of memory"))
[1]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

_GRAM = 4
T = TypeVar("T")


class Literals(Generic[T]):
    def __init__(self, meaning: Mapping[str, T]) -> None:
        self.short = [(literal, of) for literal, of in meaning.items() if len(literal.encode()) < _GRAM]
        self.by_start: dict[int, list[tuple[str, T]]] = {}
        for literal, of in meaning.items():
            for start in _grams(literal.encode()[:_GRAM]):
                self.by_start.setdefault(start, []).append((literal, of))

    def within(self, text: str) -> Iterator[T]:
        """Of the literals that the text holds, in no order."""
        yield from (of for literal, of in self.short if literal in text)
        for start in self.by_start.keys() & _grams(text.encode("utf-8", "replace")):
            yield from (of for literal, of in self.by_start[start] if literal in text)


def _grams(text: bytes) -> set[int]:
    """Every run of four bytes, as the number it is in this machine's byte order."""
    raw = memoryview(text)
    grams: set[int] = set()
    for start in range(_GRAM):
        end = start + (len(raw) - start) // _GRAM * _GRAM
        if end > start:
            grams.update(raw[start:end].cast("I"))
    return grams
