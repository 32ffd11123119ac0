"""Text of proc/driver/nvidia/version -> version and flavour of the NVIDIA kernel module that is loaded.

>>> read("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build")
KernelModule(version='575.57.08', flavour='open')
>>> read("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.144.03  Mon Dec 30 17:44:08 UTC 2024").flavour
'proprietary'
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from doctor.errors import ParserError

_NVRM = re.compile(
    r"^NVRM version:\s*NVIDIA UNIX (?P<open>Open )?[^\n]{0,60}?Kernel Module[^\n]{0,60}?\s"
    r"(?P<version>\d{1,4}\.\d{1,4}(?:\.\d{1,4})?)(?=\s|$)"
)


class KernelModule(NamedTuple):
    version: str
    flavour: Literal["open", "proprietary"]


def read(text: str) -> KernelModule:
    """ParserError without an `NVRM version:` line; empty text is an error, not "no driver"."""
    for line in text[:4000].splitlines():
        if match := _NVRM.match(line):
            return KernelModule(match["version"], "open" if match["open"] else "proprietary")
    raise ParserError("no 'NVRM version:' line")
