"""The log of NVIDIA's fabric manager -> that it ran, its version, its last error, and errors of NVSwitches.

>>> sheet = read("[Feb 27 2025 15:10:02] [ERROR] [tid 12727] detected NVSwitch non-fatal error 12028 on fid 0 on"
...              " NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 61")
>>> sheet.get("nvidia_driver.fabric_manager.error")[:39], sheet.get("kernel_log.events")[0]["code"]
('detected NVSwitch non-fatal error 12028', 'sxid-12028')
"""

from __future__ import annotations

import re
from typing import Any

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines
from doctor.parsers.nvidia.nvidia_smi_fields import address

PASTED = ({"trust": 300, "words": ("] [tid ",)},)

_LINE = re.compile(r"\[(\w{3} \d{2} \d{4} \d{2}:\d{2}:\d{2})\] \[(\w{4,8})\] \[tid \d{1,10}\] (.{3,600})$")
_VERSION = re.compile(r"Fabric Manager version (\d{3}\.\d{1,3}(?:\.\d{1,3})?)")
_SWITCH = re.compile(
    r"detected NVSwitch (non-fatal|fatal) error (\d{5}) on .{0,60}?pci bus id "
    r"([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d)"
)
_LIMIT = 200


def read(text: str, source: str = "text") -> FactSheet:
    """The last error and the last version count: earlier ones were repaired by a restart, or date from before an
    upgrade. Raises ParserError without a line of its form."""
    sheet = FactSheet()
    error: tuple[str, str] | None = None
    started: tuple[str, str] | None = None
    events: dict[str, dict[str, Any]] = {}
    first = ""
    for where, line in source_lines(text, source):
        found = _LINE.match(line[:800]) if line.startswith("[") else None
        if not found:
            continue
        if not first:
            first = where
            sheet.put("nvidia_driver.fabric_manager.installed", True, where)
        if version := _VERSION.search(found[3]):
            started = (version[1], where)
        if found[2] in ("ERROR", "FATAL", "CRITICAL"):
            error = (kept(found[3], 300), where)
            _event(events, found)
    if started:
        sheet.put("nvidia_driver.fabric_manager.version", *started)
    if error:
        sheet.put("nvidia_driver.fabric_manager.error", *error)
    if events:
        sheet.put("kernel_log.events", list(events.values()), error[1] if error else first)
    if not len(sheet):
        raise ParserError("no line of the fabric manager's log")
    return sheet


def _event(events: dict[str, dict[str, Any]], found: re.Match[str]) -> None:
    """The same code that the kernel log calls SXid."""
    if not (switch := _SWITCH.search(found[3])):
        return
    device = address(switch[3]) or ""
    key = f"sxid-{switch[2]}@{device}"
    if key not in events and len(events) >= _LIMIT:
        return
    row = events.setdefault(
        key,
        {
            "key": key,
            "code": f"sxid-{switch[2]}",
            "device": device,
            "count": 0,
            "first": found[1],
            "text": kept(found[3], 200),
        },
    )
    row["count"] += 1
    row["last"] = found[1]
