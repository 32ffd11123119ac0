"""`udevadm info --export-db` -> GPUs with the driver that is bound, device nodes and RDMA devices.

>>> sheet = read("P: /devices/pci0000:00/0000:c4:00.0\\nE: SUBSYSTEM=pci\\nE: DRIVER=amdgpu\\nE: PCI_CLASS=30000\\n"
...              "E: PCI_ID=1002:15BF\\nE: PCI_SLOT_NAME=0000:c4:00.0\\n")
>>> sheet.get("gpus[0000:c4:00.0].driver"), sheet.get("gpus[0000:c4:00.0].pci_id")
('amdgpu', '1002:15bf')
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines
from doctor.parsers.nvidia.nvidia_smi_fields import address

PASTED = ({"trust": 430, "words": ("e: subsystem=",)},)

_CLASSES = {"30000", "30200", "38000", "120000"}
_VENDORS = {"10de": "nvidia", "1002": "amd"}
_ID = re.compile(r"([0-9A-F]{4}):([0-9A-F]{4})$")
_ADDRESSES = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_NUMBER = re.compile(r"\d{1,6}$")
_NODES = (
    (re.compile(r"/dev/kfd$"), "kfd"),
    (re.compile(r"/dev/dri/renderD\d{1,4}$"), "render"),
    (re.compile(r"/dev/dri/card\d{1,4}$"), "card"),
    (re.compile(r"/dev/nvidia\d{1,4}$"), "nvidia"),
    (re.compile(r"/dev/nvidiactl$"), "nvidiactl"),
    (re.compile(r"/dev/nvidia-uvm$"), "nvidia-uvm"),
)
_LIMIT = 512


def read(text: str, source: str = "text") -> FactSheet:
    """A record begins at `P:` and ends at a blank line. Raises ParserError where no record names a GPU, a node of one
    or an RDMA device."""
    sheet = FactSheet()
    record: dict[str, tuple[str, str]] = {}
    for where, line in source_lines(text, source):
        if line.startswith("E: "):
            name, equals, value = line[3:].partition("=")
            if equals and len(record) < 200:
                record[name[:60]] = (kept(value, 300), where)
        elif not line.strip() or line.startswith("P: "):
            _take(sheet, record)
            record = {}
    _take(sheet, record)
    if not len(sheet):
        raise ParserError("no GPU in the export of udev's data base")
    return sheet


def _take(sheet: FactSheet, record: dict[str, tuple[str, str]]) -> None:
    kind = record.get("SUBSYSTEM", ("", ""))[0]
    if len(sheet) > _LIMIT * 8:
        return
    if kind == "pci":
        _gpu(sheet, record)
    elif kind == "infiniband":
        _rdma(sheet, record)
    elif "DEVNAME" in record:
        _node(sheet, record, kind)


def _gpu(sheet: FactSheet, record: dict[str, tuple[str, str]]) -> None:
    found = _ID.match(record.get("PCI_ID", ("", ""))[0])
    slot, where = record.get("PCI_SLOT_NAME", ("", ""))
    key = address(slot)
    vendor = _VENDORS.get(found[1].lower()) if found else None
    if not (found and key and vendor) or record.get("PCI_CLASS", ("", ""))[0] not in _CLASSES:
        return
    at = f"gpus[{key}]"
    sheet.put(f"{at}.vendor", vendor, where)
    sheet.put(f"{at}.pci_address", key, where)
    sheet.put(f"{at}.pci_id", found[0].lower(), record["PCI_ID"][1])
    if subsystem := _ID.match(record.get("PCI_SUBSYS_ID", ("", ""))[0]):
        sheet.put(f"{at}.subsystem_id", subsystem[0].lower(), record["PCI_SUBSYS_ID"][1])
    if record.get("DRIVER", ("", ""))[0]:
        sheet.put(f"{at}.driver", record["DRIVER"][0][:40], record["DRIVER"][1])


def _rdma(sheet: FactSheet, record: dict[str, tuple[str, str]]) -> None:
    path, where = record.get("DEVPATH", ("", ""))
    name, places = path.rpartition("/")[2], _ADDRESSES.findall(path)
    if places and "/infiniband/" in path and re.fullmatch(r"[A-Za-z]\w{1,40}", name):
        sheet.put(f"rdma[{name}].pci_address", places[-1], where)


def _node(sheet: FactSheet, record: dict[str, tuple[str, str]], kind: str) -> None:
    path, where = record["DEVNAME"]
    role = next((role for form, role in _NODES if form.match(path)), None)
    numbers = [record.get(name, ("", ""))[0] for name in ("MAJOR", "MINOR")]
    if role is None or not all(_NUMBER.match(n) for n in numbers):
        return
    sheet.put(f"nodes[{path}].kind", role, where)
    sheet.put(f"nodes[{path}].is_device", True, where)
    sheet.put(f"nodes[{path}].major", int(numbers[0]), where)
    sheet.put(f"nodes[{path}].minor", int(numbers[1]), where)
    if kind == "drm" and (places := _ADDRESSES.findall(record.get("DEVPATH", ("", ""))[0])):
        fact = "render_node" if role == "render" else "card_node"
        if sheet.get(f"gpus[{places[-1]}].vendor"):
            sheet.put(f"gpus[{places[-1]}].{fact}", path.rpartition("/")[2], where)
