"""A time as a log writes it -> how long ago that was.

>>> seconds_ago("812.5", uptime_s=1000.0, now=1_700_000_000.0)
187
>>> seconds_ago("2023-11-14T22:13:10+00:00", uptime_s=None, now=1_700_000_000.0)
10
>>> seconds_ago("Nov 14 22:13:10", uptime_s=None, now=1_700_000_000.0) is None     # no year, no zone
True
"""

from __future__ import annotations

import re
from datetime import datetime

_SECONDS = re.compile(r"\d{1,9}\.\d{1,9}", re.ASCII)
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,]\d{1,9})?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_LONG = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}", re.ASCII)


def seconds_ago(when: str | None, uptime_s: float | None, now: float | None) -> int | None:
    """`when` as seconds since boot (dmesg), as ISO 8601 (a journal, package logs) or as dmesg -T writes it; without a
    zone it is of this machine's. None where it can't be compared with now, or lies in the future by more than a day."""
    text = (when or "").strip()
    ago: float | None = None
    if _SECONDS.fullmatch(text):
        ago = uptime_s - float(text) if uptime_s is not None else None
    elif now is not None and (moment := _moment(text)) is not None:
        ago = now - moment
    return max(0, int(ago)) if ago is not None and ago > -86400 else None


def _moment(text: str) -> float | None:
    try:
        if match := _ISO.match(text):
            zone = (match[3] or "").replace("Z", "+00:00")
            zone = f"{zone[:3]}:{zone[-2:]}" if zone else ""
            return datetime.fromisoformat(f"{match[1]}T{match[2]}{zone}").timestamp()
        if _LONG.fullmatch(text):
            return datetime.strptime(text, "%a %b %d %H:%M:%S %Y").timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return None
