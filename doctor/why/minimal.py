"""The smallest set of changes that makes something pass. One cause among n takes log2(n) questions: the shortest
beginning of the list that passes ends with a cause, and the next cause lies before it (one prefix at a time, as
QuickXplain does: Junker, AAAI 2004).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TypeVar

T = TypeVar("T")


def minimal(
    items: Sequence[T],
    passes: Callable[[tuple[T, ...]], bool],
    ahead: Callable[[list[tuple[T, ...]]], object] = bool,
    width: int = 1,
) -> tuple[T, ...]:
    """A part of `items` that passes, of which no member can be left out, and none is enough. All of them must pass,
    none must not; `passes` is not asked twice for the same part. `ahead` is called with `width` parts of which it is
    asked next."""
    answers: dict[frozenset[T], bool] = {frozenset(): False, frozenset(items): True}

    def asked(part: tuple[T, ...]) -> bool:
        key = frozenset(part)
        if key not in answers:
            answers[key] = passes(part)
        return answers[key]

    left = _by_prefixes(tuple(items), asked, ahead, width)
    while len(left) > 1:  # a change that passes only beside another one misleads the search for prefixes
        parts = (part for size in (1, len(left) - 1) for part in combinations(left, size))
        smaller = next(filter(asked, parts), None)
        if smaller is None:
            break
        left = smaller
    return left


def _by_prefixes(
    items: tuple[T, ...],
    asked: Callable[[tuple[T, ...]], bool],
    ahead: Callable[[list[tuple[T, ...]]], object],
    width: int,
) -> tuple[T, ...]:
    found: tuple[T, ...] = ()
    while not asked(found):
        fails, works = 0, len(items)  # found + items[:fails] fails, found + items[:works] passes
        while works - fails > 1:
            middles = sorted({fails + (works - fails) * n // (width + 1) for n in range(1, width + 1)} - {fails})
            ahead([(*items[:middle], *found) for middle in middles])
            works = next((middle for middle in middles if asked((*items[:middle], *found))), works)
            fails = max((middle for middle in middles if middle < works), default=fails)
        found, items = (items[works - 1], *found), items[: works - 1]
    return found
