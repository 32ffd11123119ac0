"""Text of `rocm-smi` (concise table of each generation, and `-a` style `GPU[0] : key: value`) -> AMD GPUs.

In CPX and the like each partition has a row; those after the first of a GPU become its `partitions`.

>>> sheet = read("GPU[0]\\t\\t: Card Series: \\t\\tAMD Instinct MI300X\\nGPU[0]\\t\\t: GFX Version: \\t\\tgfx942")
>>> sheet.get("gpus[#0].name"), sheet.get("gpus[#0].arch")
('AMD Instinct MI300X', 'gfx942')
"""

from __future__ import annotations

import re
from collections.abc import Callable

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = (
    {
        "trust": 110,
        "words": (
            "gpu[0]",
            "gpu[1]",
            "rocm system management",
            "not found in modules",
            "(mem, compute",
            "avgpwr",
            "pwrcap",
        ),
        "commands": ("rocm-smi",),
    },
)

_KEYED = re.compile(r"\s{0,4}(?:GPU\[(\d{1,4})\]|(Driver version))\s*:\s*(?:([^:\s][^:]{0,60}):)?\s*(.*?)\s*$")
_ROW = re.compile(r"\s{0,4}(\d{1,4})\s{1,12}(?:(\d{1,4})\s{1,8})?\[?(0x[0-9a-f]{1,4}|N/A)\b(.{0,160})$")
_OLD_ROW = re.compile(
    r"\s{0,4}(\d{1,3})\s{2,12}(\d{1,3}\.\d)[cC]\s{1,20}(?:(\d{1,4}\.\d{1,3})W|N/A)\s{1,12}\d{1,5}[Mm]hz\s{1,12}\S{1,9}\s{1,12}[\d.]{1,6}%"
    r"\s{1,8}\w{2,12}\s{1,12}(\d{1,4}(?:\.\d)?)W\s{1,10}\d{1,3}%\s{1,10}(\d{1,3})%\s*$"
)
_READINGS = re.compile(
    r"(\d{1,3}\.\d)°?[cC]\s{1,20}(\d{1,4}\.\d{1,3})W\b.{0,120}?\b(\d{1,4}\.\d)W\s{1,10}\d{1,3}%\s{1,10}(\d{1,3})%\s*$"
)
"""Rows of releases up to 5, and the end of later ones: temperature, power, its cap, use. Of an MI250X, whose two dies
have one meter, only the first has a power."""
_BUS = re.compile(r"GPU\[(\d{1,4})\]\s{0,16}: PCI Bus: ([0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2})\.([0-7])")
_BUS_TEXT = 1 << 20
_PARTITIONS = re.compile(r"(NPS\d|N/A), ([A-Z]{3}|N/A)(?:, (\d{1,3}))?")
_NAME_BELOW = re.compile(r"\s{4,16}((?:AMD|Radeon|Instinct)[\w /+-]{2,40}?)\s*$")
_NO_DRIVER = re.compile(r"(?:amdgpu not found in modules|Driver not initialized)")
_BOARD = "Card model"
"""Up to ROCm 5 the subsystem's id, which the maker of the board chose; since then "Card Model" is the device's."""
_UNKNOWN = {"", "n/a", "none", "not supported"}


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without a GPU, a driver version or the word that there is no driver."""
    reader = _Reader(_owners(text), "XXXX" in text)
    for where, line in source_lines(text, source):
        reader.take(where, line)
    if not len(reader.sheet):
        raise ParserError("no GPU and no driver of rocm-smi in the text")
    return reader.sheet


def _owners(text: str) -> dict[str, str]:
    """Number of a partition -> number of its GPU. Partitions are printed as functions .1 and up of a GPU's address,
    which are other devices or none; one GPU may have many rows of one function."""
    first: dict[str, str] = {}
    owners = {}
    for number, place, function in _BUS.findall(text[:_BUS_TEXT]):
        if function == "0":
            first.setdefault(place.lower(), number)
        elif place.lower() in first:
            owners[number] = first[place.lower()]
    return owners


class _Reader:
    def __init__(self, owners: dict[str, str], partitioned: bool) -> None:
        """`partitioned`: the links between some rows cannot be read (`XXXX`), as they are partitions of one GPU."""
        self.owners, self.partitioned = owners, partitioned
        self.sheet = FactSheet()
        self.owner = ""
        self.row = ""

    def take(self, where: str, line: str) -> None:
        if "river not init" in line or "not found in modules" in line:
            if _NO_DRIVER.search(line):
                self.sheet.absent("amdgpu_driver.loaded", where, False)
        elif ("GPU[" in line or "Driver version" in line) and (found := _KEYED.match(line)):
            self.keyed(where, found)
        elif found := _ROW.match(line):
            self.concise(where, found)
        elif found := _OLD_ROW.match(line):
            self.readings(self.gpu(found[1], where), where, found.groups()[1:])
        elif self.row and (found := _NAME_BELOW.match(line)):
            self.sheet.put(f"{self.row}.name", found[1], where)

    def gpu(self, number: str, where: str) -> str:
        at = f"gpus[#{int(number)}]"
        self.sheet.put(f"{at}.vendor", "amd", where)
        self.sheet.put(f"{at}.index.smi", int(number), where)
        return at

    def keyed(self, where: str, found: re.Match[str]) -> None:
        value = kept(found[4], 120)
        if value.lower() in _UNKNOWN:
            return
        if found[2]:
            _driver(self.sheet, value, where)
            return
        label = (found[3] or "").strip()
        key = label.lower()
        if key == "driver version":
            _driver(self.sheet, value, where)
        elif found[1] in self.owners:
            self.sheet.put(f"gpus[#{int(self.owners[found[1]])}].partitions[{found[1]}].kind", "compute", where)
        elif key in _KEYS and label != _BOARD and not (self.partitioned and key.startswith("(topology)")):
            _KEYS[key](self.sheet, self.gpu(found[1], where), value, where)

    def concise(self, where: str, found: re.Match[str]) -> None:
        partitions = _PARTITIONS.search(found[4])
        if partitions and partitions[3] and int(partitions[3]) > 0 and self.owner:
            at = f"{self.owner}.partitions[{found[1]}]"
            self.sheet.put(f"{at}.kind", "compute", where)
            if found[2]:
                self.sheet.put(f"{at}.kfd", int(found[2]), where)
            return
        self.owner = self.row = at = self.gpu(found[1], where)
        if found[2]:
            self.sheet.put(f"{at}.index.kfd", int(found[2]), where)
        if found[3] != "N/A":
            self.sheet.put(f"{at}.pci_id", f"1002:{found[3][2:].zfill(4)}", where)
        if readings := _READINGS.search(found[4]):
            self.readings(at, where, readings.groups())
        if partitions and partitions[1] != "N/A":
            self.sheet.put(f"{at}.memory_partition", partitions[1], where)
        if partitions and partitions[2] != "N/A":
            self.sheet.put(f"{at}.compute_partition", partitions[2], where)

    def readings(self, at: str, where: str, values: tuple[str | None, ...]) -> None:
        for name, value in zip(
            ("temperature_c", "power_w", "power_limit_w", "utilisation_percent"), values, strict=True
        ):
            if value is not None:
                self.sheet.put(f"{at}.sensors.{name}", float(value), where)


def _driver(sheet: FactSheet, value: str, where: str) -> None:
    """An in-tree driver has no number of its own; rocm-smi prints the kernel's release then."""
    if re.match(r"\d+\.\d+\.\d+-\S*[a-z]", value):
        sheet.put("amdgpu_driver.source", "in-tree", where)
    elif re.match(r"\d+\.\d+", value):
        sheet.put("amdgpu_driver.version", value, where)
    sheet.put("amdgpu_driver.loaded", True, where)


