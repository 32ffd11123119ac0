"""NVML's inventory, as `System.nvml()` gives it -> facts of the driver and of each GPU."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet

_GT_S = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
_KEY = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
_PLAIN: tuple[tuple[str, str, type | tuple[type, ...]], ...] = (
    ("name", "name", str),
    ("uuid", "uuid", str),
    ("serial", "serial", str),
    ("minor", "minor", int),
    ("vbios", "vbios", str),
    ("pci_id", "pci_id", str),
    ("subsystem_id", "subsystem_id", str),
    ("memory_total", "memory_bytes", int),
    ("memory_used", "memory_used_bytes", int),
    ("compute_mode", "compute_mode", str),
    ("persistence_mode", "persistence_mode", bool),
    ("processes", "processes", int),
    ("lost", "lost", bool),
    ("ecc_current", "errors.ecc_enabled", bool),
    ("ecc_corrected_volatile", "errors.corrected", int),
    ("ecc_uncorrected_volatile", "errors.uncorrected", int),
    ("ecc_uncorrected_aggregate", "errors.uncorrected_lifetime", int),
    ("retired_pages_pending", "errors.retired_pending", bool),
    ("remapped_rows.correctable", "errors.remapped_correctable", int),
    ("remapped_rows.uncorrectable", "errors.remapped_uncorrectable", int),
    ("remapped_rows.pending", "errors.remap_pending", bool),
    ("remapped_rows.failure", "errors.remap_failed", bool),
    ("temperature_c", "sensors.temperature_c", (int, float)),
    ("power_w", "sensors.power_w", (int, float)),
    ("power_limit_w", "sensors.power_limit_w", (int, float)),
    ("power_limit_default_w", "sensors.power_limit_default_w", (int, float)),
    ("clocks.sm", "sensors.sm_clock_mhz", (int, float)),
    ("clocks.sm_max", "sensors.sm_clock_max_mhz", (int, float)),
    ("utilisation", "sensors.utilisation_percent", (int, float)),
    ("clock_event_reasons", "sensors.throttle_reasons", list),
    ("pcie.width", "link.width", int),
    ("pcie.width_max", "link.max_width", int),
    ("fabric.state", "fabric_state", str),
    ("fabric.status", "fabric_status", str),
    ("index", "index.smi", int),
)
_LACKED = {
    "remapped_rows": tuple(fact for path, fact, _ in _PLAIN if path.startswith("remapped_rows.")),
    "mig_mode": ("mig_mode", "partitions"),
    "fabric": ("fabric_state", "fabric_status"),
    "nvlinks": ("links",),
}
"""What a GPU lacks that does not support a call, where its facts are not the one of the same key in _PLAIN."""


def read(inventory: Mapping[str, Any], source: str = "nvml") -> FactSheet:
    """`error` None says that NVML came up. ParserError where there is neither an error nor a list of GPUs."""
    sheet = FactSheet()
    error = inventory.get("error")
    if isinstance(error, Mapping):
        sheet.put("nvidia_driver.nvml_error", str(error.get("name") or error.get("code"))[:80], source)
        return sheet
    gpus = inventory.get("gpus")
    if not isinstance(gpus, list):
        raise ParserError("NVML's inventory has no list of GPUs")
    sheet.put("nvidia_driver.nvml_gpus", len(gpus), source)
    for key, fact in (("driver_version", "version"), ("cuda_driver_version", "cuda_version")):
        if isinstance(inventory.get(key), str):
            sheet.put(f"nvidia_driver.{fact}", inventory[key], source)
    for gpu in gpus[:256]:
        if isinstance(gpu, Mapping) and _named(gpu):
            _gpu(sheet, gpu, source)
    return sheet


def _named(gpu: Mapping[str, Any]) -> bool:
    """Whether a row says which GPU it is of, by place or number."""
    place, index = gpu.get("pci_address"), gpu.get("index")
    return bool(isinstance(place, str) and _KEY.match(place)) or (isinstance(index, int) and 0 <= index < 1024)


def _gpu(sheet: FactSheet, gpu: Mapping[str, Any], source: str) -> None:
    place = gpu.get("pci_address")
    key = place if isinstance(place, str) and _KEY.match(place) else f"#{gpu.get('index', 0)}"
    base = f"gpus[{key}]"
    sheet.put(f"{base}.vendor", "nvidia", source)
    if key == place:
        sheet.put(f"{base}.pci_address", place, source)
    for path, fact, kind in _PLAIN:
        value = _at(gpu, path)
        if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            sheet.put(f"{base}.{fact}", value, source)
    for fact, key in (("mig_mode", "mig_mode"), ("mig_pending", "mig_mode_pending")):
        if isinstance(gpu.get(key), bool):
            sheet.put(f"{base}.{fact}", "enabled" if gpu[key] else "disabled", source)
    if isinstance(gpu.get("virtualization"), str):
        sheet.put(f"{base}.vgpu", gpu["virtualization"] == "vgpu", source, gpu["virtualization"][:40])
    if isinstance(gpu.get("minor"), int):
        sheet.put(f"{base}.device_node", f"nvidia{gpu['minor']}", source)
    if isinstance(capability := gpu.get("compute_capability"), str):
        sheet.put(f"{base}.arch", "sm_" + capability.replace(".", ""), source)
    for path, fact in (("pcie.gen", "speed_gt_s"), ("pcie.gen_max", "max_speed_gt_s")):
        if speed := _GT_S.get(_at(gpu, path) or 0):
            sheet.put(f"{base}.link.{fact}", speed, source)
    _links(sheet, base, gpu, source)
    _instances(sheet, base, gpu, source)
    plain = {path: (fact,) for path, fact, _ in _PLAIN}
    for call in _rows(gpu.get("unsupported")):
        for fact in _LACKED.get(str(call), plain.get(str(call), ())):
            sheet.absent(f"{base}.{fact}", source, detail="not supported by this GPU")
    if isinstance(errors := gpu.get("errors"), Mapping) and "NVML_ERROR_RESET_REQUIRED" in errors.values():
        sheet.put(f"{base}.lost", True, source, "NVML_ERROR_RESET_REQUIRED")


def _at(gpu: Mapping[str, Any], path: str) -> Any:
    here: Any = gpu
    for step in path.split("."):
        here = here.get(step) if isinstance(here, Mapping) else None
    return here


def _rows(found: Any) -> list[Any]:
    return found[:64] if isinstance(found, list) else []


def _links(sheet: FactSheet, base: str, gpu: Mapping[str, Any], source: str) -> None:
    links = [
        {"kind": "nvlink", "index": link["link"], "up": link.get("state"), "peer": link.get("remote_pci")}
        for link in _rows(gpu.get("nvlinks"))
        if isinstance(link, Mapping) and isinstance(link.get("link"), int)
    ]
    if links:
        sheet.put(f"{base}.links", [{k: v for k, v in link.items() if v is not None} for link in links], source)


def _instances(sheet: FactSheet, base: str, gpu: Mapping[str, Any], source: str) -> None:
    found = gpu.get("mig_devices")
    if not isinstance(found, list):
        return
    if not found:
        sheet.put(f"{base}.partitions", [], source)
    for number, device in enumerate(found[:64]):
        part = f"{base}.partitions[mig{number}]"
        sheet.put(f"{part}.kind", "mig", source)
        for key, fact, kind in (("name", "name", str), ("uuid", "uuid", str), ("memory", "memory_bytes", int)):
            if isinstance(device, Mapping) and isinstance(device.get(key), kind):
                sheet.put(f"{part}.{fact}", device[key], source)
