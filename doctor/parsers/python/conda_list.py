"""Output of `conda list` -> Python packages, and the build of pytorch from its build text.

>>> read("# Name  Version  Build  Channel\\npytorch  2.1.0  py3.10_cuda11.8_cudnn8.7.0_0  pytorch").get("torch.cuda")
'11.8'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines
from doctor.parsers.python import packages
from doctor.parsers.python.torch_build import build_facts

PASTED = (
    {"trust": 470, "words": ("build  channel", "packages in environment"), "commands": ("conda list", "mamba list")},
)

_ROW = re.compile(
    r"\s{0,4}([a-z0-9_][\w.-]{0,99})\s{1,60}(\d[\w.+!-]{0,60})\s{1,40}([\w.]{1,80})(?:\s{1,40}(\S{1,80}))?\s*$"
)
_CUDA = re.compile(r"cuda_?(\d{1,2})\.?(\d)(?:\.\d)?")


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without a row of name, version and build."""
    sheet = FactSheet()
    rows: list[dict[str, str]] = []
    first = ""
    for where, line in source_lines(text, source):
        found = _ROW.match(line)
        row = packages.package(found[1], found[2]) if found else None
        if not found or row is None or len(rows) >= packages.LIMIT:
            continue
        first = first or where
        if row["name"] in ("pytorch", "torch"):
            row["name"] = "torch"
            _torch(sheet, found[2], found[3], where)
        if row["name"] == "python":
            sheet.put("interpreter.version", found[2], where)
        else:
            rows.append(row)
    if not rows:
        raise ParserError("no row of name, version and build")
    sheet.put("packages", rows, first)
    for name, value in packages.compilers(rows):
        sheet.put(name, value, first)
    return sheet


def _torch(sheet: FactSheet, version: str, build: str, where: str) -> None:
    facts = build_facts(version)
    if found := _CUDA.search(build):
        facts |= {"torch.build": "cuda", "torch.cuda": f"{found[1]}.{found[2]}"}
    elif "cpu" in build:
        facts["torch.build"] = "cpu"
    for name, value in facts.items():
        sheet.put(name, value, where)
