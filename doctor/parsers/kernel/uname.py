"""Output of `uname -a` or `uname -r` -> kernel release, machine, WSL.

>>> read("Linux box 6.8.0-51-generic #52-Ubuntu SMP PREEMPT_DYNAMIC x86_64 GNU/Linux").get("kernel.release")
'6.8.0-51-generic'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines

PASTED = ({"trust": 200, "words": ("linux ",), "commands": ("uname",)},)

_ALL = re.compile(r"\s{0,8}(?:uname: )?Linux (\S{1,120}) (\d{1,2}\.\d{1,3}\.\d{1,4}\S{0,80}) (#\S{1,60}.{0,160})")
_RELEASE = re.compile(r"\s{0,4}(\d{1,2}\.\d{1,3}\.\d{1,4}[\w.+-]{0,80})\s*$")
_MACHINE = re.compile(r"\b(x86_64|aarch64|ppc64le)\b")


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without a kernel release. A bare release counts only on the first line."""
    sheet = FactSheet()
    first = True
    for where, line in source_lines(text, source):
        found = _ALL.match(line)
        release = found[2] if found else None
        if first and release is None and (alone := _RELEASE.match(line)):
            release = alone[1]
        first = first and not line.strip()
        if release is None:
            continue
        sheet.put("kernel.release", release, where)
        if found and (machine := _MACHINE.search(found[3])):
            sheet.put("host.machine", machine[1], where)
        if "microsoft" in release.lower():
            sheet.put("host.wsl", True, where)
        return sheet
    raise ParserError("no kernel release in the text")
