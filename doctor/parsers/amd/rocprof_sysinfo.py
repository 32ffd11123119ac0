"""`sysinfo.csv` of rocprofiler-compute (Omniperf) -> the machine that a profile was taken on.

Versions 2 and 3 of the file differ in columns, which are found by name.

>>> read("workload_name,linux_kernel_version,rocm_version,gpu_arch\\nx,6.8.0,7.0.0,gfx942").get("gpus[#0].arch")
'gfx942'
"""

from __future__ import annotations

import csv
import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines
from doctor.parsers.text.os_name import os_facts

PASTED = ({"trust": 250, "words": ("workload_name,",)},)

_ROCM = re.compile(r"(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)(?:-\d+)?$")
_FACTS = {
    "cpu_model": ("host.cpu", r".{2,120}$"),
    "linux_kernel_version": ("kernel.release", r"\d+\.\d+[\w.+-]{0,80}$"),
    "gpu_arch": ("gpus[#0].arch", r"gfx[0-9a-f]{3,4}$"),
    "vbios": ("gpus[#0].vbios", r"\d{3}-[\w.-]{3,40}$"),
    "compute_partition": ("gpus[#0].compute_partition", r"[SDTQC]PX$"),
    "memory_partition": ("gpus[#0].memory_partition", r"NPS\d$"),
}
_NUMBERS = {"cu_per_gpu": "gpus[#0].compute_units", "num_xcd": "gpus[#0].xcc_count"}


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without the header and one row."""
    columns: list[str] = []
    sheet = FactSheet()
    for where, line in source_lines(text, source):
        if line.startswith("workload_name,"):
            columns = line.split(",")[:80]
        elif columns and line.strip():
            cells = next(csv.reader([line.replace("\0", "")]), [])
            _put(sheet, dict(zip(columns, cells, strict=False)), where)
            break
    if not len(sheet):
        raise ParserError("no sysinfo.csv of rocprofiler-compute")
    return sheet


def _put(sheet: FactSheet, cells: dict[str, str], where: str) -> None:
    for column, (fact, shape) in _FACTS.items():
        if re.match(shape, cells.get(column, "")):
            sheet.put(fact, kept(cells[column], 120), where)
    for column, fact in _NUMBERS.items():
        if re.fullmatch(r"[0-9]{1,4}", cells.get(column, "")):
            sheet.put(fact, int(cells[column]), where)
    if sheet.get("gpus[#0].arch"):
        sheet.put("gpus[#0].vendor", "amd", where)
    if found := _ROCM.match(cells.get("rocm_version", "")):
        sheet.put("rocm[shown].path", "", where)
        sheet.put("rocm[shown].version", found[1], where)
    for fact, value in os_facts(kept(cells.get("linux_distro", ""), 80)).items():
        sheet.put(fact, value, where)
