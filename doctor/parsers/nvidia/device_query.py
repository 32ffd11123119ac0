"""CUDA's `deviceQuery`, and the listing of the same of HIP -> GPUs, and the CUDA that the driver serves.

>>> sheet = read('Device 0: "NVIDIA L40S"\\n'
...              '  CUDA Driver Version / Runtime Version          12.4 / 12.4\\n'
...              '  CUDA Capability Major/Minor version number:    8.9')
>>> sheet.get("gpus[#0].arch"), sheet.get("nvidia_driver.cuda_version")
('sm_89', '12.4')
>>> read("[GPU 0] AMD Instinct MI300X\\n[GPU 0] gfx942:sramecc+:xnack-: AMD GCN Arch Name").get("gpus[#0].arch")
'gfx942'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = ({"trust": 440, "words": ("cuda capability major", "amd gcn arch name")},)

_DEVICE = re.compile(r'\s{0,4}Device (\d{1,3}): "([^"]{2,100})"')
_VERSIONS = re.compile(r"\s+CUDA Driver Version(?: / Runtime Version|:)\s+(\d{1,2}\.\d{1,2})\b")
_CAPABILITY = re.compile(r"\s+CUDA Capability Major/Minor version number:\s+(\d{1,2})\.(\d)")
_MEMORY = re.compile(r"\s+Total amount of global memory:.{0,40}\((\d{1,15}) bytes\)")
_ECC = re.compile(r"\s+Device has ECC support:\s+(Enabled|Disabled)")
_PLACE = re.compile(r"\s+Device PCI Domain ID / Bus ID / location ID:\s+(\d{1,5}) / (\d{1,3}) / (\d{1,2})")
_INTEGRATED = re.compile(r"\s+Integrated GPU sharing Host Memory:\s+(Yes|No)")
_MODE = re.compile(r"\s+< (Default|Exclusive Process|Exclusive|Prohibited|Exclusive Thread)\b")
_HIP = re.compile(r"\[GPU (\d{1,3})\] (.{2,120})$")
_HIP_ROW = re.compile(r"([\w.:+-]{1,60}): (.{3,80})$")
_LIMIT = 256


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without a device. A GPU that it can place by PCI goes by its address."""
    reader = _Reader()
    for where, line in source_lines(text, source):
        reader.take(where, line[:400])
    reader.close()
    if not reader.gpus:
        raise ParserError("no device of deviceQuery in the text")
    return reader.sheet


class _Reader:
    def __init__(self) -> None:
        self.sheet = FactSheet()
        self.gpus = 0
        self.number = ""
        self.facts: dict[str, tuple[object, str]] = {}
        self.place: dict[str, int] = {}

    def take(self, where: str, line: str) -> None:
        if found := _DEVICE.match(line):
            self.begin(found[1], "nvidia", where)
            self.facts["name"] = (kept(found[2], 100), where)
        elif line.startswith("[GPU ") and (found := _HIP.match(line)):
            self.hip(where, found[1], found[2])
        elif self.number and not self.place.get("hip"):
            self.cuda(where, line)

    def begin(self, number: str, vendor: str, where: str) -> None:
        self.close()
        self.number = str(int(number))
        self.facts = {"vendor": (vendor, where), "index.visible": (int(number), where)}

    def cuda(self, where: str, line: str) -> None:
        if found := _VERSIONS.match(line):
            self.sheet.put("nvidia_driver.cuda_version", found[1], where)
        elif found := _CAPABILITY.match(line):
            self.facts["arch"] = (f"sm_{found[1]}{found[2]}", where)
        elif found := _MEMORY.match(line):
            self.facts["memory_bytes"] = (int(found[1]), where)
        elif found := _ECC.match(line):
            self.facts["errors.ecc_enabled"] = (found[1] == "Enabled", where)
        elif found := _INTEGRATED.match(line):
            self.facts["integrated"] = (found[1] == "Yes", where)
        elif found := _MODE.match(line):
            self.facts["compute_mode"] = (found[1], where)
        elif (found := _PLACE.match(line)) and int(found[2]) < 256 and int(found[3]) < 32:
            address = f"{int(found[1]):04x}:{int(found[2]):02x}:{int(found[3]):02x}.0"
            self.facts["pci_address"] = (address, where)

    def hip(self, where: str, number: str, what: str) -> None:
        """`[GPU 0] NAME`, then `[GPU 0] VALUE: what it is`."""
        row = _HIP_ROW.match(what)
        if row is None:
            if not what.startswith("("):
                self.begin(number, "amd", where)
                self.facts["name"] = (kept(what, 100), where)
                self.place["hip"] = 1
            return
        if self.number != str(int(number)):
            self.begin(number, "amd", where)
            self.place["hip"] = 1
        value, shown = row[1], row[2]
        if shown == "AMD GCN Arch Name" and (arch := re.match(r"gfx[0-9a-f]{3,4}", value)):
            self.facts["arch"] = (arch[0], where)
        elif shown.startswith("Number of multi-processors") and value.isdecimal() and len(value) < 5:
            self.facts["compute_units"] = (int(value), where)
        elif shown == "Total Global Memory (MB)" and value.isdecimal() and len(value) < 9:
            self.facts["memory_bytes"] = (int(value) << 20, where)
        elif shown.startswith("PCI ") and value.isdecimal() and len(value) < 6:
            self.place[shown] = int(value)

    def close(self) -> None:
        if not self.number or self.gpus >= _LIMIT:
            return
        self.gpus += 1
        domain, bus, device = (self.place.get(f"PCI {part} ID") for part in ("Domain", "Bus", "Device"))
        if None not in (domain, bus, device) and bus is not None and bus < 256 and device is not None and device < 32:
            where = self.facts["vendor"][1]
            self.facts["pci_address"] = (f"{domain:04x}:{bus:02x}:{device:02x}.0", where)
        key = str(self.facts["pci_address"][0]) if "pci_address" in self.facts else f"#{self.number}"
        for name, (value, where) in self.facts.items():
            self.sheet.put(f"gpus[{key}].{name}", value, where)
        self.number, self.facts, self.place = "", {}, {}
