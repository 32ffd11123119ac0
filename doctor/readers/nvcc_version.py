"""Output of `nvcc --version` -> the CUDA toolkit on PATH.

>>> read("Cuda compilation tools, release 12.4, V12.4.131").get("cuda[nvcc].version")
'12.4.131'
"""

from __future__ import annotations

import re

from doctor.errors import ReaderError
from doctor.facts.sheet import FactSheet
from doctor.readers.source_lines import source_lines

_RELEASE = re.compile(r"release (\d{1,2}\.\d{1,2})(?:, V(\d{1,2}\.\d{1,2}\.\d{1,4}))?")


def read(text: str, source: str = "text") -> FactSheet:
    """The path is not shown and stays empty. Raises ReaderError without the release."""
    for where, line in source_lines(text, source):
        if "ompilation tools" in line and (found := _RELEASE.search(line)):
            sheet = FactSheet()
            sheet.put("cuda[nvcc].path", "", where)
            sheet.put("cuda[nvcc].version", found[2] or found[1], where)
            sheet.put("cuda[nvcc].kind", "toolkit", where)
            return sheet
    raise ReaderError("no line with nvcc's release")
