"""Text of amd-smi (`list`, `static`, `firmware`, `metric`, `version`, and the table that it prints alone) -> AMD GPUs.

Fields that read N/A are unknown; nothing here reads as a fault.

>>> sheet = read("GPU: 0\\n    BDF: 0000:c3:00.0\\n    ASIC:\\n        TARGET_GRAPHICS_VERSION: gfx1151")
>>> sheet.get("gpus[#0].pci_address"), sheet.get("gpus[#0].arch")
('0000:c3:00.0', 'gfx1151')
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = (
    {
        "trust": 80,
        "words": (
            "market_name",
            "target_graphics_version",
            "bdf:",
            "amd-smi 2",
            "amdsmi tool",
            "total_vram",
            "gfx_activity:",
            "socket_power:",
            "correctable_count:",
            "perf_level:",
            "pldm_bundle",
        ),
    },
)

_GPU = re.compile(r"\s{0,4}GPU: (\d{1,4})\s*$")
_FIELD = re.compile(r"\s{1,24}([A-Z][A-Z0-9_]{1,60}):\s{0,8}(.*?)\s*$")
_TABLE_ADDRESS = re.compile(r"\|\s{1,4}([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)\s{1,20}(\S[^|]{1,40}?)\s{1,20}\|")
_TABLE_INDEX = re.compile(
    r"\|\s{1,8}(\d{1,4})\s{1,12}(?:\d{1,4}|N/A)\s{1,24}(?:\d{1,4}|N/A)\s{1,24}([A-Z/]{3,8})(?:[,/](NPS\d))?\s{0,20}"
    r"\|.{0,60}?\s\d{1,8}/(\d{1,8}) MB"
)
_TOOL = re.compile(r"(?:AMD-?SMI Tool: |AMD-SMI )(\d[\w.+-]{1,60})")
_DRIVER = re.compile(r"amdgpu version: ([\w.+-]{1,60})")
_ROCM = re.compile(r"ROCm version: (\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)")
_KEYS = {
    "MARKET_NAME": ("name", r"(.+)$"),
    "DEVICE_ID": ("pci_id", r"0x([0-9a-fA-F]{4})$"),
    "REV_ID": ("revision", r"(0x[0-9a-f]{1,2})$"),
    "TARGET_GRAPHICS_VERSION": ("arch", r"(gfx[0-9a-f]{3,4})$"),
    "NUM_COMPUTE_UNITS": ("compute_units", r"(\d{1,5})$"),
    "BDF": ("pci_address", r"([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d)$"),
    "UUID": ("uuid", r"([0-9a-f-]{36})$"),
    "NODE_ID": ("index.kfd", r"(\d{1,4})$"),
    "PART_NUMBER": ("vbios", r"(\S+)$"),
    "COMPUTE_PARTITION": ("compute_partition", r"([A-Z]{3})$"),
    "ACCELERATOR_PARTITION": ("compute_partition", r"([A-Z]{3})$"),
    "MEMORY_PARTITION": ("memory_partition", r"(NPS\d)$"),
    "SIZE": ("memory_bytes", r"(\d{1,8}) MB$"),
    "TOTAL_VRAM": ("memory_bytes", r"(\d{1,8}) MB$"),
    "USED_VRAM": ("memory_used_bytes", r"(\d{1,8}) MB$"),
    "FW_VERSION": ("firmware_bundle", r"(\d{2}(?:\.\d{2,3}){3})$"),
    "PERF_LEVEL": ("performance_level", r"AMDSMI_DEV_PERF_LEVEL_([A-Z_]{3,30})$"),
    "SOCKET_POWER": ("sensors.power_w", r"(\d{1,5}) W$"),
    "HOTSPOT": ("sensors.temperature_c", r"(\d{1,3}) °C$"),
    "GFX_ACTIVITY": ("sensors.utilisation_percent", r"(\d{1,3}) %$"),
    "TOTAL_CORRECTABLE_COUNT": ("errors.corrected", r"(\d{1,12})$"),
    "TOTAL_UNCORRECTABLE_COUNT": ("errors.uncorrected", r"(\d{1,12})$"),
}
_NUMBERS = {"compute_units", "index.kfd", "errors.corrected", "errors.uncorrected"}
_SECTION_OF = {"SIZE": "VRAM", "HOTSPOT": "TEMPERATURE"}
"""Where a key that other sections bear too counts."""
_PATTERNS = {key: (fact, re.compile(pattern)) for key, (fact, pattern) in _KEYS.items()}


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError where the text holds no GPU and no version line of amd-smi."""
    reader = _Reader()
    for where, line in source_lines(text, source):
        reader.take(where, line)
    if not len(reader.sheet):
        raise ParserError("no GPU and no version of amd-smi in the text")
    return reader.sheet


