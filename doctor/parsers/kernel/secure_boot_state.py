"""What `mokutil --sb-state` prints: `SecureBoot enabled`, with a remark on the platform in later lines.

>>> read("SecureBoot enabled\\n", "text").get("kernel.secure_boot")
True
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines

PASTED = ({"trust": 196, "words": ("secureboot ",), "commands": ("mokutil",)},)

_STATE = re.compile(r"\s{0,8}SecureBoot (enabled|disabled)\s*$")


def read(text: str, source: str = "text") -> FactSheet:
    """`kernel.secure_boot`. ParserError without such a line."""
    sheet = FactSheet()
    for where, line in source_lines(text, source):
        if found := _STATE.match(line):
            sheet.put("kernel.secure_boot", found[1] == "enabled", where)
            return sheet
    raise ParserError("no 'SecureBoot enabled' or 'SecureBoot disabled'")
