"""AMD cards as sys/class/drm shows them: memory, VBIOS, partitions, firmware, error counters, node names.

Part of the amd probe. Reads no file that would wake a suspended GPU.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from doctor.errors import ParserError
from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.amd import drm_amdgpu
from doctor.parsers.kernel import pci_ids
from doctor.system.base import System

READS: tuple[str, ...] = (
    "dir:sys/class/drm public",
    "file:sys/class/drm/card*/device/{vendor,uevent,power/runtime_status} public",
    "dir:sys/class/drm/card*/device/drm public",
    "file:sys/class/drm/card*/device/{mem_info_vram_total,mem_info_vram_used,vbios_version,product_name} public",
    "file:sys/class/drm/card*/device/{unique_id,serial_number} serial",
    "file:sys/class/drm/card*/device/{current_compute_partition,current_memory_partition} public",
    "file:sys/class/drm/card*/device/power_dpm_force_performance_level public",
    "file:sys/class/drm/card*/device/fw_version/* public",
    "file:sys/class/drm/card*/device/ras/* public",
)

_DRM = "sys/class/drm"
_MOST = 256


@dataclass(frozen=True)
class Card:
    name: str
    folder: str
    address: str
    driver: str | None


def cards(system: System) -> list[Card]:
    """AMD's cards by PCI address. Cards of partitions have no PCI device of their own and are left out."""
    listing = system.list_dir(_DRM)
    found = {}
    for name in listing.value or ():
        folder = f"{_DRM}/{name}/device"
        if not re.fullmatch(r"card\d{1,4}", name):
            continue
        uevent = system.read_text(f"{folder}/uevent").then(pci_ids.uevent).value
        named = (uevent.pci_id or "").partition(":")[0] if uevent else None
        if (system.read_text(f"{folder}/vendor").then(pci_ids.hex_id).value or named) != "1002":
            continue
        address = pci_ids.address((system.real(folder).value or "").rpartition("/")[2])
        address = address or (uevent.address if uevent else None)
        if address:
            driver = uevent.driver if uevent else (system.link(f"{folder}/driver").value or "").rpartition("/")[2]
            found[address] = Card(name, folder, address, driver or None)
    return [found[address] for address in sorted(found)][:_MOST]


_NOT_ASLEEP = ("memory_used_bytes", "performance_level", "firmware", "firmware_bundle", "errors.uncorrected",
               "errors.corrected", "errors.bad_pages")  # fmt: skip
"""What would wake a suspended GPU when it is asked for."""


def put(system: System, sheet: FactSheet, card: Card) -> None:
    name, folder = f"gpus[{card.address}]", card.folder
    source = f"file:/{folder}"
    sheet.put(f"{name}.vendor", "amd", source)
    sheet.put(f"{name}.pci_address", card.address, source)
    sheet.put(f"{name}.card_node", card.name, source)
    if card.driver:
        sheet.put(f"{name}.driver", card.driver, f"{source}/uevent")
    if card.driver != "amdgpu":
        return
    entries = system.list_dir(f"{folder}/drm")
    render = sorted((e for e in entries.value or () if re.fullmatch(r"renderD\d{3,4}", e)), key=lambda e: int(e[7:]))
    if render:
        sheet.put(f"{name}.render_node", render[0], entries.source)
    _put_plain(system, sheet, name, folder)
    status = system.read_text(f"{folder}/power/runtime_status").value or ""
    if status.strip().startswith("suspend"):
        for fact in _NOT_ASLEEP:
            sheet.miss(f"{name}.{fact}", State.NOT_ASKED, source, "the GPU is suspended, and asking would wake it")
        return
    system.read_text(f"{folder}/mem_info_vram_used").then(pci_ids.number).into(sheet, f"{name}.memory_used_bytes")
    level = system.read_text(f"{folder}/power_dpm_force_performance_level").then(lambda t: _word(t.lower()))
    level.into(sheet, f"{name}.performance_level")
    _put_firmware(system, sheet, name, folder)
    _put_errors(system, sheet, name, folder)


def _put_plain(system: System, sheet: FactSheet, name: str, folder: str) -> None:
    rows: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
        ("memory_bytes", "mem_info_vram_total", pci_ids.number),
        ("visible_memory_bytes", "mem_info_vis_vram_total", pci_ids.number),
        ("gtt_bytes", "mem_info_gtt_total", pci_ids.number),
        ("vbios", "vbios_version", _word),
        ("name", "product_name", _word),
        ("serial", "serial_number", _word),
        ("compute_partition", "current_compute_partition", _mode),
        ("memory_partition", "current_memory_partition", _mode),
        ("uuid", "unique_id", lambda text: f"GPU-{drm_amdgpu.unique_id(text)}"),
    )
    for fact, file, reader in rows:
        system.read_text(f"{folder}/{file}").then(reader).into(sheet, f"{name}.{fact}")


def _word(text: str) -> str:
    """A line of text; ParserError for none, which is what cards without a FRU memory print."""
    line = pci_ids.clean(text)
    if not line or line == "N/A":
        raise ParserError("empty")
    return line


def _mode(text: str) -> str:
    """`SPX`, `NPS1` …; ParserError for `UNKNOWN`."""
    line = pci_ids.clean(text, 20)
    if not re.fullmatch(r"[A-Z]{2,3}X|NPS\d", line):
        raise ParserError(f"no partition mode: {line!r}")
    return line


def _put_firmware(system: System, sheet: FactSheet, name: str, folder: str) -> None:
    listing = system.list_dir(f"{folder}/fw_version")
    versions = {}
    for file in (listing.value or ())[:64]:
        value = pci_ids.clean(system.read_text(f"{folder}/fw_version/{file}").value or "", 40)
        if value:
            versions[file.removesuffix("_fw_version")] = value
    if versions:
        sheet.put(f"{name}.firmware", versions, listing.source)
    else:
        sheet.miss(f"{name}.firmware", listing.state, listing.source, listing.detail)
    bundle = system.read_text(f"{folder}/fw_version/pldm_fw_version").then(drm_amdgpu.firmware_bundle)
    bundle.into(sheet, f"{name}.firmware_bundle")


def _put_errors(system: System, sheet: FactSheet, name: str, folder: str) -> None:
    """Sums over all RAS blocks. Consumer cards have no `ras` folder: no counters, not zero errors."""
    listing = system.list_dir(f"{folder}/ras")
    counters = [f for f in listing.value or () if f.endswith("_err_count")][:64]
    counts = [system.read_text(f"{folder}/ras/{f}").then(drm_amdgpu.error_count).value for f in counters]
    known = [c for c in counts if c is not None]
    if known:
        sheet.put(f"{name}.errors.uncorrected", sum(c.uncorrected for c in known), listing.source)
        sheet.put(f"{name}.errors.corrected", sum(c.corrected for c in known), listing.source)
    else:
        for fact in ("uncorrected", "corrected"):
            state = State.UNREADABLE if listing.known else listing.state
            sheet.miss(f"{name}.errors.{fact}", state, listing.source, "no RAS counter can be read")
    pages = system.read_text(f"{folder}/ras/gpu_vram_bad_pages").then(drm_amdgpu.bad_pages)
    pages.into(sheet, f"{name}.errors.bad_pages")
