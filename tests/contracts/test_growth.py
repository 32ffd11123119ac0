"""How long the patterns really take on texts that are made against them. The text of a report, a log or a bundle is as
long as somebody likes: redaction's patterns take time in proportion to it. Parsers cut long lines off before a pattern
sees them: on a line of usual length theirs take no time that anybody would see.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from doctor.redaction.lazy import Lazy
from tests.contracts import attacks

ROOT = Path(__file__).resolve().parents[2] / "doctor"
_SHORT, _LONG = 1_500, 20_000
_LIMIT_S = 0.5
"""Processor time: of the short text what is cubic takes minutes, of the long one what is quadratic takes seconds."""
_SCRIPTS = (".scripts", "__main__")


def held() -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Name and pattern of all that modules hold, in tables too."""
    seen = set()
    for found in pkgutil.walk_packages([str(ROOT)], "doctor."):
        if not any(word in found.name for word in _SCRIPTS):
            for name, value in vars(importlib.import_module(found.name)).items():
                if not name.startswith("__"):
                    for pattern in _within(value, 3):
                        if (pattern.pattern, pattern.flags) not in seen:
                            seen.add((pattern.pattern, pattern.flags))
                            yield f"{found.name}.{name}", pattern


def _within(value: Any, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, Lazy):
        yield value.made
    elif isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, (list, tuple)):
        for item in value:
            yield from _within(item, depth - 1)
    elif depth and isinstance(value, dict):
        for item in value.values():
            yield from _within(item, depth - 1)


class _TooLong(Exception):
    pass


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _TooLong


def seconds(work: Callable[[], object], limit_s: float) -> float:
    """Processor time; infinite where it is more than the limit."""
    before = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    began = time.process_time()
    try:
        try:
            work()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except _TooLong:  # which may come while the timer is stopped, too
        return float("inf")
    finally:
        signal.signal(signal.SIGPROF, before)
    return time.process_time() - began


def _slow(name: str, pattern: re.Pattern[Any], limit_s: float = _LIMIT_S) -> bool:
    whole = name.startswith("doctor.redaction.") and name not in _OF_SHORT_TEXTS
    for text in attacks.texts(pattern, _LONG if whole else _SHORT):
        # What is slow is slow again; what a busy machine held up once is not.
        if all(seconds(lambda text=text: [*pattern.finditer(text)], limit_s) > limit_s for _ in range(3)):  # type: ignore[misc]
            return True
    return False


_OF_SHORT_TEXTS = tuple(
    f"doctor.redaction.{name}"
    for name in (
        *(
            "joined._NAMED",
            "joined._CALLED",
            "joined._LAST",
            "places.NAME_BEFORE",
            "values._ANOTHER",
        ),  # text[start - 200 : start]
        *("nodes._LINE", "nodes._SECTION", "nodes._ITEM"),  # of lines below 400 signs
        *("joined._PROMPT", "places._VARIABLE", "values._ITEM"),  # by match or fullmatch: there is no next place to try
    )
)


def test_a_slow_pattern_is_seen() -> None:
    limit_s = 0.1
    assert _slow("doctor.redaction.x", re.compile(r"(?:ab?)+c"), limit_s)
    assert _slow("doctor.parsers.x", re.compile(r"\s*\s*\s*\s*x"), limit_s)
    assert not _slow("doctor.redaction.x", re.compile(r"(?<![ab])(?:ab?)+c"), limit_s)


def test_no_pattern_that_meets_text_from_outside_is_slow() -> None:
    patterns = list(held())
    assert len(patterns) > 1000
    assert [name for name, pattern in patterns if _slow(name, pattern)] == []
