"""How old entries are: against a day, by their `as_of`, which may be a year, a month or a day."""

from __future__ import annotations

import calendar
import datetime

LIMIT_DAYS = 90
"""What rests on an older statement says so: a release of torch, ROCm or CUDA comes about as often."""


def day_of(as_of: str) -> datetime.date:
    """The last day that the text can mean: nothing is called older than it says.

    >>> day_of("2025-09"), day_of("2025"), day_of("2026-11-20")
    (datetime.date(2025, 9, 30), datetime.date(2025, 12, 31), datetime.date(2026, 11, 20))
    """
    year, month, day = ([int(part) for part in as_of.split("-")] + [0, 0])[:3]
    month = month or 12
    return datetime.date(year, month, day or calendar.monthrange(year, month)[1])


def days_old(as_of: str, today: datetime.date) -> int:
    """0 for what is of today or later."""
    return max(0, (today - day_of(as_of)).days)
