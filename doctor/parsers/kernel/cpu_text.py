"""`lscpu` and /proc/cpuinfo -> the CPU, the machine's architecture and the hypervisor.

>>> sheet = read("Architecture:  x86_64\\nCPU(s): 64\\nModel name:  AMD EPYC 9374F\\nHypervisor vendor:  KVM")
>>> sheet.get("host.cpu"), sheet.get("host.virtual_machine")
('AMD EPYC 9374F', True)
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = (
    {
        "trust": 330,
        "words": ("cpu op-mode", "thread(s) per core", "model name\t:", "cpu implementer", "bogomips"),
        "commands": ("lscpu",),
    },
)

_LINE = re.compile(r"\s{0,12}([A-Za-z][A-Za-z() ]{1,40}?)\s{0,40}:\s{1,60}(\S.{0,200})$")
_MARKS = re.compile(
    r"^\s{0,12}(?:CPU\(s\)|Thread\(s\) per core|processor\t?|BogoMIPS|bogomips|CPU implementer)\s*:", re.M
)


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError where neither a line of lscpu's nor one of /proc/cpuinfo's own is in the text."""
    if not _MARKS.search(text):
        raise ParserError("neither lscpu nor /proc/cpuinfo")
    sheet = FactSheet()
    for where, line in source_lines(text, source):
        if found := _LINE.match(line[:300]):
            _put(sheet, where, found[1].lower().strip(), kept(found[2], 120))
    if not len(sheet):
        raise ParserError("no CPU is named")
    return sheet


def _put(sheet: FactSheet, where: str, label: str, value: str) -> None:
    if label == "model name" and not value.isdecimal() and value != "-":
        sheet.put("host.cpu", value, where)
    elif label == "cpu implementer":  # Arm's /proc/cpuinfo names no model
        sheet.put("host.machine", "aarch64", where)
    elif label == "architecture" and re.fullmatch(r"[a-z0-9_]{3,12}", value):
        sheet.put("host.machine", value, where)
    elif label == "hypervisor vendor":
        sheet.put("host.hypervisor", value, where)
        sheet.put("host.virtual_machine", True, where)
