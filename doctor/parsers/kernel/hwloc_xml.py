"""XML of hwloc's `lstopo` (formats 1 and 2) -> kernel, CPU, GPUs and RDMA devices.

>>> sheet = read('<topology version="2.0"><object type="Machine"><info name="OSRelease" value="5.14.0"/>'
...              '<object type="PCIDev" pci_busid="0000:d1:00.0" pci_type="0380 [1002:7408] [1002:0b0c] 00"/>'
...              '</object></topology>')
>>> sheet.get("kernel.release"), sheet.get("gpus[0000:d1:00.0].pci_id")
('5.14.0', '1002:7408')
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.xml_elements import Element, elements
from doctor.parsers.nvidia.nvidia_smi_fields import address

PASTED = ({"trust": 420, "words": ("<topology",)},)

_TYPE = re.compile(
    r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\] \[([0-9a-f]{4}):([0-9a-f]{4})\] ([0-9a-f]{2})(?: [0-9a-f]{2})?$"
)
_DISPLAY = {"0300", "0302", "0380", "1200"}
_VENDORS = {"10de": "nvidia", "1002": "amd"}
_NODE = re.compile(r"(?:renderD|card)\d{1,4}$")
_KIB = re.compile(r"\d{1,12}$")
_STATES = {"1": "DOWN", "2": "INIT", "3": "ARMED", "4": "ACTIVE"}
_MODELS = {"CPUModel": "host.cpu", "OSRelease": "kernel.release", "Architecture": "host.machine"}
_GPU_INFO = {"GPUModel": "name", "AMDUUID": "uuid", "NVIDIAUUID": "uuid", "AMDSerial": "serial",
             "NVIDIASerial": "serial"}  # fmt: skip
_MEMORY = ("RSMIVRAMSize", "CUDAGlobalMemorySize")
_LIMIT = 256


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without a `<topology>` of objects."""
    if "<topology" not in text or "<object type=" not in text:
        raise ParserError("no <topology> of hwloc")
    found = elements(text, "topology")
    sheet = FactSheet()
    gpus: dict[int, str] = {}
    for place, element in enumerate(found):
        if element.tag == "info":
            _info(sheet, found, element, gpus, source)
        elif element.attributes.get("type") == "PCIDev" and len(gpus) < _LIMIT:
            _device(sheet, place, element, gpus, f"{source}:{element.line}")
        elif element.attributes.get("type") == "OSDev":
            _os_device(sheet, found, element, gpus, f"{source}:{element.line}")
    if not len(sheet):
        raise ParserError("the topology names no machine")
    return sheet


def _device(sheet: FactSheet, place: int, element: Element, gpus: dict[int, str], where: str) -> None:
    key, kind = address(element.attributes.get("pci_busid", "")), _TYPE.match(element.attributes.get("pci_type", ""))
    if not key or not kind or kind[1] not in _DISPLAY or kind[2] not in _VENDORS:
        return
    gpus[place] = at = f"gpus[{key}]"
    sheet.put(f"{at}.vendor", _VENDORS[kind[2]], where)
    sheet.put(f"{at}.pci_address", key, where)
    sheet.put(f"{at}.pci_id", f"{kind[2]}:{kind[3]}", where)
    sheet.put(f"{at}.subsystem_id", f"{kind[4]}:{kind[5]}", where)
    sheet.put(f"{at}.revision", f"0x{kind[6]}", where)


def _os_device(sheet: FactSheet, found: list[Element], element: Element, gpus: dict[int, str], where: str) -> None:
    name = element.attributes.get("name", "")
    if element.parent in gpus and _NODE.match(name):
        fact = "render_node" if name.startswith("render") else "card_node"
        sheet.put(f"{gpus[element.parent]}.{fact}", name, where)
    elif element.attributes.get("osdev_type") == "3" and re.fullmatch(r"[a-z]\w{1,40}", name):
        key = address(found[element.parent].attributes.get("pci_busid", "")) if element.parent >= 0 else None
        if key:
            sheet.put(f"rdma[{name}].pci_address", key, where)


def _info(sheet: FactSheet, found: list[Element], element: Element, gpus: dict[int, str], source: str) -> None:
    """What is within an object of the machine, of a package or of a device."""
    name, value = element.attributes.get("name", ""), element.attributes.get("value", "")
    where = f"{source}:{element.line}"
    if not value or element.parent < 0:
        return
    if name in _MODELS:
        sheet.put(_MODELS[name], value, where)
        return
    holder = found[element.parent]
    device = holder.attributes.get("name", "")
    at = gpus.get(holder.parent)
    if name == "Port1State" and value in _STATES and re.fullmatch(r"[a-z]\w{1,40}", device):
        sheet.put(f"rdma[{device}].state", _STATES[value], where)
    elif at and name in _GPU_INFO:
        sheet.put(f"{at}.{_GPU_INFO[name]}", value, where)
    elif at and name in _MEMORY and _KIB.match(value):
        sheet.put(f"{at}.memory_bytes", int(value) << 10, where)
