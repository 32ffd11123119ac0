"""XML of `nvidia-smi -q -x` (document types 10 to 13) -> facts of the driver and of each GPU.

Entities are refused; a document that was cut is not read at all.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept
from doctor.parsers.nvidia.nvidia_smi_fields import Field, address, put_driver, put_gpu, spelling
from doctor.parsers.nvidia.nvidia_smi_query import put_partition

PASTED = ({"trust": 10, "words": ("<nvidia_smi_log>",)},)

MAX_CHARS = 16 << 20
_DOCTYPE = re.compile(r"<!DOCTYPE nvidia_smi_log[^>\[]{0,200}>")
_CONTROL = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_MAX_GPUS = 256
_MAX_FIELDS = 2000
_MAX_DEPTH = 12


def read(text: str, source: str = "text") -> FactSheet:
    """ParserError where the text holds no whole `<nvidia_smi_log>`. The parser keeps no line numbers: the source of
    each fact is the line of its GPU element."""
    start, end = text.find("<nvidia_smi_log>"), text.rfind("</nvidia_smi_log>")
    if start < 0 or end < start:
        raise ParserError("no whole <nvidia_smi_log> element")
    if end - start > MAX_CHARS:
        raise ParserError("nvidia-smi XML of more than 16 MiB")
    root = _root(text[start : end + len("</nvidia_smi_log>")])
    first = text.count("\n", 0, start) + 1
    sheet = FactSheet()
    put_driver(sheet, _flat(root, first, skip=("gpu",)), source)
    elements = root.findall("gpu")[:_MAX_GPUS]
    lines = [text.count("\n", 0, m.start()) + 1 for m in re.finditer(r"<gpu id=", text)][:_MAX_GPUS]
    attached = (root.findtext("attached_gpus") or "").strip()
    for index, element in enumerate(elements):
        line = lines[index] if index < len(lines) else first
        key = _put_element(sheet, element, index, line, source)
        if attached == str(len(elements)):
            sheet.put(f"gpus[{key}].index.smi", index, f"{source}:{line}")
    if not elements and attached == "0":
        sheet.put("gpus", [], f"{source}:{first}")
    return sheet


def _root(document: str) -> Element:
    try:
        root: Element = fromstring(_CONTROL.sub("", _DOCTYPE.sub("", document)))
    except (ParseError, DefusedXmlException, ValueError, RecursionError) as error:
        raise ParserError(f"nvidia-smi XML: {str(error)[:100]}") from error
    return root


def _put_element(sheet: FactSheet, element: Element, index: int, line: int, source: str) -> str:
    place = address(element.get("id", "")) or address(element.findtext("pci/pci_bus_id") or "")
    key = place or f"#{index}"
    sheet.put(f"gpus[{key}].vendor", "nvidia", f"{source}:{line}")
    if place:
        sheet.put(f"gpus[{key}].pci_address", place, f"{source}:{line}")
    put_gpu(sheet, key, _flat(element, line, skip=("mig_devices", "supported_clocks", "processes")), source)
    for device in element.findall("mig_devices/mig_device")[:64]:
        memory = device.findtext("fb_memory_usage/total")
        put_partition(sheet, key, Field(device.findtext("index") or "", line),
                      Field(memory, line) if memory else None, source)  # fmt: skip
    return key


def _flat(element: Element, line: int, skip: tuple[str, ...]) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    stack = [(child, "", 0) for child in reversed(element) if child.tag not in skip]
    while stack and len(fields) < _MAX_FIELDS:
        node, path, depth = stack.pop()
        here = f"{path}{spelling(str(node.tag))}"
        if len(node) and depth < _MAX_DEPTH:
            stack.extend((child, f"{here}/", depth + 1) for child in reversed(node))
        elif node.text:
            fields.setdefault(here, Field(kept(node.text, 300), line))
    return fields
