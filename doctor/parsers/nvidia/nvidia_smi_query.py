"""Text of `nvidia-smi -q` -> facts of the driver and of each GPU.

Indent shows nesting: a MIG device has blocks named as the GPU's own, one step deeper and before them.
"""

from __future__ import annotations

import io
import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.nvidia.nvidia_smi_fields import Field, address, put_driver, put_gpu, spelling

PASTED = ({"trust": 20, "words": ("nvsmi log", "product architecture", "driver version   ")},)

_GPU = re.compile(r"^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$")
_CONTROL = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_MAX_GPUS = 256
_MAX_FIELDS = 2000


def read(text: str, source: str = "text") -> FactSheet:
    """ParserError where neither a `GPU <bus id>` heading nor a version line of -q is found."""
    head, gpus = _parse(text)
    sheet = FactSheet()
    put_driver(sheet, head, source)
    if not gpus and not ("attachedgpus" in head and len(sheet)):
        raise ParserError("not the text of nvidia-smi -q")
    for index, (key, (line, fields)) in enumerate(gpus.items()):
        sheet.put(f"gpus[{key}].vendor", "nvidia", f"{source}:{line}")
        sheet.put(f"gpus[{key}].pci_address", key, f"{source}:{line}")
        attached = head.get("attachedgpus")
        if attached and attached.text.strip() == str(len(gpus)):
            sheet.put(f"gpus[{key}].index.smi", index, f"{source}:{line}")
        put_gpu(sheet, key, fields, source)
        _put_mig(sheet, key, fields, source)
    if not gpus and head["attachedgpus"].text.strip() == "0":
        sheet.put("gpus", [], f"{source}:{head['attachedgpus'].line}")
    return sheet


def _parse(text: str) -> tuple[dict[str, Field], dict[str, tuple[int, dict[str, Field]]]]:
    head: dict[str, Field] = {}
    gpus: dict[str, tuple[int, dict[str, Field]]] = {}
    fields = head
    stack: list[tuple[int, str]] = []
    mig = 0
    base = 0
    for number, raw in enumerate(io.StringIO(text, newline=None), 1):
        line = _CONTROL.sub("", raw[:500]).expandtabs().rstrip()
        body = line.lstrip()
        if not body:
            continue
        indent = len(line) - len(body)
        if (match := _GPU.match(body)) and len(gpus) < _MAX_GPUS:
            fields = gpus.setdefault(address(match[1]) or match[1], (number, {}))[1]
            stack, mig, base = [], 0, indent
            continue
        if fields is not head and indent <= base:
            fields, stack = {}, []  # what follows the list of GPUs is not theirs
        while stack and stack[-1][0] >= indent:
            stack.pop()
        name, colon, value = body.partition(" : ")
        if not colon and body.endswith(" :"):
            name, colon = body[:-2], ":"
        word = spelling(name)
        if not colon:
            if word == "migdevice":
                word, mig = f"migdevice{mig}", mig + 1
            stack.append((indent, word))
            continue
        path = "/".join([part for _, part in stack[:8]] + [word])
        if len(fields) < _MAX_FIELDS:
            fields.setdefault(path, Field(value.strip(), number))
    return head, gpus


def _put_mig(sheet: FactSheet, key: str, fields: dict[str, Field], source: str) -> None:
    """MIG instances in the order of the list; -q prints no UUID for them."""
    for place in range(64):
        index = fields.get(f"migdevice{place}/index")
        if not index:
            return
        put_partition(sheet, key, index, fields.get(f"migdevice{place}/sharedfbmemoryusage/total")
                      or fields.get(f"migdevice{place}/fbmemoryusage/total"), source)  # fmt: skip


def put_partition(sheet: FactSheet, key: str, index: Field, memory: Field | None, source: str) -> None:
    """One MIG instance, keyed `mig` and its number on the GPU."""
    number = index.text.strip()
    if not number.isdecimal() or len(number) > 3:
        return
    base = f"gpus[{key}].partitions[mig{number}]"
    sheet.put(f"{base}.kind", "mig", f"{source}:{index.line}")
    size = re.match(r"(\d{1,9}) MiB", memory.text.strip()) if memory else None
    if memory and size:
        sheet.put(f"{base}.memory_bytes", int(size[1]) << 20, f"{source}:{memory.line}")
