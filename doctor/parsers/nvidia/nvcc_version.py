"""Output of `nvcc --version`, or what CMake says of the nvcc that it found -> the CUDA toolkit on PATH.

>>> read("Cuda compilation tools, release 12.4, V12.4.131").get("cuda[nvcc].version")
'12.4.131'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines

PASTED = ({"trust": 460, "words": ("compilation tools", "cuda compiler identification is")},)

_RELEASE = re.compile(r"release (\d{1,2}\.\d{1,2})(?:, V(\d{1,2}\.\d{1,2}\.\d{1,4}))?")
_CMAKE = re.compile(r"The CUDA compiler identification is NVIDIA (\d{1,2}\.\d{1,2}\.\d{1,4})\b")


def read(text: str, source: str = "text") -> FactSheet:
    """The path is not shown and stays empty. Raises ParserError without the release."""
    for where, line in source_lines(text, source):
        found = _RELEASE.search(line) if "ompilation tools" in line else None
        cmake = _CMAKE.search(line) if "ompiler identification" in line else None
        if found or cmake:
            sheet = FactSheet()
            sheet.put("cuda[nvcc].path", "", where)
            sheet.put("cuda[nvcc].version", cmake[1] if cmake else found and (found[2] or found[1]), where)
            sheet.put("cuda[nvcc].kind", "toolkit", where)
            return sheet
    raise ParserError("no line with nvcc's release")
