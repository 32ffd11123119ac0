"""The fields of `nvidia-smi -q`, in its text and its XML spelling -> facts of one GPU.

Both spellings are brought to one: the path of headings, lower case, without `_`, `-`, `.` and blanks, joined by `/`
(`fbmemoryusage/total`). Paths below a MIG device begin with `migdevice`, so that they can't be taken for the GPU's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from doctor.facts.sheet import FactSheet

MIB = 1 << 20
MANY_UNKNOWN_ERRORS = 8
"""A GPU that answers may read `Unknown Error` in a field or two; one that does not reads it nearly everywhere."""
_ADDRESS = re.compile(r"^\s*([0-9A-Fa-f]{1,8}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-7])\s*$")
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,6})?")
_SPELLING = re.compile(r"[\s_.\-]+")
_UNKNOWN = frozenset(
    ("", "n/a", "[n/a]", "not supported", "[not supported]", "unknown error", "[unknown error]", "err!", "redacted")
)
_GT_S = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
_REASONS = {
    "idle": "GpuIdle",
    "gpuidle": "GpuIdle",
    "applicationsclockssetting": "ApplicationsClocksSetting",
    "swpowercap": "SwPowerCap",
    "hwslowdown": "HwSlowdown",
    "hwthermalslowdown": "HwThermalSlowdown",
    "hwpowerbrakeslowdown": "HwPowerBrakeSlowdown",
    "syncboost": "SyncBoost",
    "swthermalslowdown": "SwThermalSlowdown",
    "displayclocksetting": "DisplayClockSetting",
    "displayclockssetting": "DisplayClockSetting",
}


class Field(NamedTuple):
    """One value as printed, and the line it stood on."""

    text: str
    line: int


def spelling(heading: str) -> str:
    """`FB Memory Usage` and `fb_memory_usage` -> `fbmemoryusage`."""
    return _SPELLING.sub("", heading.strip().lower())[:60]


def address(text: str) -> str | None:
    """`00000000:C1:00.0` -> `0000:c1:00.0`."""
    match = _ADDRESS.match(text)
    return f"{int(match[1], 16):04x}:{match[2]}:{match[3]}.{match[4]}".lower() if match else None


def known(text: str | None) -> str | None:
    """The text, or None where the tool says that it has no value."""
    text = (text or "").strip()
    if text.lower() in _UNKNOWN or text.lower().startswith(("requested functionality has been", "gpu requires reset")):
        return None
    return text[:200]


def number(text: str) -> float | None:
    match = _NUMBER.match(text)
    return float(match[0]) if match else None


def whole(text: str) -> int | None:
    value = number(text)
    return None if value is None else int(value)


def _mib(text: str) -> int | None:
    value = whole(text)
    return None if value is None or "MiB" not in text else value * MIB


def _enabled(text: str) -> bool | None:
    return {"enabled": True, "disabled": False, "on": True, "off": False}.get(text.lower())


def mode(text: str) -> str | None:
    return text.lower() if text.lower() in ("enabled", "disabled") else None


def _yes(text: str) -> bool | None:
    return {"yes": True, "no": False}.get(text.lower())


def _speed(text: str) -> float | None:
    return _GT_S.get(whole(text) or 0)


def _pci_id(text: str) -> str | None:
    """`0x233010DE` (device, then vendor) -> `10de:2330`."""
    digits = text.lower().removeprefix("0x")
    return f"{digits[4:]}:{digits[:4]}" if re.fullmatch(r"[0-9a-f]{4}10de", digits) else None


def _subsystem_id(text: str) -> str | None:
    digits = text.lower().removeprefix("0x")
    return f"{digits[4:]}:{digits[:4]}" if re.fullmatch(r"[0-9a-f]{8}", digits) and digits.strip("0") else None


def _text(text: str) -> str | None:
    return text


_FACTS: tuple[tuple[str, Callable[[str], Any], tuple[str, ...]], ...] = (
    ("name", _text, ("productname",)),
    ("uuid", _text, ("uuid", "gpuuuid")),
    ("serial", lambda text: text if text.strip("0") else None, ("serial", "serialnumber")),
    ("vbios", _text, ("vbiosversion",)),
    ("minor", whole, ("minornumber",)),
    ("pci_id", _pci_id, ("pci/pcideviceid", "pci/deviceid")),
    ("subsystem_id", _subsystem_id, ("pci/pcisubsystemid", "pci/subsystemid")),
    ("memory_bytes", _mib, ("fbmemoryusage/total", "memoryusage/total")),
    ("memory_used_bytes", _mib, ("fbmemoryusage/used", "memoryusage/used")),
    ("persistence_mode", _enabled, ("persistencemode",)),
    ("mig_mode", mode, ("migmode/currentmig", "migmode/current")),
    ("compute_mode", _text, ("computemode",)),
    ("fabric_state", lambda text: text.lower().replace(" ", "-"), ("fabric/state",)),
    ("fabric_status", _text, ("fabric/status",)),
    ("link.speed_gt_s", _speed, (
        "pci/pcigpulinkinfo/pciegen/currentlinkgen", "pci/gpulinkinfo/pciegeneration/current")),
    ("link.max_speed_gt_s", _speed, ("pci/pcigpulinkinfo/pciegen/maxlinkgen", "pci/gpulinkinfo/pciegeneration/max")),
    ("link.width", whole, ("pci/pcigpulinkinfo/linkwidths/currentlinkwidth", "pci/gpulinkinfo/linkwidth/current")),
    ("link.max_width", whole, ("pci/pcigpulinkinfo/linkwidths/maxlinkwidth", "pci/gpulinkinfo/linkwidth/max")),
    ("errors.ecc_enabled", _enabled, ("eccmode/currentecc", "eccmode/current")),
    ("errors.remapped_correctable", whole, ("remappedrows/remappedrowcorr", "remappedrows/correctableerror")),
    ("errors.remapped_uncorrectable", whole, ("remappedrows/remappedrowunc", "remappedrows/uncorrectableerror")),
    ("errors.remap_pending", _yes, ("remappedrows/remappedrowpending", "remappedrows/pending")),
    ("errors.remap_failed", _yes, ("remappedrows/remappedrowfailure", "remappedrows/remappingfailureoccurred")),
    ("errors.retired_pending", _yes, ("retiredpages/pendingretirement", "retiredpages/pendingpageblacklist")),
    ("sensors.temperature_c", number, ("temperature/gputemp", "temperature/gpucurrenttemp")),
    ("sensors.power_w", number, (
        "gpupowerreadings/averagepowerdraw", "gpupowerreadings/powerdraw", "powerreadings/powerdraw")),
    ("sensors.power_limit_w", number, (
        "gpupowerreadings/currentpowerlimit", "powerreadings/powerlimit", "powerreadings/enforcedpowerlimit")),
    ("sensors.power_limit_default_w", number, (
        "gpupowerreadings/defaultpowerlimit", "powerreadings/defaultpowerlimit")),
    ("sensors.sm_clock_mhz", number, ("clocks/smclock", "clocks/sm")),
    ("sensors.sm_clock_max_mhz", number, ("maxclocks/smclock", "maxclocks/sm")),
    ("sensors.utilisation_percent", number, ("utilization/gpuutil", "utilization/gpu")),
)  # fmt: skip
_ERRORS = (
    ("errors.corrected", "volatile", ("sramcorrectable", "dramcorrectable")),
    ("errors.uncorrected", "volatile", ("sramuncorrectable", "sramuncorrectableparity", "sramuncorrectablesecded",
                                        "dramuncorrectable")),
    ("errors.uncorrected_lifetime", "aggregate", ("sramuncorrectable", "sramuncorrectableparity",
                                                  "sramuncorrectablesecded", "dramuncorrectable")),
)  # fmt: skip


def put_gpu(sheet: FactSheet, key: str, fields: Mapping[str, Field], source: str) -> None:
    """All facts of one GPU that the fields hold, under `gpus[key]`. A field that reads N/A puts nothing."""
    for fact, convert, paths in _FACTS:
        for path in paths:
            field = fields.get(path)
            text = known(field.text) if field else None
            value = convert(text) if text is not None else None
            if field and value is not None:
                sheet.put(f"gpus[{key}].{fact}", value, f"{source}:{field.line}")
                break
    _put_errors(sheet, key, fields, source)
    _put_reasons(sheet, key, fields, source)
    texts = [f.text.strip().lower() for f in fields.values()]
    if "gpu is lost" in texts or texts.count("unknown error") >= MANY_UNKNOWN_ERRORS:
        sheet.put(f"gpus[{key}].lost", True, source)


def _put_errors(sheet: FactSheet, key: str, fields: Mapping[str, Field], source: str) -> None:
    for fact, span, names in _ERRORS:
        found = [f for name in names if (f := fields.get(f"eccerrors/{span}/{name}"))]
        old = fields.get(f"eccerrors/{span}/{'singlebit' if fact.endswith('.corrected') else 'doublebit'}/total")
        found = [f for f in found or ([old] if old else []) if known(f.text)]
        counts = [n for f in found if (n := whole(f.text)) is not None]
        if counts:
            sheet.put(f"gpus[{key}].{fact}", sum(counts), f"{source}:{found[0].line}")


def _put_reasons(sheet: FactSheet, key: str, fields: Mapping[str, Field], source: str) -> None:
    active: list[str] = []
    line = 0
    for path, field in fields.items():
        head, _, last = path.rpartition("/")
        if not head.startswith(("clockseventreasons", "clocksthrottlereasons")) or "counters" in head:
            continue
        line = line or field.line
        last = last.removeprefix("clockseventreason").removeprefix("clocksthrottlereason")
        if field.text.strip().lower() == "active" and (name := _REASONS.get(last)):
            active.append(name)
    if line:
        sheet.put(f"gpus[{key}].sensors.throttle_reasons", active, f"{source}:{line}")


def put_driver(sheet: FactSheet, fields: Mapping[str, Field], source: str) -> None:
    """Driver and CUDA version, as drivers up to 595 and from 610 on spell them. `610.57.04 [Deprecated …` is cut."""
    for fact, paths in (
        ("nvidia_driver.version", ("driverversion", "kmdversion")),
        ("nvidia_driver.cuda_version", ("cudaversion", "cudaumdversion")),
    ):
        for path in paths:
            field = fields.get(path)
            match = re.match(r"\s*(\d{1,4}(?:\.\d{1,4}){1,3})(?:\s|$)", field.text) if field else None
            if field and match:
                sheet.put(fact, match[1], f"{source}:{field.line}")
                break
