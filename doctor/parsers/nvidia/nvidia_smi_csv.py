"""`nvidia-smi --query-gpu=… --format=csv` -> facts of each GPU. The header names the columns; where there is
none (`noheader`) by the command's own list, where the text shows the command.

>>> sheet = read("index, name, driver_version, memory.total [MiB]\\n0, NVIDIA L40S, 595.80, 46068 MiB")
>>> sheet.get("gpus[#0].name"), sheet.get("nvidia_driver.version"), sheet.get("gpus[#0].memory_bytes") >> 20
('NVIDIA L40S', '595.80', 46068)
>>> asked = "nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader"
>>> read("NVIDIA L40S, 8.9", command=asked).get("gpus[#0].arch")
'sm_89'
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines
from doctor.parsers.nvidia.nvidia_smi_fields import MIB, address, known, mode, number, whole

PASTED = (
    {
        "trust": 230,
        "words": (
            ", driver_version",
            "driver_version,",
            "memory.total [",
            "memory.used [",
            "pci.bus_id",
            "compute_cap",
            "power.draw",
            "utilization.gpu",
        ),
        "commands": ("--query-gpu",),
        "takes_command": True,
    },
)

_QUERY = re.compile(r"--query-gpu[= ]([a-z][\w.,]{1,2000})")
_UNIT = re.compile(r"\s?\[[^\]]{1,8}\]$")
_NAME = re.compile(r"[a-z][\w.]{1,80}$", re.IGNORECASE)
_LIMIT = 256
_GT_S = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}


def _enabled(text: str) -> bool | None:
    return {"enabled": True, "disabled": False}.get(text.lower())


def _yes(text: str) -> bool | None:
    return {"yes": True, "no": False, "1": True, "0": False}.get(text.lower())


def _bytes(text: str) -> int | None:
    value = whole(text)
    return None if value is None or value < 0 else value * MIB


def _arch(text: str) -> str | None:
    found = re.match(r"(\d{1,2})\.(\d)$", text)
    return f"sm_{found[1]}{found[2]}" if found else None


def _pci_id(text: str) -> str | None:
    found = re.match(r"0x([0-9A-Fa-f]{4})10[Dd][Ee]$", text)
    return f"10de:{found[1].lower()}" if found else None


def _gt_s(text: str) -> float | None:
    return _GT_S.get(whole(text) or 0)


_FACTS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "name": ("name", str),
    "gpu_name": ("name", str),
    "uuid": ("uuid", str),
    "gpu_uuid": ("uuid", str),
    "serial": ("serial", lambda text: text if text.strip("0") else None),
    "gpu_serial": ("serial", lambda text: text if text.strip("0") else None),
    "pci.device_id": ("pci_id", _pci_id),
    "vbios_version": ("vbios", str),
    "compute_cap": ("arch", _arch),
    "memory.total": ("memory_bytes", _bytes),
    "memory.used": ("memory_used_bytes", _bytes),
    "persistence_mode": ("persistence_mode", _enabled),
    "compute_mode": ("compute_mode", str),
    "mig.mode.current": ("mig_mode", mode),
    "ecc.mode.current": ("errors.ecc_enabled", _enabled),
    "ecc.errors.corrected.volatile.total": ("errors.corrected", whole),
    "ecc.errors.uncorrected.volatile.total": ("errors.uncorrected", whole),
    "ecc.errors.uncorrected.aggregate.total": ("errors.uncorrected_lifetime", whole),
    "retired_pages.pending": ("errors.retired_pending", _yes),
    "remapped_rows.pending": ("errors.remap_pending", _yes),
    "remapped_rows.failure": ("errors.remap_failed", _yes),
    "remapped_rows.correctable": ("errors.remapped_correctable", whole),
    "remapped_rows.uncorrectable": ("errors.remapped_uncorrectable", whole),
    "pcie.link.gen.current": ("link.speed_gt_s", _gt_s),
    "pcie.link.gen.max": ("link.max_speed_gt_s", _gt_s),
    "pcie.link.width.current": ("link.width", whole),
    "pcie.link.width.max": ("link.max_width", whole),
    "temperature.gpu": ("sensors.temperature_c", number),
    "power.draw": ("sensors.power_w", number),
    "power.limit": ("sensors.power_limit_w", number),
    "power.default_limit": ("sensors.power_limit_default_w", number),
    "clocks.current.sm": ("sensors.sm_clock_mhz", number),
    "clocks.sm": ("sensors.sm_clock_mhz", number),
    "clocks.max.sm": ("sensors.sm_clock_max_mhz", number),
    "utilization.gpu": ("sensors.utilisation_percent", number),
    "fabric.state": ("fabric_state", lambda text: text.lower().replace(" ", "-")),
}
_REASON = re.compile(r"clocks_(?:throttle|event)_reasons\.(\w{2,40})$")
_REASONS = {
    "sw_power_cap": (0x4, "SwPowerCap"),
    "hw_slowdown": (0x8, "HwSlowdown"),
    "sw_thermal_slowdown": (0x20, "SwThermalSlowdown"),
    "hw_thermal_slowdown": (0x40, "HwThermalSlowdown"),
    "hw_power_brake_slowdown": (0x80, "HwPowerBrakeSlowdown"),
}
"""Columns and the bits that `active` has of them (nvml.h, nvmlClocksEventReason…)."""
_ALIASES = {"clocks.current.sm": "clocks.sm", "gpu_bus_id": "pci.bus_id"}


def read(text: str, source: str = "text", command: str = "") -> FactSheet:
    """Raises ParserError without a header (or a command that names the columns) and a row that fits it."""
    reader = _Reader(_asked(command) if "noheader" in command else [])
    for where, line in source_lines(text, source):
        reader.take(where, line)
    if not reader.rows:
        raise ParserError("no rows of nvidia-smi --query-gpu")
    return reader.sheet


def _asked(command: str) -> list[str]:
    found = _QUERY.search(command[:4000])
    return found[1].lower().split(",") if found else []


class _Reader:
    def __init__(self, columns: list[str]) -> None:
        self.sheet = FactSheet()
        self.columns = columns
        self.rows = 0

    def take(self, where: str, line: str) -> None:
        cells = [cell.strip() for cell in line.split(",")]
        names = [_UNIT.sub("", cell).lower() for cell in cells]
        if all(_NAME.match(name) for name in names) and any(name in _KNOWN for name in names):
            self.columns = names
        elif len(self.columns) == 1 and _PROPERTY.fullmatch(line.strip()):
            self.columns = []  # a list of what could be asked for, one name a line
        elif self.columns and len(cells) == len(self.columns) and self.rows < _LIMIT and line.strip():
            self.row(where, dict(zip(self.columns, cells, strict=True)))

    def row(self, where: str, cells: dict[str, str]) -> None:
        columns = {
            _ALIASES.get(name, name): value for name, text in cells.items() if (value := known(text)) is not None
        }
        place = address(columns.get("pci.bus_id", ""))
        index = columns.get("index", "")
        bare = re.fullmatch(r"\d{1,4}", index)
        key = place or f"#{int(index) if bare else self.rows}"
        facts: dict[str, Any] = {"vendor": "nvidia", "pci_address": place, "index.smi": int(index) if bare else None}
        for name, value in columns.items():
            if name in _FACTS:
                fact, convert = _FACTS[name]
                facts[fact] = convert(value)
        facts["sensors.throttle_reasons"] = _reasons(columns)
        if len([value for value in facts.values() if value is not None]) < 2 and not _VERSIONS & columns.keys():
            return
        self.rows += 1
        for fact, value in facts.items():
            if value is not None:
                self.sheet.put(f"gpus[{key}].{fact}", value, where)
        for name in ("kmd_version", "driver_version"):
            if found := re.match(r"\d{3}\.\d{1,4}(?:\.\d{1,4})?$", columns.get(name, "")):
                self.sheet.put("nvidia_driver.version", found[0], where)


def _reasons(cells: dict[str, str]) -> list[str] | None:
    """What holds the clocks down, of single columns and of their sum; None where no such column was asked for."""
    asked = {found[1]: text.lower() for name, text in cells.items() if (found := _REASON.match(name))}
    if not asked.keys() & {"active", *_REASONS}:
        return None
    total = asked.get("active", "")
    bits = int(total, 16) if re.fullmatch(r"0x[0-9a-f]{1,16}", total) else 0
    return [nvml for column, (bit, nvml) in _REASONS.items() if asked.get(column) == "active" or bits & bit]


_PROPERTY = re.compile(r"[a-z]{2,20}(?:[._][a-zA-Z0-9_]{2,40}){1,5}")
_VERSIONS = {"kmd_version", "driver_version"}
_KNOWN = _FACTS.keys() | _VERSIONS | {"index", "pci.bus_id", "gpu_bus_id", "timestamp", "count"}
