"""`lsmod | grep NAME` that printed nothing, or `grep -c` that printed 0 -> GPU modules that are not loaded.

>>> read("lsmod | grep nvidia_uvm").get("nvidia_driver.uvm_loaded")
False
>>> read("0", command="lsmod | grep -c amdgpu").get("amdgpu_driver.loaded")
False
"""

from __future__ import annotations

import re

from doctor.errors import ReaderError
from doctor.facts.sheet import FactSheet
from doctor.readers.lsmod import FACTS

_ASKED = re.compile(
    r"(?:sudo )?lsmod ?\| ?[ef]?grep (?P<options>(?:-[a-zA-Z]{1,6} ){0,3})['\"]?(?P<names>[\w|\\-]{3,80})['\"]?\s*$"
)


def read(text: str, source: str = "text", command: str = "") -> FactSheet:
    """`text` is the line at the prompt, or what `command` printed. Raises ReaderError where it asks
    otherwise, or was answered."""
    found = _ASKED.match((command or text).strip()[:200])
    if not found or "v" in found["options"] or (command and text.strip() not in ("0", command.strip())):
        raise ReaderError("no search of lsmod that found nothing")
    sheet = FactSheet()
    names = [name for name in found["names"].replace("-", "_").replace("\\", "").lower().split("|") if len(name) > 2]
    for module, fact in FACTS.items():
        if any(name in module for name in names):
            sheet.put(fact, False, f"{source}:1")
    return sheet
