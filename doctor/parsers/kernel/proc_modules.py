"""Text of proc/modules -> names of the loaded modules. Built-in ones are not in that file.

>>> read("amdgpu 19877888 12 - Live 0x0000000000000000\\nvideo 77824 1 amdgpu, Live 0x0\\n")
('amdgpu', 'video')
"""

from __future__ import annotations

import re

from doctor.errors import ParserError

_LINE = re.compile(r"^([A-Za-z0-9_\-]{1,64}) \d{1,15} -?\d{1,9}(?: |$)")
_LINES = 5000


def read(text: str) -> tuple[str, ...]:
    """In the order of the file; an empty file is a kernel without loaded modules."""
    lines = [line for line in text.splitlines()[:_LINES] if line.strip()]
    names = tuple(match[1] for line in lines if (match := _LINE.match(line)))
    if lines and not names:
        raise ParserError("no line of the form 'NAME SIZE USERS': not proc/modules")
    return names