class _Reader:
    def __init__(self) -> None:
        self.sheet = FactSheet()
        self.at = ""
        self.section = self.firmware = ""
        self.pending: tuple[str, str, str] | None = None

    def take(self, where: str, line: str) -> None:
        if found := _GPU.match(line):
            self.start(int(found[1]), where)
        elif self.at and (found := _FIELD.match(line)):
            self.field(where, found[1], found[2])
        elif "|" in line:
            self.table(where, line)

    def start(self, number: int, where: str) -> None:
        self.at, self.section, self.firmware = f"gpus[#{number}]", "", ""
        self.sheet.put(f"{self.at}.vendor", "amd", where)
        self.sheet.put(f"{self.at}.index.smi", number, where)

    def field(self, where: str, key: str, value: str) -> None:
        if not value:
            self.section = key
            return
        if key == "FW_ID":
            self.firmware = value
        if key == "FW_VERSION" and self.firmware != "PLDM_BUNDLE":
            return
        if self.section == "DRIVER" and key == "VERSION" and re.match(r"\d+\.\d+", value):
            self.driver(value, where)
        if key not in _PATTERNS or self.section != _SECTION_OF.get(key, self.section):
            return
        fact, pattern = _PATTERNS[key]
        if value in ("N/A", "unknown") or not (found := pattern.match(value)):
            return
        kept_value: str | int = kept(found[1], 120)
        if fact in _NUMBERS:
            kept_value = int(found[1])
        elif fact.startswith("memory_") and fact.endswith("_bytes"):
            kept_value = int(found[1]) << 20
        elif fact.startswith("sensors."):
            self.sheet.put(f"{self.at}.{fact}", float(found[1]), where)
            return
        elif fact == "performance_level":
            kept_value = found[1].lower()
        elif fact == "pci_id":
            kept_value = f"1002:{found[1].lower()}"
        elif fact == "pci_address":
            kept_value = found[1].lower()
        self.sheet.put(f"{self.at}.{fact}", kept_value, where)

    def table(self, where: str, line: str) -> None:
        if found := _TABLE_ADDRESS.match(line):
            self.pending = (found[1], found[2].strip(), where)
        elif self.pending and (found := _TABLE_INDEX.match(line)):
            address, name, at = self.pending
            self.pending = None
            self.start(int(found[1]), where)
            self.sheet.put(f"{self.at}.pci_address", address, at)
            if not name.startswith("...") and name != "N/A":
                self.sheet.put(f"{self.at}.name", kept(name, 120), at)
            if re.fullmatch(r"[A-Z]{3}", found[2]):
                self.sheet.put(f"{self.at}.compute_partition", found[2], where)
            if found[3]:
                self.sheet.put(f"{self.at}.memory_partition", found[3], where)
            self.sheet.put(f"{self.at}.memory_bytes", int(found[4]) << 20, where)
            self.at = ""
        else:
            self.versions(where, line)

    def versions(self, where: str, line: str) -> None:
        if found := _TOOL.search(line):
            self.sheet.put("amdgpu_driver.smi_version", found[1], where)
        if found := _DRIVER.search(line):
            self.driver(found[1], where)
        if found := _ROCM.search(line):
            self.sheet.put("rocm[shown].path", "", where)
            self.sheet.put("rocm[shown].version", found[1], where)

    def driver(self, value: str, where: str) -> None:
        if value.startswith("Linuxver"):
            self.sheet.put("amdgpu_driver.source", "in-tree", where)
        elif re.match(r"\d+\.\d+\.\d+", value) and not re.search(r"-\w*[a-z]", value):
            self.sheet.put("amdgpu_driver.version", value, where)
        elif not re.match(r"\d", value):
            return
        self.sheet.put("amdgpu_driver.loaded", True, where)
