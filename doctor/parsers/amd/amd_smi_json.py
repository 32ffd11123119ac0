"""`amd-smi static --json`, `list --json`, `firmware --json` and `version --json` -> facts.

Older releases print a list of GPUs, newer ones an object with `gpu_data`; values are plain, or of value and unit.
"""

from __future__ import annotations

import json
import re
from typing import Any

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.kernel import pci_ids

PASTED = ({"trust": 70, "words": ('"asic"', '"gpu": 0', '"gpu":0', '"gpu_data"', '"market_name"')},)

_START = re.compile(r"^[\[{]", re.MULTILINE)
_GPU_LINE = re.compile(r'^\s*"gpu"\s*:\s*\d+', re.MULTILINE)
_VERSION = re.compile(r"^\d{1,5}(?:\.\d{1,9}){1,4}$")
_UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "MiB": 1 << 20, "GiB": 1 << 30}
"""amd-smi writes MB where it means MiB."""
_MOST = 1024


def parse(text: str) -> Any:
    """The JSON in a text that may begin with warnings. Raises ParserError."""
    start = _START.search(text)
    if not start:
        raise ParserError("no JSON object or list")
    try:
        return json.JSONDecoder().raw_decode(text, start.start())[0]
    except (ValueError, RecursionError) as error:
        raise ParserError(f"broken JSON: {str(error)[:120]}") from None


def read(text: str, source: str = "text") -> FactSheet:
    """Facts of each GPU, under its PCI address where the text names it, else under `#` and amd-smi's number.

    Raises ParserError when the text is none of the four outputs.
    """
    found = parse(text)
    rows = found.get("gpu_data") if isinstance(found, dict) else found
    rows = [r for r in rows if isinstance(r, dict)][:_MOST] if isinstance(rows, list) else []
    sheet = FactSheet()
    version = (found if isinstance(found, dict) else rows[0] if rows else {}).get("version")
    if isinstance(version, str):
        sheet.put("amdgpu_driver.smi_version", pci_ids.clean(version, 60), _at(source, 1))
    lines = [text.count("\n", 0, match.end()) + 1 for match in _GPU_LINE.finditer(text)][:_MOST]
    for place, row in enumerate(r for r in rows if isinstance(r.get("gpu"), int)):
        _put(sheet, row, _at(source, lines[place] if place < len(lines) else 1))
    if not len(sheet):
        raise ParserError("no GPU and no version of amd-smi")
    return sheet


def _at(source: str, line: int) -> str:
    return f"{source}:{line}" if not source.startswith("command:") else source


def _put(sheet: FactSheet, row: dict[str, Any], source: str) -> None:
    address = pci_ids.address(_text(row, "bus", "bdf") or _text(row, "bdf") or "")
    name = f"gpus[{address or '#' + str(row['gpu'])}]"
    target = _text(row, "asic", "target_graphics_version")
    facts = {
        "vendor": "amd",
        "index.smi": row["gpu"],
        "pci_address": address,
        "name": _text(row, "asic", "market_name"),
        "arch": target if target and re.fullmatch(r"gfx[0-9a-f]{3,5}", target) else None,
        "pci_id": _pci_id(row),
        "memory_bytes": _bytes(_value(row, "vram", "size")),
        "numa_node": _number(row, "numa", "node"),
        "compute_units": _number(row, "asic", "num_compute_units"),
        "compute_partition": _text(row, "partition", "compute_partition")
        or _text(row, "partition", "accelerator_partition"),
        "memory_partition": _text(row, "partition", "memory_partition"),
        "vbios": _text(row, "vbios", "part_number") or _text(row, "ifwi", "part_number"),
        "index.kfd": _number(row, "node_id"),
        "firmware_bundle": _bundle(row),
    }
    for fact, value in facts.items():
        if value is not None:
            sheet.put(f"{name}.{fact}", value, source)
    version = _text(row, "driver", "version")
    if version and _VERSION.match(version):  # with the in-tree driver, amd-smi prints the kernel's banner instead
        sheet.put("amdgpu_driver.version", version, source)


def _value(row: Any, *keys: str) -> Any:
    for key in keys:
        row = row.get(key) if isinstance(row, dict) else None
    return row


def _text(row: Any, *keys: str) -> str | None:
    found = _value(row, *keys)
    line = pci_ids.clean(found) if isinstance(found, str) else ""
    return line if line and line != "N/A" else None


def _bundle(row: Any) -> str | None:
    """PLDM_BUNDLE among `fw_list`, which older drivers do not have."""
    listed = row.get("fw_list")
    for one in listed[:200] if isinstance(listed, list) else ():
        version = _text(one, "fw_version") or ""
        if _text(one, "fw_id") == "PLDM_BUNDLE" and _VERSION.match(version):
            return version
    return None


def _number(row: Any, *keys: str) -> int | None:
    found = _value(row, *keys)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _bytes(size: Any) -> int | None:
    value, unit = _value(size, "value"), _value(size, "unit")
    return value * _UNITS[unit] if isinstance(value, int) and isinstance(unit, str) and unit in _UNITS else None


def _pci_id(row: Any) -> str | None:
    parts = [_text(row, "asic", key) or "" for key in ("vendor_id", "device_id")]
    return ":".join(p.lower()[2:] for p in parts) if all(re.fullmatch(r"0x[0-9a-fA-F]{4}", p) for p in parts) else None
