"""What the kernel log says of GPUs since this boot: one `dmesg`, or `journalctl -k -b` where that is refused; on a tree
the files that syslog left.

Root or an open kernel.dmesg_restrict lets dmesg read; group `systemd-journal` or `adm` lets journalctl. With `since`
(`2h`, `3d`, `2026-11-20`) the journal of that time over all boots comes first, and older events are left out. Each
event tells how long ago it was, so that an old fault is not taken for today's cause.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from doctor.errors import InputError
from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.kernel import kernel_log
from doctor.parsers.lib import log_time
from doctor.parsers.lib.printable import clean
from doctor.probes.lib import clock
from doctor.system.base import Output, Reading, System

READS = (
    "command:dmesg name",
    "command:journalctl -k -b --no-pager -o short-iso name",
    "file:var/log/dmesg name",
    "file:var/log/kern.log name",
    "command:journalctl --no-pager -o short-iso _TRANSPORT=kernel --since name",
    *clock.READS,
)
_COMMANDS = (("dmesg",), ("journalctl", "-k", "-b", "--no-pager", "-o", "short-iso"))
_FILES = ("var/log/dmesg", "var/log/kern.log")
_LOG_LIMIT = 16 << 20


_RELATIVE = re.compile(r"(\d{1,6})\s?(m|min|h|d|w)", re.ASCII)
_AHEAD_S = 86400
"""What a date may lie ahead, for the time zone that it was written in."""
_SECONDS = {"m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def probe(system: System, sheet: FactSheet, since: str | None = None) -> None:
    """`since`: from when on, in words that `seconds` understands; this boot without it."""
    now = clock.read(system)
    back = seconds(since, now.epoch_s) if since else None
    taker = _Taker(sheet, now, back, since)
    commands: tuple[tuple[str, ...], ...] = _COMMANDS
    if back is not None and now.epoch_s is not None:
        start = f"@{int(now.epoch_s - back)}"
        commands = (("journalctl", "--no-pager", "-o", "short-iso", "_TRANSPORT=kernel", "--since", start), *_COMMANDS)
    for argv in commands if system.kind != "tree" else ():
        if taker.take(_printed(system.run(argv, limit=_LOG_LIMIT))):
            return
    if system.kind != "live":
        for path in _FILES:
            if taker.take(system.read_text(path, limit=_LOG_LIMIT)):
                return
    reasons = taker.reasons
    state = next((s for s, _ in reasons if s is not State.ABSENT), State.FAILED if reasons else State.NOT_ASKED)
    detail = "; ".join(words for _, words in reasons)[:300] or None
    if state in (State.DENIED, State.FAILED):
        sheet.put("kernel_log.readable", False, "command:dmesg", detail)
    sheet.miss("kernel_log.events", state, "command:dmesg", detail)


def _printed(reading: Reading[Output]) -> Reading[str]:
    """What the command printed, or why it printed nothing."""
    if not reading.known or reading.value is None:
        return Reading(reading.state, reading.source, None, reading.detail)
    output = reading.value
    if (
        output.code == 0
        and output.stdout.strip()
        and not output.stdout.startswith(("No journal files", "-- No entries"))
    ):
        return Reading(State.VALUE, reading.source, output.stdout)
    words = (output.stderr or output.stdout).strip().splitlines()
    detail = words[-1][:200] if words else "printed nothing"
    denied = any(w in detail.lower() for w in ("not permitted", "permission", "not seeing messages"))
    return Reading(State.DENIED if denied else State.FAILED, reading.source, None, detail)


def seconds(since: str, now: float | None) -> float:
    """How far back `since` reaches. InputError on what is neither `90m`, `2h`, `3d`, `1w` nor a date.

    >>> seconds("2h", None), seconds("1w", None)
    (7200.0, 604800.0)
    """
    if match := _RELATIVE.fullmatch(since.strip()):
        return float(int(match[1]) * _SECONDS[match[2]])
    try:
        moment = datetime.fromisoformat(since.strip()).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise InputError(f"--since {since[:40]}: expected 90m, 2h, 3d, 1w or a date such as 2026-11-20") from error
    back = (now if now is not None else datetime.now().timestamp()) - moment
    if back < -_AHEAD_S:  # nothing would be found, and nothing would be wrong
        raise InputError(f"--since {since[:40]}: lies ahead")
    return max(0.0, back)


class _Taker:
    """Takes the first log that can be read; remembers why others could not."""

    def __init__(self, sheet: FactSheet, now: clock.Now, back: float | None, since: str | None) -> None:
        self._sheet, self._now, self._back, self._since = sheet, now, back, since
        self.reasons: list[tuple[State, str]] = []

    def take(self, text: Reading[str]) -> bool:
        reading = text.then(kernel_log.read)
        if reading.value is None:
            source = reading.source.partition(":")[2]
            self.reasons.append((reading.state, f"{source}: {reading.detail or reading.state.value}"))
            return False
        events = [self._dated(event) for event in reading.value.get("kernel_log.events") or []]
        kept = [e for e in events if self._back is None or e.get("age_s") is None or e["age_s"] <= self._back]
        self._sheet.put("kernel_log.readable", True, reading.source)
        self._sheet.put("kernel_log.since", clean(self._since, 40) if self._since else "boot", reading.source)
        self._sheet.put("kernel_log.events", kept, reading.source)
        return True

    def _dated(self, event: dict[str, Any]) -> dict[str, Any]:
        age = log_time.seconds_ago(event.get("last"), self._now.uptime_s, self._now.epoch_s)
        return event if age is None else {**event, "age_s": age}
