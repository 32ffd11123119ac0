"""Small files under sys/class/drm/cardN/device of the amdgpu driver -> numbers.

>>> error_count("ue: 1\\nce: 20\\n")
ErrorCount(uncorrected=1, corrected=20)
>>> bad_pages("0x00000001 : 0x00001000 : R\\n0x00000002 : 0x00001000 : P\\n")
2
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.errors import ParserError

_COUNT = re.compile(r"^\s*(ue|ce|de):\s*(\d{1,20})\s*$", re.MULTILINE)
_PAGE = re.compile(r"^\s*0x[0-9a-fA-F]{1,16}\s*:\s*0x[0-9a-fA-F]{1,16}\s*:\s*[RPF]\s*$", re.MULTILINE)


class ErrorCount(NamedTuple):
    """Counters of one RAS block since the driver loaded."""

    uncorrected: int
    corrected: int


def error_count(text: str) -> ErrorCount:
    """A `ras/BLOCK_err_count`. Raises ParserError when it has no counter (`Query not supported`)."""
    counts = {match[1]: int(match[2]) for match in _COUNT.finditer(text[:4096])}
    if "ue" not in counts and "ce" not in counts:
        raise ParserError("no 'ue:' or 'ce:' line")
    return ErrorCount(counts.get("ue", 0), counts.get("ce", 0))


def bad_pages(text: str) -> int:
    """Retired (R), pending (P) and unreservable (F) pages of `ras/gpu_vram_bad_pages`; an empty file has none."""
    return len(_PAGE.findall(text))


def firmware_bundle(text: str) -> str:
    """`01.25.03.12` of `0x0119030c` in `fw_version/pldm_fw_version`: a byte a number, as amd-smi 26 prints PLDM_BUNDLE
    (amdsmi 7.0.2: amdsmi_get_fw_info). Raises ParserError; a card without a bundle prints zeros.

    >>> firmware_bundle("0x0119030c\\n")
    '01.25.03.12'
    """
    digits = text.strip().lower().removeprefix("0x")
    if not re.fullmatch(r"[0-9a-f]{8}", digits) or not digits.strip("0") or not digits.strip("f"):
        raise ParserError("no firmware bundle")
    return ".".join(f"{byte:02d}" for byte in bytes.fromhex(digits))


def unique_id(text: str) -> str:
    """16 lower-case hex digits. Raises ParserError; all zeros, as APUs print, is no id."""
    digits = text.strip().lower().removeprefix("0x")
    if not re.fullmatch(r"[0-9a-f]{1,16}", digits) or not int(digits, 16):
        raise ParserError("no unique id")
    return f"{int(digits, 16):016x}"
