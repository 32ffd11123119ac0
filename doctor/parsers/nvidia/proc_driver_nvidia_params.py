"""Text of proc/driver/nvidia/params -> parameters that the NVIDIA module runs with, as text.

>>> read('ModifyDeviceFiles: 1\\nRegistryDwords: ""\\n')
{'ModifyDeviceFiles': '1', 'RegistryDwords': ''}
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.parsers.lib.printable import clean

_LINE = re.compile(r"^([A-Za-z][A-Za-z0-9_]{0,60}):\s?(.{0,500})$")


def read(text: str) -> dict[str, str]:
    """ParserError where no line is `Name: value`."""
    found: dict[str, str] = {}
    for line in text[:100_000].splitlines()[:400]:
        if match := _LINE.match(line.rstrip()):
            found.setdefault(match[1], clean(match[2].strip().strip('"'), 200))
    if not found:
        raise ParserError("no 'Name: value' line")
    return found
