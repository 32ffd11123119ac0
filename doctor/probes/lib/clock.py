"""The machine's own clock, by files that a recording keeps: seconds since boot, and now as seconds since 1970."""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.system.base import System

READS: tuple[str, ...] = ("file:proc/uptime public", "file:proc/stat public")
_UPTIME = re.compile(r"(\d{1,12}\.\d{1,9}) ", re.ASCII)
_BOOTED = re.compile(r"^btime (\d{1,12})$", re.MULTILINE | re.ASCII)


class Now(NamedTuple):
    """None where the files don't tell."""

    uptime_s: float | None
    epoch_s: float | None


def read(system: System) -> Now:
    up = _UPTIME.match(system.read_text("proc/uptime").value or "")
    booted = _BOOTED.search(system.read_text("proc/stat", limit=4 << 20).value or "")
    uptime = float(up[1]) if up else None
    return Now(uptime, uptime + int(booted[1]) if uptime is not None and booted else None)
