"""Rows of `lsmod` -> GPU drivers that are loaded. Rows that are missing say nothing: the output may be filtered.

>>> read("nvidia_uvm  4943872  6").get("nvidia_driver.uvm_loaded")
True
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines

PASTED = (
    {
        "trust": 150,
        "words": ("nvidia_uvm ", "amdgpu  ", "nouveau  ", "nvidia  "),
        "commands": ("lsmod",),
        "takes_command": True,
    },
)

_ROW = re.compile(r"\s{0,8}(?:lsmod: )?([a-z][\w-]{1,40})\s{1,40}(\d{3,12})\s{1,20}(\d{1,6})(?: |$)")
FACTS = {
    "nvidia": "nvidia_driver.loaded",
    "nvidia_uvm": "nvidia_driver.uvm_loaded",
    "nvidia_modeset": "nvidia_driver.modeset_loaded",
    "nvidia_peermem": "nvidia_driver.peermem_loaded",
    "amdgpu": "amdgpu_driver.loaded",
}
_SEARCHED = re.compile(
    r"(?:sudo )?lsmod ?\| ?[ef]?grep (?P<options>(?:-[a-zA-Z]{1,6} ){0,3})['\"]?\^?(?P<names>[\w|\\-]{3,80})['\"]?\s*$"
)
_GPU_MODULES = {*FACTS, "nouveau", "nvidia_drm", "amdkfd", "vfio_pci"}
_FULL = 30
"""Rows from which an output with its header counts as unfiltered."""


def read(text: str, source: str = "text", command: str = "") -> FactSheet:
    """`kernel.modules` only of an unfiltered output. Of what `command` searched for, modules without a row are not
    loaded. Raises ParserError without a row."""
    sheet = FactSheet()
    names: list[str] = []
    header = first = ""
    for where, line in source_lines(text, source):
        if line.split() == ["Module", "Size", "Used", "by"]:
            header = where
        elif (found := _ROW.match(line)) and len(names) < 1000:
            names.append(found[1])
            first = first or where
            if found[1] in FACTS:
                sheet.put(FACTS[found[1]], True, where)
    if header and len(names) >= _FULL:
        sheet.put("kernel.modules", names, first)
    elif "nouveau" in names:
        sheet.put("kernel.modules", [n for n in names if n in _GPU_MODULES], first)
    if not names:
        raise ParserError("no row of lsmod in the text")
    if "..." not in text:
        for fact in searched(command) - {FACTS.get(name) for name in names}:
            sheet.put(fact, False, first)
    return sheet


def searched(command: str) -> set[str]:
    """Facts of the modules that `lsmod | grep NAME` shows where they are loaded: NAME is a part of theirs."""
    found = _SEARCHED.match(command.strip()[:200])
    if not found or "v" in found["options"] or "w" in found["options"]:
        return set()
    names = [name for name in found["names"].replace("-", "_").replace("\\", "").lower().split("|") if len(name) > 2]
    return {fact for module, fact in FACTS.items() if any(name in module for name in names)}
