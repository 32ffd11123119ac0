"""What a child sent -> measurements. Nothing that it sends is trusted to have the right shape."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from doctor.bench.statistics import paired_ratio, rate, spread
from doctor.facts.gemm import Clocks, Measurement, Outcome, Spread
from doctor.system.user_python import Ended

_MOST_TIMES = 4000


@dataclass(frozen=True)
class Device:
    """`torch`: `cuda:0` or `cpu`."""

    torch: str
    name: str
    pci: str | None = None


@dataclass
class Results:
    """What was measured. `software`: torch's version and what it was built for; `trouble`: why nothing was."""

    measurements: list[Measurement] = field(default_factory=list)
    devices: tuple[Device, ...] = ()
    software: dict[str, str] = field(default_factory=dict)
    trouble: str | None = None


def key_of(case: Mapping[str, Any]) -> str:
    return f"{case['what']}/{case['dtype']}/{case['shape']}"


_NAMES = {
    ("gemm", "matmul"): "gemm matmul",
    ("gemm", "linear"): "gemm linear",
    ("gemm", "linear-bias"): "gemm linear-bias",
    ("copy", "hbm"): "copy memory",
    ("host", "to-device"): "copy to-device",
    ("host", "to-host"): "copy to-host",
    ("attention", "forward"): "attention forward",
    ("attention", "backward"): "attention backward",
    ("flex", "attention"): "flex attention",
    ("compile", "model"): "compile model",
}
_AGAINST = {"linear": "matmul", "linear-bias": "matmul", "backward": "forward"}


def measured(
    case: Mapping[str, Any], event: Mapping[str, Any], device: str, busy: Clocks, together: int = 1
) -> list[Measurement]:
    """One for each way of the case, of which `together` devices ran at once. What a child sends is not trusted to have
    the right shape."""
    if event.get("outcome") in ("refused", "out-of-memory"):
        outcome = cast(Outcome, event["outcome"])
        return [measurement(case, None, device, outcome=outcome, detail=word(event.get("detail"), 600))]
    wrong, error = event.get("wrong"), event.get("error")
    sent = event.get("times")
    times = {str(n): times_of(t) for n, t in sent.items()} if isinstance(sent, dict) else {}
    found = []
    for way, taken in times.items():
        unit, value = _value(case, way, taken)
        against = _AGAINST.get(way)
        paired = paired_ratio(taken, times[against]) if against in times else None
        found.append(
            measurement(
                case, way, device, unit=unit, value=value, clocks=busy,
                outcome="wrong" if wrong else "ran",
                detail=word(wrong, 300) if wrong else None,
                relative_error=float(error) if isinstance(error, (int, float)) else None,
                ratio=paired, against=named(case, str(against)) if paired else None,
                method=f"{len(taken)} repeats, warmed up, cold cache, normal input, ways in turn, {together} at once",
            )
        )  # fmt: skip
    return found or [measurement(case, None, device, outcome="refused", detail="the child sent no times")]


def times_of(sent: Any) -> list[float]:
    return [float(t) for t in sent[:_MOST_TIMES] if isinstance(t, (int, float))] if isinstance(sent, list) else []


def named(case: Mapping[str, Any], way: str | None) -> str:
    what = str(case["what"])
    return _NAMES.get((what, way or ""), f"collective {what}" if "_" in what else what)


def measurement(case: Mapping[str, Any], way: str | None, device: str, unit: str = "-", **more: Any) -> Measurement:
    what, dtype, shape = named(case, way), str(case["dtype"]), str(case["shape"])
    key = f"{what}/{dtype}/{shape}@{device}"
    return Measurement(key=key, what=what, dtype=dtype, shape=shape, device=device, unit=unit, **more)


def _value(case: Mapping[str, Any], way: str, times: Sequence[float]) -> tuple[str, Spread | None]:
    """(unit, value): products in TFLOP/s, copies in GB/s (a copy in memory reads and writes), the rest in ms."""
    numbers = [int(n) for n in re.findall(r"\d+", str(case["shape"]))]
    if case["what"] == "gemm" and len(numbers) == 3:
        return "TFLOP/s", rate(times, 2.0 * numbers[0] * numbers[1] * numbers[2] / 1e12)
    if case["what"] in ("copy", "host"):
        return "GB/s", rate(times, numbers[0] * (1 << 20) * (2 if way == "hbm" else 1) / 1e9)
    return "ms", spread(times)


def failed(case: Mapping[str, Any], device: str, ended: Ended, outcome: Outcome | None = None) -> Measurement:
    """Of a case that its process did not live through."""
    state: Outcome = outcome or (ended.state if ended.state in ("hung", "out-of-memory") else "crashed")
    return measurement(case, None, device, outcome=state, detail=word(ended.detail or ended.state, 300))


def not_run(case: Mapping[str, Any], device: str, why: str) -> Measurement:
    return measurement(case, None, device, outcome="not-run", detail=why)


def word(value: Any, limit: int = 120) -> str:
    return "".join(c for c in str(value if value is not None else "")[: 2 * limit] if c.isprintable())[:limit].strip()
