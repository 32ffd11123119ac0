"""Text of `nvidia-smi -L` or `nvidia-smi nvlink -s` -> GPUs by their number, with MIG instances or NVLinks.

MIG instances are named `MIG-<uuid>` since driver 470, `MIG-GPU-<uuid of the GPU>/<instance>/<instance>` before.
"""

from __future__ import annotations

import io
import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet

PASTED = ({"trust": 40, "words": ("(uuid: gpu-", "(uuid: mig-")},)

_CONTROL = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_GPU = re.compile(r"^\s*GPU (\d{1,3}): (\S.{0,99}?) \(UUID: (GPU-[0-9A-Za-z-]{1,60})\)\s*$")
_MIG = re.compile(r"^\s+MIG (\S.{0,30}?)\s+Device\s+(\d{1,3}): \(UUID: (MIG-[0-9A-Za-z/-]{1,90})\)\s*$")


_LINK = re.compile(r"^\s+Link (\d{1,2}): (\S.{0,30}?)\s*$")
_ALL_DOWN = "Unable to retrieve NVLink information as all links are inactive"


def read(text: str, source: str = "text") -> FactSheet:
    """ParserError where no line names a GPU; `No devices found` is for nvidia_smi_table."""
    sheet = FactSheet()
    key: str | None = None
    links: dict[str, tuple[str, list[dict[str, object]]]] = {}
    for number, raw in enumerate(io.StringIO(text, newline=None), 1):
        line, at = _CONTROL.sub("", raw[:400]).rstrip(), f"{source}:{number}"
        if gpu := _GPU.match(line):
            key = f"#{int(gpu[1])}"
            for fact, value in (("vendor", "nvidia"), ("name", gpu[2]), ("uuid", gpu[3]), ("index.smi", int(gpu[1]))):
                sheet.put(f"gpus[{key}].{fact}", value, at)
        elif key and (mig := _MIG.match(line)):
            base = f"gpus[{key}].partitions[mig{int(mig[2])}]"
            for fact, word in (("kind", "mig"), ("name", mig[1]), ("uuid", mig[3])):
                sheet.put(f"{base}.{fact}", word, at)
            sheet.put(f"gpus[{key}].mig_mode", "enabled", at)
        elif key and ((link := _LINK.match(line)) or _ALL_DOWN in line):
            index, up = (int(link[1]), "inactive" not in link[2].lower()) if link else (0, False)
            links.setdefault(key, (at, []))[1].append({"kind": "nvlink", "index": index, "up": up})
    if key is None:
        raise ParserError("not the text of nvidia-smi -L")
    for one, (at, rows) in links.items():
        sheet.put(f"gpus[{one}].links", rows, at)
    return sheet
