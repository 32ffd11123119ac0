"""`doctor bench` as text: each number with its spread, what it is held against, and the state of the GPU beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doctor.facts.gemm import Clocks, Measurement
from doctor.findings import Finding


def text(
    software: Mapping[str, str],
    measurements: Sequence[Measurement],
    baselines: Mapping[str, Any],
    findings: Sequence[Finding],
    trouble: str | None = None,
) -> str:
    """`baselines`: key -> {value, unit, …}; a key without one has "no baseline"."""
    lines = [" ".join(f"{name} {version}" for name, version in software.items())]
    device = None
    for one in measurements:
        if one.device != device:
            device = one.device
            lines += ["", device]
        lines += list(_row(one, baselines.get(one.key)))
    if trouble:
        lines += ["", f"Not complete: {trouble}" if measurements else f"Nothing could be measured: {trouble}"]
    for finding in findings:
        lines += ["", f"{finding.severity.value}: {finding.summary} [{finding.rule}]"]
        lines += [f"    {e.text} ({e.source})" for e in finding.evidence]
        for fix in finding.fixes:
            lines.append(f"    fix: {fix.text}" + (f" $ {' '.join(fix.command)}" if fix.command else ""))
    return "\n".join(lines) + "\n"


def _row(one: Measurement, baseline: Any) -> Iterator[str]:
    name = f"  {one.what} {one.dtype} {one.shape}"
    if one.value is None:
        yield f"{name}: {one.outcome}" + (f": {one.detail}" if one.detail else "")
        return
    value = one.value
    held = f"baseline {baseline['value']:.4g}" if isinstance(baseline, Mapping) else "no baseline"
    yield (
        f"{name}: {value.p50:.4g} {one.unit} ({value.low:.4g} to {value.high:.4g}, {value.repeats} repeats; {held})"
        + (" WRONG VALUES" if one.outcome == "wrong" else "")
    )
    if one.ratio:
        ratio = one.ratio
        yield f"    takes {ratio.p50:.3f} times {one.against} ({ratio.low:.3f} to {ratio.high:.3f})"
    clocks = _clocks(one.clocks)
    if clocks:
        yield f"    at {clocks}"


def _clocks(clocks: Clocks) -> str:
    told = [
        f"{clocks.sm_mhz} MHz" if clocks.sm_mhz is not None else "",
        f"memory {clocks.memory_mhz} MHz" if clocks.memory_mhz is not None else "",
        f"{clocks.power_w:.0f} W" if clocks.power_w is not None else "",
        f"{clocks.temperature_c:.0f} C" if clocks.temperature_c is not None else "",
        ""
        if clocks.throttle is None
        else f"throttled by {', '.join(clocks.throttle)}"
        if clocks.throttle
        else "not throttled",
    ]
    return ", ".join(word for word in told if word)
