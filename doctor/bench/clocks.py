"""Clocks, power and throttle reasons of one GPU while it works: nvidia-smi, or the driver's files for AMD.

Asked from outside of the measuring process, in the middle of the repeats. What can't be read stays None.
"""

from __future__ import annotations

import re

from doctor.facts.gemm import Clocks
from doctor.system.base import System

_FIELDS = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "clocks_throttle_reasons.active")
_REASONS = {
    0x2: "applications clocks",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clocks",
}
"""Bits of nvmlClocksThrottleReasons (nvml.h); 0x1 is an idle GPU."""
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def read(system: System, address: str | None, build: str | None) -> Clocks:
    """Of the GPU at that PCI address."""
    if address is None or not _ADDRESS.fullmatch(address):
        return Clocks()
    return _nvidia(system, address) if build == "cuda" else _amd(system, address)


def _nvidia(system: System, address: str) -> Clocks:
    argv = ["nvidia-smi", f"--id={address}", f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits"]
    ran = system.run(argv, deadline_s=3)
    words = [w.strip() for w in (ran.value.stdout if ran.value and ran.value.code == 0 else "").split(",")]
    if len(words) != len(_FIELDS):
        return Clocks()
    mask = int(words[4], 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", words[4]) else None
    return Clocks(
        sm_mhz=_whole(words[0]),
        memory_mhz=_whole(words[1]),
        power_w=_number(words[2]),
        temperature_c=_number(words[3]),
        throttle=None if mask is None else tuple(said for bit, said in _REASONS.items() if mask & bit),
        source="command:nvidia-smi",
    )


def _amd(system: System, address: str) -> Clocks:
    """hwmon: freq1 is the shader clock and freq2 the memory's, in Hz; power in microwatts, heat in 1/1000 degree
    (Documentation/gpu/amdgpu/thermal.rst). Throttle reasons stand in gpu_metrics alone, and its layout differs by
    chip."""
    device = f"sys/bus/pci/devices/{address}"
    folder = next((f for f in system.list_dir(f"{device}/hwmon").value or () if f.startswith("hwmon")), None)
    if folder is None:
        return Clocks()

    def value(*names: str) -> float | None:
        for name in names:
            found = _number((system.read_text(f"{device}/hwmon/{folder}/{name}", limit=100).value or "").strip())
            if found is not None:
                return found
        return None

    return Clocks(
        sm_mhz=_mhz(value("freq1_input")),
        memory_mhz=_mhz(value("freq2_input")),
        power_w=_scaled(value("power1_average", "power1_input"), 1e6),
        temperature_c=_scaled(value("temp2_input", "temp1_input"), 1e3),
        source=f"file:/{device}/hwmon/{folder}",
    )


def _scaled(value: float | None, by: float) -> float | None:
    return None if value is None else value / by


def _mhz(hertz: float | None) -> int | None:
    return None if hertz is None else round(hertz / 1e6)


def _number(word: str) -> float | None:
    return float(word) if re.fullmatch(r"-?\d{1,15}(?:\.\d{1,6})?", word) else None


def _whole(word: str) -> int | None:
    found = _number(word)
    return None if found is None else round(found)
