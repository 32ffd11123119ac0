"""Paths of a Windows system in a pasted text (`C:\\Users\\me\\venv`, `PS E:\\app>`) -> the system is Windows.

One of the least trusted of parsers: what names the system itself comes first. A path under /mnt/c is WSL's, and says
nothing.

>>> read('  File "D:\\\\app\\\\venv\\\\lib\\\\site-packages\\\\torch\\\\__init__.py", line 3').get("os.id")
'windows'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines

PASTED = ({"trust": 730, "words": (":\\", ".dll")},)

_LINE_LIMIT = 600
_PATH = re.compile(r"(?<![\w/.])[A-Za-z]:\\{1,2}(?=[\w.$ -]{2,80}(?:\\|>|[\"'.\s]))")
_PROMPT = re.compile(r"\s{0,8}(?:\([\w.-]{1,40}\) ?)?(?:PS )?[A-Z]:\\[^<>|\"*?]{0,120}>")
_LIBRARY = re.compile(r"\b(?:cudart64|cublas64|cudnn64|nvcuda|c10_cuda|torch_python|shm|fbgemm)\w{0,20}\.dll\b")


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without a path, a prompt or a GPU library of Windows."""
    for where, line in source_lines(text, source):
        line = line[:_LINE_LIMIT]
        if _PATH.search(line) or _PROMPT.match(line) or (".dll" in line and _LIBRARY.search(line)):
            sheet = FactSheet()
            sheet.put("os.id", "windows", where)
            return sheet
    raise ParserError("no path of a Windows system in the text")
