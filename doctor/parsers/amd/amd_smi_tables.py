"""Tables of amd-smi and rocm-smi that have one row a GPU: `topology`, `monitor`, `partition`, `--showtopo`.

>>> read("GPU  POWER  GPU_TEMP  VRAM_TOTAL\\n  0  199 W    103 °C   16335 MB").get("gpus[#0].memory_bytes") >> 20
16335
>>> sheet = read("LINK TYPE TABLE:\\n             0000:0c:00.0 0000:22:00.0\\n0000:0c:00.0 SELF         XGMI\\n"
...              "0000:22:00.0 XGMI         SELF")
>>> sheet.get("gpus[0000:0c:00.0].links")
[{'kind': 'xgmi', 'index': 0, 'peer': '0000:22:00.0'}]
"""

from __future__ import annotations

import re
from typing import Any

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines
from doctor.parsers.nvidia.nvidia_smi_fields import address

PASTED = (
    {
        "trust": 90,
        "words": (
            "access table",
            "link type table",
            "weight table",
            "between two gpus",
            "gfx_util",
            "accelerator_type",
            "vram_total",
        ),
    },
)

_TABLE = re.compile(r"([A-Z][A-Z _-]{2,40}) TABLE:?\s*$|=+ (Link Type|Weight|Hops) between two GPUs =+$")
_ADDRESSES = re.compile(r"\s*(?:[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\s*){1,64}$")
_ROW = re.compile(r"\s{0,4}([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])((?:\s{1,14}[\w/.-]{1,12}){1,64})\s*$")
_NUMBERED = re.compile(r"\s{0,4}(GPU\d{1,3})((?:\s{1,120}[\w/.-]{1,12}){1,64})\s*$")
_NUMBERED_HEAD = re.compile(r"\s{2,20}GPU0(?:\s{1,120}GPU\d{1,3}){0,63}\s*$")
_MONITOR = re.compile(r"\s{0,4}GPU(?: {1,12}[A-Z_%]{3,20}){1,30} {0,12}$")
_CELL = re.compile(
    r"N/A [A-Za-z/]{2,5}(?=\s|$)|N/A|\d[\d.]{0,14}(?:/\d[\d.]{0,14})?(?: (?:W|°C|%|[kMGT]?B|MHz|Mb/s))?|[A-Z]\w{0,15}"
)
_PARTITION = re.compile(r"\s{0,4}GPU_ID {1,8}MEMORY {1,8}ACCELERATOR_TYPE")
_LIMIT = 256
_MONITORED = {
    "POWER": ("sensors.power_w", 1.0), "GPU_TEMP": ("sensors.temperature_c", 1.0),
    "GPU_T": ("sensors.temperature_c", 1.0),
    "HOTSPOT_TEMP": ("sensors.temperature_c", 1.0), "GFX_UTIL": ("sensors.utilisation_percent", 1.0),
    "GFX%": ("sensors.utilisation_percent", 1.0), "VRAM_TOTAL": ("memory_bytes", 1 << 20),
    "VRAM_USED": ("memory_used_bytes", 1 << 20), "SINGLE_ECC": ("errors.corrected", 1),
    "DOUBLE_ECC": ("errors.uncorrected", 1),
}  # fmt: skip


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without such a table."""
    reader = _Reader()
    reader.partitioned_gpus = "XXXX" in text
    for where, line in source_lines(text, source):
        reader.take(where, line[:2000])
    reader.close()
    if not len(reader.sheet):
        raise ParserError("no table of amd-smi or rocm-smi")
    return reader.sheet


class _Reader:
    def __init__(self) -> None:
        self.sheet = FactSheet()
        self.partitioned_gpus = False
        """`XXXX` between two rows: they are partitions of one GPU, and rows do not count GPUs."""
        self.table = ""
        self.columns: list[str] = []
        self.order: list[str] = []
        self.links: dict[str, tuple[str, list[dict[str, Any]]]] = {}

    def take(self, where: str, line: str) -> None:
        if found := _TABLE.match(line):
            self.table, self.columns = (found[1] or found[2]).upper(), []
        elif self.table and (_ADDRESSES.match(line) or _NUMBERED_HEAD.match(line)):
            self.columns = line.split()[:64]
        elif self.columns and (found := _ROW.match(line) or _NUMBERED.match(line)):
            self.linked(where, found[1], found[2].split())
        elif _MONITOR.match(line) and "POWER" in line:
            self.table, self.columns = "MONITOR", line.split()
        elif _PARTITION.match(line):
            self.table, self.columns = "PARTITION", line.split()
        elif self.table == "MONITOR" and line[:8].strip()[:1].isdigit():
            self.monitored(where, _CELL.findall(line))
        elif self.table == "PARTITION" and line[:8].strip()[:1].isdigit():
            self.partitioned(where, line.split())
        elif not line.strip():
            self.table, self.columns = (self.table, self.columns) if self.columns == [] else ("", [])

    def linked(self, where: str, name: str, cells: list[str]) -> None:
        """Every table of a topology names all GPUs; only that of link types says what joins them."""
        if len(cells) > len(self.columns) or self.partitioned_gpus:
            return
        key = address(name) or f"#{int(name[3:])}"
        if key not in self.order and len(self.order) >= _LIMIT:
            return
        if key not in self.order:
            self.order.append(key)
            self.sheet.put(f"gpus[{key}].vendor", "amd", where)
            if not key.startswith("#"):
                self.sheet.put(f"gpus[{key}].pci_address", key, where)
        if self.table == "LINK TYPE":
            peers = [peer for peer, cell in zip(self.columns, cells, strict=False) if cell == "XGMI"]
            rows = [{"kind": "xgmi", "index": n, "peer": _peer(peer)} for n, peer in enumerate(peers)]
            self.links.setdefault(key, (where, rows))

    def monitored(self, where: str, cells: list[str]) -> None:
        if len(cells) != len(self.columns) or not cells[0].isdecimal() or len(cells[0]) > 4:
            return
        at = f"gpus[{self.key(int(cells[0]))}]"
        self.sheet.put(f"{at}.vendor", "amd", where)
        self.sheet.put(f"{at}.index.smi", int(cells[0]), where)
        for column, cell in zip(self.columns, cells, strict=True):
            fact, scale = _MONITORED.get(column, ("", 0))
            found = re.match(r"(\d{1,9})(?:\.(\d{1,3}))?(?: (?:W|°C|%|MB))?$", cell)
            if not fact or not found:
                continue
            self.sheet.put(f"{at}.{fact}", int(found[1]) * scale if isinstance(scale, int) else float(found[1]), where)

    def partitioned(self, where: str, cells: list[str]) -> None:
        if len(cells) < 3 or not re.fullmatch(r"[0-9]{1,4}", cells[0]):
            return
        at = f"gpus[{self.key(int(cells[0]))}]"
        if re.fullmatch(r"NPS\d", cells[1]):
            self.sheet.put(f"{at}.memory_partition", cells[1], where)
        if re.fullmatch(r"[SDTQC]PX", cells[2]):
            self.sheet.put(f"{at}.compute_partition", cells[2], where)
        if self.sheet.get(f"{at}.memory_partition") or self.sheet.get(f"{at}.compute_partition"):
            self.sheet.put(f"{at}.vendor", "amd", where)
            self.sheet.put(f"{at}.index.smi", int(cells[0]), where)

    def key(self, number: int) -> str:
        """A topology that is before lists the GPUs in the order of their numbers."""
        return self.order[number] if number < len(self.order) else f"#{number}"

    def close(self) -> None:
        for key, (where, rows) in self.links.items():
            self.sheet.put(f"gpus[{key}].links", rows, where)


def _peer(name: str) -> str:
    return f"#{int(name[3:])}" if re.fullmatch(r"GPU[0-9]{1,3}", name) else address(name) or ""
