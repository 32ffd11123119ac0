"""A Python traceback, or any text with paths of site-packages -> the interpreter and where torch lies.

>>> read('  File "/opt/venv/lib/python3.11/site-packages/torch/cuda/__init__.py", line 3').get("interpreter.version")
'3.11'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = ({"trust": 620, "words": ("-packages/", ".cpython-")},)

_SITE, _QUOTED = (
    re.compile(
        rf"{start}((?:/[^{but}/\"']{{1,80}}){{0,12}}/lib(?:64)?/python(\d\.\d\d?)/(?:site|dist)-packages)/([\w-]{{1,60}})"
    )
    for start, but in (("", r"\s"), ('File "', ""))
)
"""A path that is in a line, and one that Python quotes, which may hold blanks."""
_CPYTHON = re.compile(r"\.cpython-(\d)(\d{1,2})-(x86_64|aarch64|ppc64le)-linux-gnu")


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError where no path of a Python installation is in the text."""
    sheet = FactSheet()
    for where, line in source_lines(text, source):
        if "-packages/" in line and (found := _QUOTED.search(line) or _SITE.search(line)):
            sheet.put("interpreter.version", found[2], where)
            if found[3] == "torch":
                sheet.put("torch.installed", True, where)
                sheet.put("torch.location", kept(found[1], 300), where)
        elif ".cpython-" in line and (found := _CPYTHON.search(line)):
            sheet.put("interpreter.version", f"{found[1]}.{found[2]}", where)
            sheet.put("host.machine", found[3], where)
    if not len(sheet):
        raise ParserError("no path of a Python installation in the text")
    return sheet
