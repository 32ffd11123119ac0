"""`doctor bench` as text: each number with its interval, its baseline, and the state of the GPU beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doctor.facts.gemm import Clocks, Measurement, Spread
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
    device = method = None
    for one in measurements:
        if one.device != device:
            device, method = one.device, None
            lines += ["", device]
        if one.method and one.method != method:
            method = one.method
            lines.append(f"  # {method}")
        lines += list(_row(one, baselines.get(one.key)))
    lines += list(_matrix(measurements))
    if trouble:
        lines += ["", f"Incomplete: {trouble}" if measurements else f"Nothing was measured: {trouble}"]
    return "\n".join([*lines, *finding_lines(findings)]) + "\n"


def _matrix(measurements: Sequence[Measurement]) -> Iterator[str]:
    """Copies between GPUs, as a table of all pairs."""
    copies = {(m.device, m.what.removeprefix("p2p to ")): m for m in measurements if m.what.startswith("p2p to ")}
    gpus = sorted({name for pair in copies for name in pair}, key=lambda name: (len(name), name))
    if gpus:
        rows = [["", *gpus]]
        for one in gpus:
            found = [copies.get((one, other)) for other in gpus]
            rows.append([one, *(f"{m.value.p50:.4g}" if m and m.value else "-" for m in found)])
        yield "\nCopies between GPUs, median in GB/s of one direction (row: from, column: to)"
        yield from ("  " + "".join(f"{cell:>9}" for cell in row) for row in rows)


def finding_lines(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        yield f"\n{finding.severity.value}: {finding.summary} [{finding.rule}]"
        yield from (f"    {e.text} ({e.source})" for e in finding.evidence)
        for remedy in finding.remedies:
            commands = [f" $ {' '.join(step.command)}" for step in remedy.steps if step.command]
            yield f"    fix: {remedy.title}{''.join(commands)}"


def _row(one: Measurement, baseline: Any) -> Iterator[str]:
    name = f"  {one.what} {one.dtype} {one.shape}"
    if one.value is None:
        yield f"{name}: {one.outcome}" + (f": {one.detail}" if one.detail else "")
        return
    value = one.value
    held = f"{baseline['kind']} {baseline['value']:.4g}" if isinstance(baseline, Mapping) else "no baseline"
    yield (
        f"{name}: {value.p50:.4g} {one.unit} ({interval(value)}; {held})"
        + (" WRONG VALUES" if one.outcome == "wrong" else "")
    )
    if one.algorithm_gb_s is not None:
        yield (
            f"    bus bandwidth; at the median: algorithm bandwidth {one.algorithm_gb_s:.4g} GB/s, "
            f"{one.time_us:.4g} us for {one.size_bytes} bytes"
        )
    if one.peak:
        yield f"    {value.p50 / one.peak:.0%} of the theoretical peak, {one.peak:g} {one.unit}"
    if one.warm:
        yield f"    warm cache: {one.warm.p50:.4g} {one.unit} ({interval(one.warm)})"
    if one.variant:
        yield f"    {one.variant}"
    if one.ratio:
        ratio = one.ratio
        yield f"    {ratio.p50:.3f} times the time of {one.against}, repeat by repeat ({interval(ratio)})"
    clocks = clocks_line(one.clocks)
    if clocks:
        yield f"    at {clocks}"


def interval(value: Spread) -> str:
    related = "" if value.firm or value.autocorrelation is None else f", autocorrelation {value.autocorrelation:.2f}"
    return f"{value.low:.4g} to {value.high:.4g} in {value.coverage:.0%} of runs, {value.repeats} repeats{related}"


def clocks_line(clocks: Clocks) -> str:
    low, high = clocks.sm_mhz, clocks.sm_mhz_highest
    parts = [
        "" if low is None else f"{low} to {high} MHz" if high and high > low else f"{low} MHz",
        f"memory {clocks.memory_mhz} MHz" if clocks.memory_mhz is not None else "",
        f"{clocks.power_w:.0f} W" if clocks.power_w is not None else "",
        f"{clocks.temperature_c:.0f} C" if clocks.temperature_c is not None else "",
        ""
        if clocks.throttle is None
        else f"THROTTLED by {', '.join(clocks.throttle)} in {clocks.throttled_readings} of {clocks.readings} readings"
        if clocks.throttle
        else "not throttled",
    ]
    return ", ".join(word for word in parts if word)
