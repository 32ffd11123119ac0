"""Topology XML of NCCL and RCCL (`NCCL_TOPO_DUMP_FILE`) -> GPUs with their architecture, links and NUMA node; NICs.

RCCL wrote the architecture as the decimal number of HIP's gcnArch (910 for gfx90a) until it wrote the name.

>>> sheet = read('<system version="1"><cpu numaid="1" arch="x86_64"><pci busid="0000:0f:00.0" vendor="0x1002"'
...              ' device="0x740c"><gpu dev="0" gcn="910" sm="104"/></pci></cpu></system>')
>>> sheet.get("gpus[0000:0f:00.0].arch"), sheet.get("gpus[0000:0f:00.0].numa_node")
('gfx90a', 1)
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.xml_elements import Element, elements
from doctor.parsers.nvidia.nvidia_smi_fields import address

PASTED = ({"trust": 410, "words": ("<system version=",)},)

_SPEED = re.compile(r"(\d{1,3}(?:\.\d)?) GT/s")
_GCN = {"910": "gfx90a"}
_HEX4 = re.compile(r"0x([0-9a-f]{4})$")
_NUMBER = re.compile(r"-?\d{1,6}$")
_NIC = re.compile(r"[A-Za-z][\w.-]{1,40}$")
_GPUS_LIMIT = 256
_LINKS_LIMIT = 64


def read(text: str, source: str = "text") -> FactSheet:
    """GPUs are those that a `<gpu>` element names: a file that was written by hand for a cloud's machine names none.
    Raises ParserError without a `<system version=…>`."""
    if "<system version=" not in text:
        raise ParserError("no <system version=…> element")
    found = elements(text, "system")
    sheet = FactSheet()
    for element in found:
        if element.tag == "cpu" and re.fullmatch(r"[a-z0-9_]{3,12}", element.attributes.get("arch", "")):
            sheet.put("host.machine", element.attributes["arch"], f"{source}:{element.line}")
        elif element.tag == "net":
            _put_nic(sheet, found, element, f"{source}:{element.line}")
    for place in [p for p, element in enumerate(found) if element.tag == "gpu"][:_GPUS_LIMIT]:
        _put_gpu(sheet, found, place, source)
    return sheet


def _above(found: list[Element], element: Element, tag: str) -> Element | None:
    """The nearest element of that tag around it."""
    while element.parent >= 0:
        element = found[element.parent]
        if element.tag == tag:
            return element
    return None


def _put_gpu(sheet: FactSheet, found: list[Element], place: int, source: str) -> None:
    gpu = found[place]
    pci, cpu = _above(found, gpu, "pci"), _above(found, gpu, "cpu")
    where = f"{source}:{gpu.line}"
    key = address(pci.attributes.get("busid", "")) if pci else None
    if pci is None or key is None:
        return
    at = f"gpus[{key}]"
    sheet.put(f"{at}.pci_address", key, where)
    attributes = gpu.attributes
    gcn, sm = attributes.get("gcn", ""), attributes.get("sm", "")
    sheet.put(f"{at}.vendor", "amd" if gcn else "nvidia", where)
    arch = _arch(gcn, sm)
    if arch:
        sheet.put(f"{at}.arch", arch, where)
    if gcn and sm.isdecimal() and len(sm) < 5:
        sheet.put(f"{at}.compute_units", int(sm), where)
    ids = [_HEX4.match(pci.attributes.get(name, "")) for name in ("vendor", "device")]
    if ids[0] and ids[1]:
        sheet.put(f"{at}.pci_id", f"{ids[0][1]}:{ids[1][1]}", f"{source}:{pci.line}")
    if speed := _SPEED.match(pci.attributes.get("link_speed", "")):
        sheet.put(f"{at}.link.max_speed_gt_s", float(speed[1]), f"{source}:{pci.line}")
    if cpu and _NUMBER.match(cpu.attributes.get("numaid", "")):
        sheet.put(f"{at}.numa_node", int(cpu.attributes["numaid"]), f"{source}:{cpu.line}")
    links = [e for e in found[place + 1 :] if e.parent == place and e.tag in ("nvlink", "xgmi")][:_LINKS_LIMIT]
    if links:
        rows = [
            {"kind": e.tag, "index": n, "up": True, "peer": address(e.attributes.get("target", "")) or ""}
            for n, e in enumerate(links)
        ]
        sheet.put(f"{at}.links", rows, f"{source}:{links[0].line}")


def _arch(gcn: str, sm: str) -> str:
    if re.fullmatch(r"gfx[0-9a-f]{3,4}", gcn):
        return gcn
    if re.fullmatch(r"\d{3,4}", gcn):
        return _GCN.get(gcn, f"gfx{gcn}")
    return f"sm_{sm}" if not gcn and re.fullmatch(r"\d{2,3}", sm) else ""


def _put_nic(sheet: FactSheet, found: list[Element], net: Element, where: str) -> None:
    """RDMA devices alone: a socket's interface is none."""
    name, pci = net.attributes.get("name", ""), _above(found, net, "pci")
    key = address(pci.attributes.get("busid", "")) if pci else None
    if key and _NIC.match(name) and net.attributes.get("guid") is not None and not name.startswith(("eth", "en", "ib")):
        sheet.put(f"rdma[{name}].pci_address", key, where)
