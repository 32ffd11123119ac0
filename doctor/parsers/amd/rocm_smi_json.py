"""`rocm-smi … --json` -> facts of each card. Keys changed from release to release; each fact knows its names."""

from __future__ import annotations

import re
from typing import Any

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.amd.amd_smi_json import parse
from doctor.parsers.kernel import pci_ids

PASTED = ({"trust": 100, "words": ('"card0"', '"card1"')},)

_CARD = re.compile(r"^card(\d{1,4})$")


def read(text: str, source: str = "text") -> FactSheet:
    """Facts under each card's PCI address, or `#` and rocm-smi's number. Raises ParserError without any card."""
    found = parse(text)
    cards = (
        {k: v for k, v in found.items() if _CARD.match(k) and isinstance(v, dict)} if isinstance(found, dict) else {}
    )
    if not cards:
        raise ParserError("no card of rocm-smi")
    sheet = FactSheet()
    for card, row in list(cards.items())[:1024]:
        line = text.count("\n", 0, max(text.find(f'"{card}"'), 0)) + 1
        _put(sheet, int(card[4:]), row, f"{source}:{line}" if not source.startswith("command:") else source)
    system = found.get("system")
    version = _text(system, "Driver version") if isinstance(system, dict) else None
    if version and re.fullmatch(r"\d{1,5}(?:\.\d{1,9}){1,4}", version):
        sheet.put("amdgpu_driver.version", version, source, "rocm-smi prints the kernel's where the driver has none")
    return sheet


def _put(sheet: FactSheet, number: int, row: dict[str, Any], source: str) -> None:
    address = pci_ids.address(_text(row, "PCI Bus") or "")
    name = f"gpus[{address or f'#{number}'}]"
    series = _text(row, "Card Series", "Card series")
    device = _text(row, "Device ID", "GPU ID")
    target = _text(row, "GFX Version")
    facts = {
        "vendor": "amd",
        "index.smi": number,
        "pci_address": address,
        "name": series if series and not series.startswith("0x") else None,
        "pci_id": f"1002:{device[2:].lower()}" if device and re.fullmatch(r"0x[0-9a-fA-F]{4}", device) else None,
        "arch": target if target and re.fullmatch(r"gfx[0-9a-f]{3,5}", target) else None,
        "memory_bytes": _number(row, "VRAM Total Memory (B)"),
        "memory_used_bytes": _number(row, "VRAM Total Used Memory (B)"),
        "vbios": _text(row, "VBIOS version"),
        "numa_node": _number(row, "(Topology) Numa Node"),
        "index.kfd": _number(row, "Node ID"),
    }
    for fact, value in facts.items():
        if value is not None:
            sheet.put(f"{name}.{fact}", value, source)


def _text(row: dict[str, Any], *keys: str) -> str | None:
    for key in keys:
        line = pci_ids.clean(row[key]) if isinstance(row.get(key), str) else ""
        if line and not line.startswith("N/A"):
            return line
    return None


def _number(row: dict[str, Any], key: str) -> int | None:
    found = _text(row, key)
    return int(found) if found and re.fullmatch(r"-?\d{1,18}", found) else None