def _put(name: str, pattern: str = r"(.+)", shape: Callable[[str], object] = str) -> Callable[..., None]:
    compiled = re.compile(pattern)

    def put(sheet: FactSheet, at: str, value: str, where: str) -> None:
        if found := compiled.match(value):
            sheet.put(f"{at}.{name}", shape(found[1]), where)

    return put


_KEYS: dict[str, Callable[..., None]] = {
    "card series": _put("name", r"((?!0x).+)"),
    "card model": _put("pci_id", r"0x([0-9a-f]{4})$", "1002:{}".format),
    "device id": _put("pci_id", r"0x([0-9a-f]{4})$", "1002:{}".format),
    "device name": _put("name", r"((?!0x).+)"),
    "gpu id": _put("pci_id", r"0x([0-9a-f]{4})$", "1002:{}".format),
    "device rev": _put("revision", r"(0x[0-9a-f]{1,2})$"),
    "gfx version": _put("arch", r"(gfx[0-9a-f]{3,4})$"),
    "unique id": _put("uuid", r"(0x[0-9a-f]{4,16})$"),
    "vbios version": _put("vbios"),
    "vram total memory (b)": _put("memory_bytes", r"(\d{6,15})$", int),
    "vram total used memory (b)": _put("memory_used_bytes", r"(\d{1,15})$", int),
    "gtt total memory (b)": _put("gtt_bytes", r"(\d{6,15})$", int),
    "pci bus": _put("pci_address", r"([0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)$", str.lower),
    "node id": _put("index.kfd", r"(\d{1,4})$", int),
    "(topology) numa node": _put("numa_node", r"(-?\d{1,4})$", int),
    "average graphics package power (w)": _put("sensors.power_w", r"(\d{1,5}(?:\.\d{1,6})?)$", float),
    "current socket graphics package power (w)": _put("sensors.power_w", r"(\d{1,5}(?:\.\d{1,6})?)$", float),
    "max graphics package power (w)": _put("sensors.power_limit_w", r"(\d{1,5}(?:\.\d{1,6})?)$", float),
    "gpu use (%)": _put("sensors.utilisation_percent", r"(\d{1,3})$", float),
    "performance level": _put("performance_level", r"(auto|low|high|manual|perf_determinism|profile_\w{2,20})$"),
    "compute partition": _put("compute_partition", r"([A-Z]{3})$"),
    "memory partition": _put("memory_partition", r"(NPS\d)$"),
}
