"""Rows of `lsmod` -> GPU drivers that are loaded. Rows that are missing say nothing: the output may be filtered.

>>> read("nvidia_uvm  4943872  6").get("nvidia_driver.uvm_loaded")
True
"""

from __future__ import annotations

import re

from doctor.errors import ReaderError
from doctor.facts.sheet import FactSheet
from doctor.readers.source_lines import source_lines

_ROW = re.compile(r"\s{0,8}(?:lsmod: )?([a-z][\w-]{1,40})\s{1,40}(\d{3,12})\s{1,20}(\d{1,6})(?: |$)")
FACTS = {
    "nvidia": "nvidia_driver.loaded",
    "nvidia_uvm": "nvidia_driver.uvm_loaded",
    "nvidia_modeset": "nvidia_driver.modeset_loaded",
    "nvidia_peermem": "nvidia_driver.peermem_loaded",
    "amdgpu": "amdgpu_driver.loaded",
}
_GPU_MODULES = {*FACTS, "nouveau", "nvidia_drm", "amdkfd", "vfio_pci"}
_FULL = 30
"""Rows from which an output with its header counts as unfiltered."""


def read(text: str, source: str = "text") -> FactSheet:
    """`kernel.modules` only of an unfiltered output. Raises ReaderError without a row."""
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
        raise ReaderError("no row of lsmod in the text")
    return sheet
