"""Output of `lspci` (plain, -nn, -k, -v…) -> display controllers, accelerators and NVSwitches, with driver and link.

>>> sheet = read("01:00.0 VGA compatible controller [0300]: NVIDIA Corporation AD102 [GeForce RTX 4090] [10de:2684]"
...              "\\n\\tKernel driver in use: nouveau")
>>> sheet.get("gpus[0000:01:00.0].name"), sheet.get("gpus[0000:01:00.0].driver")
('GeForce RTX 4090', 'nouveau')
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.kernel.lspci_bridges import Bridges
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = (
    {
        "trust": 130,
        "words": (
            "vga compatible",
            "3d controller",
            "processing accelerator",
            "display controller",
            "nvswitch",
            "lnksta:",
        ),
        "commands": ("lspci",),
    },
)

_DEVICE = re.compile(
    r"(?:\s{0,8}(?:lspci(?: -\w{1,6})?: )?|.{0,40}?[`:] ?)"
    r"(?P<address>(?:[0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]) "
    r"(?P<class>[A-Z0-9][\w /-]{2,40}?)"
    r"(?: \[(?P<code>[0-9a-f]{4})\])?: (?P<what>.{3,300})$"
)
_ANY = re.compile(r"\s{0,8}(?:[0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7] ")
_ID = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]")
_REVISION = re.compile(r"\(rev ([0-9a-f]{2})\)")
_BRACKETS = re.compile(r"\[((?![0-9a-f]{4}:)[^\]]{3,120})\]")
_SEVERAL = re.compile(r"/(?! ?\d{2,3} ?GB\b)")
"""`RTX 3060 Ti / 3060`; `GH200 120GB / 480GB` is one product with two memories."""
_CHIP = re.compile(r"NVIDIA Corporation ([A-Z]{2}\d{3})[A-Z]{0,3}\b")
_CHIPS = (
    *(("GK110", "sm_35"), ("GK210", "sm_37"), ("GK20", "sm_32"), ("GK", "sm_30"), ("GM10", "sm_50"), ("GM20", "sm_52")),
    *(
        ("GP100", "sm_60"),
        ("GP10", "sm_61"),
        ("GV100", "sm_70"),
        ("TU1", "sm_75"),
        ("GA100", "sm_80"),
        ("GA10", "sm_86"),
    ),
    *(("AD10", "sm_89"), ("GH100", "sm_90"), ("GB100", "sm_100"), ("GB102", "sm_100"), ("GB20", "sm_120")),
)
"""NVIDIA's names of chips by architecture (docs.nvidia.com/cuda: compute capabilities)."""
_LINK = re.compile(r"\s+Lnk(Sta|Cap):.{0,40}?Speed ([\d.]{1,5})GT/s[^,]{0,24}, Width x(\d{1,2})")
_BAR = re.compile(r"\s+(?:Region \d: )?Memory at .{0,80}\[size=(\d{1,6})([KMGT])\]")
_DISPLAY = {"VGA compatible controller", "3D controller", "Display controller", "Processing accelerators"}
_CODES = {"0300", "0302", "0380", "1200"}
_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}


def read(text: str, source: str = "text") -> FactSheet:
    """An address without a domain is of domain 0000. Raises ParserError without a device line."""
    reader = _Reader()
    bridges = Bridges()
    for where, line in source_lines(text, source):
        reader.take(where, line)
        bridges.take(where, line)
    reader.close()
    bridges.put(reader.sheet, reader.gpus)
    if not (reader.devices or len(reader.sheet)):
        raise ParserError("no device line of lspci in the text")
    return reader.sheet


def _arch(what: str) -> str | None:
    """By the chip's name, where no id was printed."""
    chip = _CHIP.search(what)
    return next((arch for start, arch in _CHIPS if chip[1].startswith(start)), None) if chip else None


def _vendor(what: str, vendor_id: str) -> str:
    """By the maker's name; where a line has lost it, or lspci's list of names lacks it, by the number alone."""
    low = what.lower()
    if low.startswith("nvidia") or (vendor_id == "10de" and low.startswith("[")):
        return "nvidia"
    if low.startswith(("advanced micro", "amd")) or (vendor_id == "1002" and low.startswith("[")):
        return "amd"
    return "other"


