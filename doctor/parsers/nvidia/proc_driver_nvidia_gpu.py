"""Text of proc/driver/nvidia/gpus/ADDRESS/information -> one GPU as the kernel module sees it.

>>> read("Model: \\t\\t NVIDIA L4\\nGPU UUID: \\t GPU-1\\nBus Location: \\t 0000:c1:00.0\\nDevice Minor: \\t 3\\n")
GpuInformation(model='NVIDIA L4', uuid='GPU-1', address='0000:c1:00.0', minor=3, vbios=None, excluded=None)
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.errors import ParserError
from doctor.parsers.lib.printable import clean

_LINE = re.compile(r"^([A-Z][A-Za-z ]{1,40}?):\s*(.{0,200})$")
_UUID = re.compile(r"^GPU-[0-9A-Za-z-]{1,60}$")
_ADDRESS = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")


class GpuInformation(NamedTuple):
    """`uuid` is None while the module has not asked the GPU for it (`GPU-????????-…`)."""

    model: str | None
    uuid: str | None
    address: str | None
    minor: int | None
    vbios: str | None
    excluded: bool | None


def read(text: str) -> GpuInformation:
    """ParserError where there is no `Model:` and no `Bus Location:` line."""
    rows: dict[str, str] = {}
    for line in text[:10_000].splitlines()[:60]:
        if match := _LINE.match(line.strip()):
            rows.setdefault(match[1], clean(match[2].strip(), 200))
    if "Model" not in rows and "Bus Location" not in rows:
        raise ParserError("no 'Model:' line")
    uuid, place, minor = rows.get("GPU UUID", ""), rows.get("Bus Location", "").lower(), rows.get("Device Minor", "")
    model, vbios = rows.get("Model", ""), rows.get("Video BIOS", "")
    return GpuInformation(
        model if model and model != "Unknown" else None,
        uuid if _UUID.match(uuid) else None,
        place if _ADDRESS.match(place) else None,
        int(minor) if minor.isdecimal() and len(minor) < 6 else None,
        vbios if vbios and "?" not in vbios else None,
        {"Yes": True, "No": False}.get(rows.get("GPU Excluded", "")),
    )
