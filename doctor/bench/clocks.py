"""Clocks, power and throttle reasons of one GPU while it works: nvidia-smi, or the driver's files for AMD.

Read from outside of the measuring process, several times during the repeats; that process goes on until the last
reading is done. What can't be read stays None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from doctor.errors import ParserError
from doctor.facts.gemm import Clocks
from doctor.parsers.amd import gpu_metrics
from doctor.system.base import System

_FIELDS = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu")
_NEWER = (("clocks_event_reasons.active", "power.draw.instant"), ("clocks_throttle_reasons.active",))
"""The second set is that of drivers up to 530. `power.draw` is the mean of a second on Ampere and later (nvidia-smi
--help-query-gpu), most of which may lie before the case; it counts where there is no other."""
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
"""Bits of nvmlClocksEventReasons (nvml.h); 0x1 is an idle GPU."""
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


@dataclass
class Watch:
    """Of one GPU, from the begin of a case to its end."""

    system: System
    address: str | None
    build: str | None
    part: tuple[int, int] | None = None
    """(which, of how many) partitions of that GPU."""
    seen: Clocks = field(default_factory=Clocks)
    _before: gpu_metrics.Metrics | None = None

    def begin(self) -> None:
        """Counters of what holds the clocks down need two readings; this is the first."""
        self.seen = Clocks()
        self._before = _metrics(self.system, self.address) if self.build == "rocm" else None

    def look(self, folder: str, waits: object) -> None:
        """Reads, and makes the file that the measuring process waits for, which it named: one of `folder` alone."""
        now = self._read()
        counts = {"readings": int(now.source is not None), "throttled_readings": int(bool(now.throttle))}
        self.seen = slowest([self.seen, now.model_copy(update=counts)])
        if self._before is not None:
            self._before = _metrics(self.system, self.address) or self._before
        path = Path(waits) if isinstance(waits, str) and "\0" not in waits else None
        if path is not None and str(path.parent) == folder and path.name.startswith("seen-"):
            path.touch()

    def _read(self) -> Clocks:
        found = read(self.system, self.address, self.build, self._before)
        if self.part is None or self.build != "rocm":
            return found
        now = _metrics(self.system, self.address)
        return found.model_copy(update={"sm_mhz": of_part(now.gfx_mhz if now else (), *self.part)})


def of_part(dies: Sequence[int], which: int, count: int) -> int | None:
    """The lowest clock of a partition's own dies, which are next to each other (aqua_vanjaram.c, xcp_ip_details); hwmon
    has that of the first die alone.

    >>> of_part((2100, 2100, 1800, 2050, 132, 132, 132, 132), 1, 4), of_part((), 0, 8)
    (1800, None)
    """
    each = len(dies) // count
    return min(dies[which * each : (which + 1) * each], default=None)


def read(system: System, address: str | None, build: str | None, before: gpu_metrics.Metrics | None = None) -> Clocks:
    if address is None or not _ADDRESS.fullmatch(address):
        return Clocks()
    return _nvidia(system, address) if build == "cuda" else _amd(system, address, before)


def slowest(of_each: Sequence[Clocks]) -> Clocks:
    """Of several readings, or of GPUs that work together: the state with the lowest clock, and what held the clocks
    down in any of them."""
    known = [c for c in of_each if c.sm_mhz is not None]
    lowest = min(known, key=lambda c: c.sm_mhz or 0) if known else next((c for c in of_each if c.source), Clocks())
    reported = [c.throttle for c in of_each if c.throttle is not None]
    reasons = tuple(dict.fromkeys(reason for one in reported for reason in one)) if reported else None
    highest = max((c.sm_mhz_highest or c.sm_mhz or 0 for c in known), default=0)
    return lowest.model_copy(
        update={
            "throttle": reasons,
            "sm_mhz_highest": highest if highest > (lowest.sm_mhz or 0) else None,
            "readings": sum(c.readings for c in of_each),
            "throttled_readings": sum(c.throttled_readings for c in of_each),
        }
    )


def _nvidia(system: System, address: str) -> Clocks:
    for names in _NEWER:
        argv = ["nvidia-smi", f"--id={address}", f"--query-gpu={','.join((*_FIELDS, *names))}"]
        ran = system.run([*argv, "--format=csv,noheader,nounits"], deadline_s=3)
        words = [w.strip() for w in (ran.value.stdout if ran.value and ran.value.code == 0 else "").split(",")]
        if len(words) != len(_FIELDS) + len(names):
            continue
        instant = _number(words[-1]) if len(names) > 1 else None
        mask = int(words[4], 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", words[4]) else None
        return Clocks(
            sm_mhz=_whole(_number(words[0])),
            memory_mhz=_whole(_number(words[1])),
            power_w=_number(words[2]) if instant is None else instant,
            temperature_c=_number(words[3]),
            throttle=None if mask is None else tuple(reason for bit, reason in _REASONS.items() if mask & bit),
            source="command:nvidia-smi",
        )
    return Clocks()


def _amd(system: System, address: str, before: gpu_metrics.Metrics | None) -> Clocks:
    """hwmon: freq1 is the shader clock and freq2 the memory's, in Hz; power in microwatts, heat in 1/1000 degree
    (Documentation/gpu/amdgpu/thermal.rst). What holds the clocks down is in gpu_metrics."""
    device = f"sys/bus/pci/devices/{address}"
    throttle = gpu_metrics.held_down(before, _metrics(system, address))
    folder = next((f for f in system.list_dir(f"{device}/hwmon").value or () if f.startswith("hwmon")), None)
    if folder is None:
        return Clocks(throttle=throttle, source=None if throttle is None else f"file:/{device}/gpu_metrics")

    def value(unit: float, *names: str) -> float | None:
        texts = (system.read_text(f"{device}/hwmon/{folder}/{name}", limit=100).value or "" for name in names)
        return next((found / unit for text in texts if (found := _number(text.strip())) is not None), None)

    return Clocks(
        sm_mhz=_whole(value(1e6, "freq1_input")),
        memory_mhz=_whole(value(1e6, "freq2_input")),
        power_w=value(1e6, "power1_average", "power1_input"),
        temperature_c=value(1e3, "temp2_input", "temp1_input"),
        throttle=throttle,
        source=f"file:/{device}/hwmon/{folder}",
    )


def _metrics(system: System, address: str | None) -> gpu_metrics.Metrics | None:
    if address is None or not _ADDRESS.fullmatch(address):
        return None
    content = system.read_bytes(f"sys/bus/pci/devices/{address}/gpu_metrics", length=gpu_metrics.LIMIT).value
    try:
        return gpu_metrics.read(content) if content else None
    except ParserError:
        return None


def _number(word: str) -> float | None:
    return float(word) if re.fullmatch(r"-?\d{1,15}(?:\.\d{1,6})?", word) else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
