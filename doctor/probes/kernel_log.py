"""What the kernel log says of GPUs: one `dmesg`, or `journalctl -k -b` where that is refused; on a tree the files
that syslog left. Root or an open kernel.dmesg_restrict lets dmesg read; group
`systemd-journal` or `adm` lets journalctl.
"""

from __future__ import annotations

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.readers import kernel_log
from doctor.system.base import Output, Reading, System

READS = (
    "command:dmesg name",
    "command:journalctl -k -b --no-pager -o short-iso name",
    "file:var/log/dmesg name",
    "file:var/log/kern.log name",
)
_COMMANDS = (("dmesg",), ("journalctl", "-k", "-b", "--no-pager", "-o", "short-iso"))
_FILES = ("var/log/dmesg", "var/log/kern.log")
_LOG_LIMIT = 16 << 20


def probe(system: System, sheet: FactSheet) -> None:
    reasons: list[tuple[State, str]] = []
    for argv in _COMMANDS if system.kind != "tree" else ():
        reading = system.run(argv, limit=_LOG_LIMIT)
        if _take(sheet, _printed(reading), reasons):
            return
    if system.kind != "live":
        for path in _FILES:
            if _take(sheet, system.read_text(path, limit=_LOG_LIMIT), reasons):
                return
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


def _take(sheet: FactSheet, text: Reading[str], reasons: list[tuple[State, str]]) -> bool:
    reading = text.then(kernel_log.read)
    if reading.value is None:
        reasons.append((reading.state, f"{reading.source.partition(':')[2]}: {reading.detail or reading.state.value}"))
        return False
    sheet.put("kernel_log.readable", True, reading.source)
    sheet.put("kernel_log.events", reading.value.get("kernel_log.events") or [], reading.source)
    return True
