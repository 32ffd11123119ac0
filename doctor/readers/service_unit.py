"""A systemd unit, or the environment that a server logs at its start -> what the service was given.

>>> read("[Service]\\nExecStart=/bin/x\\nEnvironment=A_B=1").get("service_environment")
{'A_B': '1'}
>>> read('server config env="map[CUDA_VISIBLE_DEVICES: OLLAMA_DEBUG:false]"').get("service_environment")
{'OLLAMA_DEBUG': 'false'}
"""

from __future__ import annotations

import re

from doctor.errors import ReaderError
from doctor.facts.sheet import FactSheet
from doctor.readers.source_lines import kept, source_lines

_MAP = re.compile(r"server config\"? env=\"?map\[(?P<pairs>[^\]]{0,6000})")
_PAIR = re.compile(r"(?:(?<=\s)|^)([A-Za-z][A-Za-z0-9_]{1,80}):(?!//)")
_VARIABLE = re.compile(r"\s{0,8}Environment=[\"']?(?P<name>[A-Za-z_][A-Za-z0-9_]{1,80})=(?P<value>[^\"']{0,300})")
_SEEN = re.compile(r".{0,400}?\b(?:gpu_type|compute)=(?P<arch>gfx\d{1,2}[0-9a-f]{2})\b")
_LIMIT = 400


def read(text: str, source: str = "text") -> FactSheet:
    """A unit counts where it is shown with what it starts, or with its variables; an empty value is none. Raises
    ReaderError without either."""
    sheet = FactSheet()
    unit: dict[str, str] = {}
    section = started = ""
    for where, line in source_lines(text, source):
        if "server config" in line and (found := _MAP.search(line)):
            _logged(sheet, where, found["pairs"])
        elif "=gfx" in line and (found := _SEEN.match(line)):
            sheet.put("gpus[#0].vendor", "amd", where)
            sheet.put("gpus[#0].arch", found["arch"], where)
        elif line.strip() == "[Service]":
            section = where
        elif section and line.lstrip().startswith("ExecStart="):
            started = where
        elif section and len(unit) < _LIMIT and (found := _VARIABLE.match(line)):
            unit[found["name"]] = kept(found["value"], 300)
    if started or (section and unit):
        sheet.put("service_environment", unit, section)
    if not len(sheet):
        raise ReaderError("no unit and no logged environment in the text")
    return sheet


def _logged(sheet: FactSheet, where: str, pairs: str) -> None:
    """Go's map: `A:1 B: C:x y`."""
    marks = list(_PAIR.finditer(pairs))[:_LIMIT]
    given: dict[str, str] = {}
    for position, mark in enumerate(marks):
        end = marks[position + 1].start() if position + 1 < len(marks) else len(pairs)
        value = pairs[mark.end() : end].strip()
        if value and mark[1].isupper():
            given[mark[1]] = kept(value, 300)
    sheet.put("service_environment", given, where)
    for name, value in given.items():
        if not name.startswith("OLLAMA_"):
            sheet.put(f"environment[{name}]", value, where)
