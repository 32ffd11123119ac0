"""The smallest set of changes that makes something pass: delta debugging (Zeller and Hildebrandt, "Simplifying and
Isolating Failure-Inducing Input", 2002), which asks 2·log2(n) times for a single cause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def minimal(items: Sequence[T], passes: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """A part of `items` that passes and of which no single member can be left out. All of them must pass, none must
    not; `passes` is not asked twice for the same part. Likely causes belong first."""
    answers: dict[tuple[T, ...], bool] = {(): False, tuple(items): True}

    def asked(part: tuple[T, ...]) -> bool:
        if part not in answers:
            answers[part] = passes(part)
        return answers[part]

    left, number = tuple(items), 2
    while len(left) > 1:
        chunks = _split(left, number)
        smaller = next((chunk for chunk in chunks if asked(chunk)), None)
        if smaller is not None:
            left, number = smaller, 2
            continue
        rests = [tuple(item for item in left if item not in chunk) for chunk in chunks] if number > 2 else []
        rest = next((rest for rest in rests if asked(rest)), None)
        if rest is not None:
            left, number = rest, max(number - 1, 2)
        elif number >= len(left):
            break
        else:
            number = min(2 * number, len(left))
    return left


def _split(items: tuple[T, ...], number: int) -> list[tuple[T, ...]]:
    """In `number` parts of nearly the same length, in order."""
    bounds = [len(items) * i // number for i in range(number + 1)]
    return [items[a:b] for a, b in pairwise(bounds) if a < b]
