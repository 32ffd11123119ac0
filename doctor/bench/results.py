"""What a child sent -> measurements. Nothing that it sends is trusted to have the right shape."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from doctor.bench.ceilings import Ceiling, flush, peak
from doctor.bench.plan import COLLECTIVES
from doctor.bench.statistics import paired_ratio, rate, spread
from doctor.facts.gemm import Clocks, Measurement, Outcome, Spread
from doctor.system.user_python import Ended

_MOST_TIMES = 4000


@dataclass(frozen=True)
class Device:
    """`torch`: `cuda:0` or `cpu`; `cache_bytes`: the last-level cache that torch or the kernel reports; `part`:
    (which, of how many), where devices share a PCI address: partitions, in the order of the runtime."""

    torch: str
    name: str
    pci: str | None = None
    cache_bytes: int | None = None
    ceiling: Ceiling = field(default_factory=Ceiling)
    part: tuple[int, int] | None = None

    def flush(self) -> tuple[int, str]:
        """(bytes that are written before each cold repeat, how that is named)"""
        return flush(max(self.ceiling.cache_bytes or 0, self.cache_bytes or 0), self.torch != "cpu")


@dataclass
class Results:
    """What was measured. `software`: torch's version and what it was built for; `trouble`: why nothing was."""

    measurements: list[Measurement] = field(default_factory=list)
    devices: tuple[Device, ...] = ()
    software: dict[str, str] = field(default_factory=dict)
    trouble: str | None = None


def key_of(case: Mapping[str, Any]) -> str:
    return f"{case['what']}/{case['dtype']}/{case['shape']}"


_FORMS = {"copy": "{} memory", "host": "copy {}"}
_WARM = " warm"
_CALLS = {"launch": 1000, "decode": 20}
"""Calls of one repeat (CALLS in scripts/bench_launch.py); the time of one is what counts."""
_ARRAYS = {"copy": 2, "scale": 2, "triad": 3}
"""Arrays that are read or written, as BabelStream counts them (src/main.cpp). A copy to or from the host is one."""
_AGAINST = {
    "linear": "matmul", "linear-bias": "matmul-bias", "matmul-fast": "matmul", "matmul-amax": "matmul",
    "backward": "forward", "graph": "eager", "attention-graph": "attention", "model-graph": "model",
}  # fmt: skip
"""The way that gives the same result from operands of the same layout; of backward, its own forward."""


def measured(
    case: Mapping[str, Any], event: Mapping[str, Any], device: Device, busy: Clocks, together: int = 1
) -> list[Measurement]:
    """One for each way of the case, of which `together` devices ran at once. What a child sends is not trusted to have
    the right shape."""
    if event.get("outcome") in ("refused", "out-of-memory", "not-run"):
        outcome = cast(Outcome, event["outcome"])
        return [measurement(case, None, device.torch, outcome=outcome, detail=word(event.get("detail"), 600))]
    wrong, error = event.get("wrong"), event.get("error")
    sent = event.get("times")
    times = {str(n): times_of(t) for n, t in sent.items()} if isinstance(sent, dict) else {}
    variants = event.get("variants")
    variants = variants if isinstance(variants, dict) else {}
    found = []
    for way, taken in times.items():
        if way.endswith(_WARM):
            continue
        unit, value = _value(case, way, taken)
        against = _AGAINST.get(way)
        paired = paired_ratio(taken, times[against]) if against in times else None
        most = peak(device.ceiling, named(case, way), str(case["dtype"]))
        found.append(
            measurement(
                case, way, device.torch, unit=unit, value=value, clocks=busy,
                warm=_value(case, way, times.get(way + _WARM, ()))[1],
                peak=most, peak_source=device.ceiling.source if most else None,
                outcome="wrong" if wrong else "ran",
                detail=word(wrong, 300) if wrong else None,
                relative_error=float(error) if isinstance(error, (int, float)) else None,
                ratio=paired, against=named(case, str(against)) if paired else None,
                variant=word(variants.get(way), 200) or None,
                method=f"{len(taken)} repeats after warm-up; {_cache(case, device)}; normally distributed input; "
                f"ways in turn{f'; {together} devices at once' if together > 1 else ''}",
            )
        )  # fmt: skip
    return found or [measurement(case, None, device.torch, outcome="refused", detail="the child sent no times")]


def _cache(case: Mapping[str, Any], device: Device) -> str:
    if case["what"] in _CALLS:
        return f"no flush before, the mean of {_CALLS[str(case['what'])]} calls"
    return device.flush()[1]


def amount(shape: str) -> int:
    """Bytes of `8B`, `64KiB`, `1024MiB`, `8GiB`.

    >>> amount("64KiB")
    65536
    """
    number, unit = re.fullmatch(r"(\d{1,6})([KMG]?)i?B", shape).groups()  # type: ignore[union-attr]
    return int(number) << {"": 0, "K": 10, "M": 20, "G": 30}[unit]


def times_of(sent: Any) -> list[float]:
    return [float(t) for t in sent[:_MOST_TIMES] if isinstance(t, (int, float))] if isinstance(sent, list) else []


def named(case: Mapping[str, Any], way: str | None) -> str:
    """What baselines and reports call it.

    >>> named({"what": "copy"}, "triad"), named({"what": "all_reduce"}, "in-place"), named({"what": "gemm"}, None)
    ('triad memory', 'collective all_reduce in-place', 'gemm')
    """
    what = f"collective {case['what']}" if case["what"] in COLLECTIVES else str(case["what"])
    return _FORMS.get(what, what + " {}").format(way) if way else what


def measurement(case: Mapping[str, Any], way: str | None, device: str, unit: str = "-", **more: Any) -> Measurement:
    what, dtype, shape = named(case, way), str(case["dtype"]), str(case["shape"])
    key = f"{what}/{dtype}/{shape}@{device}"
    return Measurement(key=key, what=what, dtype=dtype, shape=shape, device=device, unit=unit, **more)


def _value(case: Mapping[str, Any], way: str, times: Sequence[float]) -> tuple[str, Spread | None]:
    """(unit, value): products in TFLOP/s, copies in GB/s, the rest in ms."""
    numbers = [int(n) for n in re.findall(r"\d+", str(case["shape"]))]
    if case["what"] == "gemm" and len(numbers) == 3:
        return "TFLOP/s", rate(times, 2.0 * numbers[0] * numbers[1] * numbers[2] / 1e12)
    if case["what"] in ("copy", "host", "p2p", "l2"):
        return "GB/s", rate(times, amount(str(case["shape"])) * _ARRAYS.get(way, 1) / 1e9)
    if case["what"] in _CALLS:
        return "us", spread([t * 1e3 / _CALLS[str(case["what"])] for t in times])
    return "ms", spread(times)


def failed(case: Mapping[str, Any], device: str, ended: Ended, outcome: Outcome | None = None) -> Measurement:
    state: Outcome = outcome or (ended.state if ended.state in ("hung", "out-of-memory") else "crashed")
    return measurement(case, None, device, outcome=state, detail=word(ended.detail or ended.state, 300))


def not_run(case: Mapping[str, Any], device: str, why: str) -> Measurement:
    return measurement(case, None, device, outcome="not-run", detail=why)


def word(value: Any, limit: int = 120) -> str:
    return "".join(c for c in str(value if value is not None else "")[: 2 * limit] if c.isprintable())[:limit].strip()