class _Reader:
    def __init__(self) -> None:
        self.sheet = FactSheet()
        self.devices = 0
        self.at: list[str] = []
        self.gpus: set[str] = set()
        self.bars: list[int] = []
        self.bars_at = ""

    def take(self, where: str, line: str) -> None:
        if found := _DEVICE.match(line):
            self.close()
            self.device(where, found)
        elif _ANY.match(line):
            self.close()
        elif self.at:
            self.detail(where, line)

    def device(self, where: str, found: re.Match[str]) -> None:
        self.devices += 1
        what, ids = found["what"], _ID.search(found["what"])
        vendor = _vendor(what, ids[1] if ids else "")
        display = found["class"] in _DISPLAY or found["code"] in _CODES
        switch = vendor == "nvidia" and found["class"] == "Bridge"
        if not (display or switch):
            return
        address = found["address"].lower()
        address = address if address.count(":") == 2 else f"0000:{address}"
        name = self.name(what, vendor)
        pci = f"pci[{address}]"
        self.at = [pci]
        kind = "nvswitch" if switch else "gpu" if vendor in ("nvidia", "amd") else "other"
        self.sheet.put(f"{pci}.kind", kind, where)
        if name:
            self.sheet.put(f"{pci}.name", name, where)
        if ids:
            self.sheet.put(f"{pci}.vendor_id", ids[1], where)
            self.sheet.put(f"{pci}.device_id", ids[2], where)
        if kind == "gpu":
            self.gpu(where, address, vendor, name, what)

    def gpu(self, where: str, address: str, vendor: str, name: str, what: str) -> None:
        gpu = f"gpus[{address}]"
        self.at.append(gpu)
        self.gpus.add(address)
        self.sheet.put(f"{gpu}.vendor", vendor, where)
        self.sheet.put(f"{gpu}.pci_address", address, where)
        if name:
            self.sheet.put(f"{gpu}.name", name, where)
        if ids := _ID.search(what):
            self.sheet.put(f"{gpu}.pci_id", f"{ids[1]}:{ids[2]}", where)
        elif arch := _arch(what):
            self.sheet.put(f"{gpu}.arch", arch, where)
        elif bare := re.search(r"Device ([0-9a-f]{4})\b", what):
            self.sheet.put(f"{gpu}.pci_id", f"{'10de' if vendor == 'nvidia' else '1002'}:{bare[1]}", where)
        if revision := _REVISION.search(what):
            self.sheet.put(f"{gpu}.revision", f"0x{revision[1]}", where)

    def name(self, what: str, vendor: str) -> str:
        """The marketing name in brackets; None if one id means several."""
        names = [n for n in _BRACKETS.findall(what.partition(" (prog-if")[0]) if n != "AMD/ATI"]
        if not names or _SEVERAL.search(names[-1]) or vendor == "other":
            return ""
        return kept(names[-1], 120)

    def detail(self, where: str, line: str) -> None:
        if "Kernel driver in use:" in line:
            for at in self.at:
                self.sheet.put(f"{at}.driver", kept(line.partition("in use:")[2], 40) or "none", where)
        elif "NUMA node:" in line and (number := re.search(r"NUMA node: (-?\d{1,4})", line)):
            for at in self.at:
                self.sheet.put(f"{at}.numa_node", int(number[1]), where)
        elif len(self.at) < 2:
            return
        elif "Speed" in line and (found := _LINK.match(line)):
            now = "" if found[1] == "Sta" else "max_"
            self.sheet.put(f"{self.at[1]}.link.{now}speed_gt_s", float(found[2]), where)
            self.sheet.put(f"{self.at[1]}.link.{now}width", int(found[3]), where)
        elif "[size=" in line and (found := _BAR.match(line)):
            self.bars.append(int(found[1]) << _UNITS[found[2]])
            self.bars_at = self.bars_at or where

    def close(self) -> None:
        if self.bars and len(self.at) > 1:
            self.sheet.put(f"{self.at[1]}.bar_bytes", self.bars[:8], self.bars_at)
        self.at, self.bars, self.bars_at = [], [], ""
