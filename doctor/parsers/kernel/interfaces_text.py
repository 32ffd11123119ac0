"""`ip address`, `ip -br address` and `ifconfig` -> the names of the host's network interfaces.

>>> read("1: lo: <LOOPBACK,UP> mtu 65536\\n2: ens5@if3: <BROADCAST,UP> mtu 9001").get("host.interfaces")
['lo', 'ens5']
>>> read("lo               UNKNOWN  127.0.0.1/8\\nib0              UP       10.0.0.5/24").get("host.interfaces")
['lo', 'ib0']
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines

PASTED = ({"trust": 320, "words": ("<loopback", "lo: flags=", "link encap:"), "commands": ("ip -br", "ip -brief")},)

_NAME = r"(?P<name>[A-Za-z][\w.-]{0,30})"
_ROWS = (
    re.compile(rf"\s{{0,8}}\d{{1,5}}: {_NAME}(?:@[\w.-]{{1,31}})?: <[A-Z]"),
    re.compile(rf"\s{{0,8}}{_NAME}(?:@[\w.-]{{1,31}})?\s{{1,32}}(?:UP|DOWN|UNKNOWN)(?:\s|$)"),
    re.compile(rf"\s{{0,8}}{_NAME}:? (?:flags=\d|\s{{0,12}}Link encap:)"),
)
_LIMIT = 256


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError where the loopback is missing: then others may be missing too."""
    names: dict[str, None] = {}
    first = ""
    for where, line in source_lines(text, source):
        found = next((match for row in _ROWS if (match := row.match(line[:200]))), None)
        if found and len(names) < _LIMIT:
            names.setdefault(found["name"])
            first = first or where
    if "lo" not in names:
        raise ParserError("no list of all network interfaces")
    sheet = FactSheet()
    sheet.put("host.interfaces", list(names), first)
    return sheet
