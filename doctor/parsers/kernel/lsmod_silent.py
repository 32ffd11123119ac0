"""`lsmod | grep NAME` that printed nothing, or `grep -c` that printed 0 -> GPU modules that are not loaded.

>>> read("lsmod | grep nvidia_uvm").get("nvidia_driver.uvm_loaded")
False
>>> read("0", command="lsmod | grep -c amdgpu").get("amdgpu_driver.loaded")
False
"""

from __future__ import annotations

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.kernel.lsmod import searched

PASTED = ({"trust": 160, "commands": ("lsmod | grep -c",), "takes_command": True},)


def read(text: str, source: str = "text", command: str = "") -> FactSheet:
    """`text` is the line at the prompt, or what `command` printed. Raises ParserError where it asks otherwise, or was
    answered."""
    sheet = FactSheet()
    if not command or text.strip() in ("0", command.strip()):
        for fact in searched(command or text):
            sheet.put(fact, False, f"{source}:1")
    if not len(sheet):
        raise ParserError("no search of lsmod that found nothing")
    return sheet
