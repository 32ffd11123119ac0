"""Text of a C header with MAJOR, MINOR and PATCH macros -> the version that they make.

>>> read("#define CUDNN_MAJOR 9\\n#define CUDNN_MINOR 1\\n#define CUDNN_PATCHLEVEL 0\\n")
'9.1.0'
>>> read("#define CUDART_VERSION  12090")
'12.9'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError

_MACRO = re.compile(
    r"^[ \t]{0,8}#[ \t]{0,8}define[ \t]{1,20}(\w{1,40}?)_?(MAJOR|MINOR|PATCHLEVEL|PATCH)[ \t]{1,40}\(?(\d{1,6})\b",
    re.IGNORECASE | re.MULTILINE | re.ASCII,
)
_WHOLE = re.compile(r"^[ \t]{0,8}#define[ \t]{1,20}CUDA(?:RT)?_VERSION[ \t]{1,40}(\d{4,6})\b", re.MULTILINE | re.ASCII)
_ORDER = ("MAJOR", "MINOR", "PATCH")


def read(text: str) -> str:
    """Of the first stem that has a MAJOR. ParserError where there is none."""
    parts: dict[str, dict[str, str]] = {}
    for match in _MACRO.finditer(text[:400_000]):
        word = match[2].upper().removesuffix("LEVEL")
        parts.setdefault(match[1].upper(), {}).setdefault(word, match[3])
    for held in parts.values():
        if "MAJOR" in held:
            return ".".join(held[word] for word in _ORDER if word in held)
    whole = _WHOLE.search(text[:400_000])
    if whole:
        number = int(whole[1])
        return f"{number // 1000}.{number % 1000 // 10}"
    raise ParserError("no macro of a version")
