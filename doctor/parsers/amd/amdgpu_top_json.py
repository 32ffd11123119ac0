"""JSON of amdgpu_top (`-d --json` and `-J`) -> AMD GPUs. A suspended device is listed by path only, and is no gap.

>>> sheet = read('[{"DeviceName": "AMD Radeon RX 9060 XT", "gfx_target_version": "gfx1200", "PCI": "0000:03:00.0",'
...              ' "DevicePath": {"render": "/dev/dri/renderD128"}}]')
>>> sheet.get("gpus[0000:03:00.0].arch"), sheet.get("gpus[0000:03:00.0].render_node")
('gfx1200', 'renderD128')
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.json_text import JsonText, rows, table
from doctor.parsers.lib.printable import clean
from doctor.parsers.nvidia.nvidia_smi_fields import address

PASTED = ({"trust": 240, "words": ("devicepath", "amdgpu_top_version")},)

_NODE = re.compile(r"/dev/dri/((?:card|renderD)\d{1,4})$")
_LIMIT = 64
_GT_S = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError where no device of amdgpu_top is in the JSON."""
    if "DevicePath" not in text and "amdgpu_top_version" not in text:
        raise ParserError("no JSON of amdgpu_top")
    held = JsonText(text)
    sheet = FactSheet()
    for device in _devices(held.value):
        _put(sheet, device, held, source)
    rocm = table(held.value).get("ROCm version")
    if isinstance(rocm, str) and re.fullmatch(r"\d{1,2}\.\d{1,2}(?:\.\d{1,2})?", rocm):
        where = f"{source}:{held.line_of(chr(34) + 'ROCm version')}"
        sheet.put("rocm[shown].path", "", where)
        sheet.put("rocm[shown].version", rocm, where)
    if not len(sheet):
        raise ParserError("no device of amdgpu_top")
    return sheet


def _devices(value: Any) -> Iterator[dict[str, Any]]:
    listed = rows(value, _LIMIT) or rows(table(value).get("devices"), _LIMIT)
    for row in listed:
        yield row["Info"] if isinstance(row.get("Info"), dict) else row
    for row in rows(table(value).get("suspended_devices"), _LIMIT):
        yield {"DevicePath": row, "PCI": row.get("pci"), "DeviceName": row.get("DeviceName"), "suspended": True}


def _put(sheet: FactSheet, device: dict[str, Any], held: JsonText, source: str) -> None:
    path = table(device.get("DevicePath"))
    pci = device.get("PCI") or path.get("pci")
    key = address(pci) if isinstance(pci, str) else None
    if key is None:
        return
    where = f"{source}:{held.line_of(str(pci))}"
    facts: dict[str, Any] = {"vendor": "amd", "pci_address": key}
    name, arch = device.get("DeviceName"), device.get("gfx_target_version")
    facts["name"] = clean(name, 120) if isinstance(name, str) and name else None
    facts["arch"] = arch if isinstance(arch, str) and re.fullmatch(r"gfx[0-9a-f]{3,4}", arch) else None
    identity = device.get("DeviceID") or path.get("DeviceID")
    facts["pci_id"] = f"1002:{identity:04x}" if type(identity) is int and 0 < identity < 1 << 16 else None
    size, units = device.get("VRAM Size"), device.get("Total Compute Unit")
    facts["memory_bytes"] = size if type(size) is int and 0 < size < 1 << 50 else None
    facts["compute_units"] = units if type(units) is int and 0 < units < 10_000 else None
    facts["integrated"] = {"APU": True, "dGPU": False}.get(str(device.get("GPU Type")))
    facts["runtime_status"] = "suspended" if device.get("suspended") else None
    for fact, node in (("render_node", "render"), ("card_node", "card")):
        found = _NODE.match(str(path.get(node, "")))
        facts[fact] = found[1] if found else None
    widest = table(table(device.get("PCIe Link")).get("max_gpu_link"))
    facts["link.max_speed_gt_s"] = _GT_S.get(widest["gen"]) if type(widest.get("gen")) is int else None
    facts["link.max_width"] = widest["width"] if type(widest.get("width")) is int and widest["width"] < 64 else None
    for fact, value in facts.items():
        if value is not None:
            sheet.put(f"gpus[{key}].{fact}", value, where)
