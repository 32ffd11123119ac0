"""Measured products, attention and memory bandwidth -> a roofline of each device: how many operations a byte allows, how
many were done, and the limit there (S. Williams, A. Waterman, D. Patterson: Roofline, CACM 52(4), 2009).

The bytes are the least that the case can move: each operand is read once, each result is written once. A roof is the
theoretical peak where the knowledge base has one; else the highest measured number, and it is called that.
"""

# ruff: noqa: E501 -- markup
from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from doctor.facts.gemm import Measurement
from doctor.report.markup import text

_BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "float4": 0.5}
_RESULT = {"float8": 2, "float4": 2}
"""Bytes of one element of the result, where it has another type: bfloat16."""
_STREAM = {"scale memory": 1 / 16, "triad memory": 2 / 24}
"""Operations for each byte, in float64: one for two elements, two for three (BabelStream)."""
_WIDE, _HIGH, _LEFT, _RIGHT, _BELOW, _TOP = 360, 250, 46, 20, 34, 18


class Point(NamedTuple):
    """One case: operations for each byte, TFLOP/s that were done, and those that the roofs allow."""

    name: str
    intensity: float
    tflops: float
    limit: float | None
    by: str
    """`memory` or `compute`: which roof is the lower one here; "" where a roof is not known."""


class Roofs(NamedTuple):
    """Of one device. `tflops` by type. `measured`: those that are no theoretical peak."""

    memory_gb_s: float | None
    tflops: Mapping[str, float]
    measured: tuple[str, ...]


class Roofline(NamedTuple):
    device: str
    roofs: Roofs
    points: tuple[Point, ...]


def rooflines(measurements: Sequence[Measurement]) -> list[Roofline]:
    """Of each device with a case whose operations and bytes are known."""
    found = []
    for device in dict.fromkeys(m.device for m in measurements):
        those = [m for m in measurements if m.device == device and m.outcome == "ran" and _is_sound(m)]
        roofs = _roofs(those)
        points = tuple(point for one in those if (point := _point(one, roofs)))
        if points:
            found.append(Roofline(device, roofs, points))
    return found


def _is_sound(one: Measurement) -> bool:
    """Whether it has a number that a logarithm takes: a result file may hold anything."""
    numbers = [one.value.p50 if one.value else 0.0, *([one.peak] if one.peak is not None else [])]
    return all(1e-12 < number < 1e12 for number in numbers)


def work(one: Measurement) -> tuple[float, float] | None:
    """(operations, least bytes) of a product MxNxK or of causal attention BxHxSxD; None for other cases."""
    sizes = [int(n) for n in one.shape.split("x") if re.fullmatch(r"[1-9]\d{0,6}", n)]
    size = _BYTES.get(one.dtype)
    if size is None or len(sizes) != one.shape.count("x") + 1:
        return None
    if one.what.startswith("gemm") and one.what != "gemm matmul-amax" and len(sizes) == 3:
        m, n, k = sizes
        return 2.0 * m * n * k, float(size * (m * k + n * k) + _RESULT.get(one.dtype, size) * m * n)
    if one.what == "attention forward" and len(sizes) == 4:
        batch, heads, length, width = sizes  # two products of SxSxD, of which causal attention needs half
        return 2.0 * batch * heads * length * length * width, 4.0 * size * batch * heads * length * width
    return None


def _done(one: Measurement) -> tuple[float, float] | None:
    """(operations for each byte, TFLOP/s)"""
    if one.value is None:
        return None
    if one.what in _STREAM and one.dtype == "float64" and one.unit == "GB/s":
        return _STREAM[one.what], one.value.p50 * _STREAM[one.what] / 1e3
    needed = work(one)
    if needed is None:
        return None
    if one.unit == "TFLOP/s":
        return needed[0] / needed[1], one.value.p50
    return (needed[0] / needed[1], needed[0] / one.value.p50 / 1e9) if one.unit == "ms" else None


def _roofs(those: Sequence[Measurement]) -> Roofs:
    memory = [m for m in those if m.what.endswith(" memory") and m.unit == "GB/s"]
    products = [m for m in those if m.what.startswith("gemm") and m.unit == "TFLOP/s"]
    measured = []
    bandwidth = max((m.peak for m in memory if m.peak), default=None)
    if bandwidth is None and memory:
        bandwidth = max(m.value.p50 for m in memory if m.value)
        measured.append("memory")
    tflops = {}
    for kind in dict.fromkeys(m.dtype for m in products):
        peaks = [m.peak for m in products if m.dtype == kind and m.peak]
        done = [found[1] for m in those if m.dtype == kind and m.what not in _STREAM and (found := _done(m))]
        if peaks or done:
            tflops[kind] = max(peaks or done)
            measured += [] if peaks else [kind]
    return Roofs(bandwidth, tflops, tuple(measured))


def _point(one: Measurement, roofs: Roofs) -> Point | None:
    done = _done(one)
    if done is None:
        return None
    by_memory = roofs.memory_gb_s * done[0] / 1e3 if roofs.memory_gb_s else None
    by_compute = None if one.what in _STREAM else roofs.tflops.get(one.dtype)
    known = [limit for limit in (by_memory, by_compute) if limit is not None]
    both = one.what in _STREAM or len(known) == 2
    limit = min(known) if known and both else None
    by = "" if limit is None else "memory" if limit == by_memory else "compute"
    return Point(f"{one.what} {one.dtype} {one.shape}", done[0], done[1], limit, by)


class _Scale(NamedTuple):
    """Both axes are logarithmic: exponents of ten at their ends."""

    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, intensity: float, tflops: float) -> tuple[float, float]:
        x = (math.log10(intensity) - self.x[0]) / (self.x[1] - self.x[0])
        y = (math.log10(tflops) - self.y[0]) / (self.y[1] - self.y[0])
        return _LEFT + x * (_WIDE - _LEFT - _RIGHT), _HIGH - _BELOW - y * (_HIGH - _BELOW - _TOP)


def _scale(line: Roofline) -> _Scale:
    roofs = line.roofs
    ridges = [t * 1e3 / roofs.memory_gb_s for t in roofs.tflops.values()] if roofs.memory_gb_s else []
    xs = [math.log10(v) for v in (*(p.intensity for p in line.points), *ridges)]
    ys = [math.log10(v) for v in (*(p.tflops for p in line.points), *roofs.tflops.values())]
    return _Scale((math.floor(min(xs)), math.floor(max(xs)) + 1), (math.floor(min(ys)), math.floor(max(ys)) + 1))


def drawn(line: Roofline) -> str:
    """The picture of one device, and a table that says the same in words."""
    scale = _scale(line)
    parts = [*_axes(scale), *_drawn_roofs(line.roofs, scale), *(_dot(p, scale) for p in line.points)]
    label = text(f"Roofline of {line.device}: {len(line.points)} cases")
    svg = f'<svg class="fit" role="img" aria-label="{label}" viewBox="0 0 {_WIDE} {_HIGH}">\n{"".join(parts)}</svg>'
    return f"<figure>{svg}<figcaption>{label}. {text(_about(line.roofs))}</figcaption></figure>\n{_table(line)}"


def _about(roofs: Roofs) -> str:
    rows = [f"memory {roofs.memory_gb_s:.4g} GB/s"] if roofs.memory_gb_s else []
    rows += [f"{kind} {most:.4g} TFLOP/s" for kind, most in roofs.tflops.items()]
    about = f"Roofs: {', '.join(rows) or 'not known'}."
    if roofs.measured:
        about += (
            f" No theoretical peak is known of {', '.join(roofs.measured)}: the highest measured number is the roof."
        )
    return about


def _axes(scale: _Scale) -> Iterator[str]:
    for power in range(math.ceil(scale.x[0]), math.floor(scale.x[1]) + 1):
        x, _ = scale.at(10.0**power, 10.0 ** scale.y[0])
        yield f'<line class="grid" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{_HIGH - _BELOW}"/>'
        yield f'<text class="soft" x="{x:.1f}" y="{_HIGH - _BELOW + 14}" text-anchor="middle">{10.0**power:g}</text>\n'
    for power in range(math.ceil(scale.y[0]), math.floor(scale.y[1]) + 1):
        _, y = scale.at(10.0 ** scale.x[0], 10.0**power)
        yield f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDE - _RIGHT}" y2="{y:.1f}"/>'
        yield f'<text class="soft" x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>\n'
    yield f'<text x="{_WIDE - _RIGHT}" y="{_HIGH - 4}" text-anchor="end">operations for each byte (TFLOP/s upwards)</text>\n'


def _drawn_roofs(roofs: Roofs, scale: _Scale) -> Iterator[str]:
    """The memory's roof ends at the highest of the others, and each of them begins where it meets the memory's."""
    low, high = 10.0 ** scale.x[0], 10.0 ** scale.x[1]
    bandwidth = roofs.memory_gb_s
    if bandwidth:
        floor, top = 10.0 ** scale.y[0], max(roofs.tflops.values(), default=10.0 ** scale.y[1])
        ends = [max(low, floor * 1e3 / bandwidth), min(high, top * 1e3 / bandwidth)]
        if ends[0] < ends[1]:
            start, end = (scale.at(x, x * bandwidth / 1e3) for x in ends)
            yield _line(start, end, "memory")
    for kind, most in roofs.tflops.items():
        begins = max(low, most * 1e3 / bandwidth) if bandwidth else low
        yield _line(scale.at(min(begins, high), most), scale.at(high, most), kind)


def _line(start: tuple[float, float], end: tuple[float, float], name: str) -> str:
    line = f'<line class="base" x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"/>'
    return f'<g><title>{text(name)}</title>{line}<text x="{end[0]:.1f}" y="{end[1] - 4:.1f}" text-anchor="end">{text(name)}</text></g>\n'


def _dot(point: Point, scale: _Scale) -> str:
    x, y = scale.at(point.intensity, point.tflops)
    return f'<g><title>{text(point.name)}: {point.tflops:.4g} TFLOP/s</title><circle class="bar" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/></g>\n'


_HEADS = ("Case", "Operations for each byte", "TFLOP/s", "Limit", "Share of the limit")


def _table(line: Roofline) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in _HEADS)
    rows = "".join(_row(point) for point in line.points)
    return (
        f'<table class="rows">\n<caption>{text(line.device)}</caption>\n<tr class="head">{head}</tr>\n{rows}</table>\n'
    )


def _row(point: Point) -> str:
    limit = f"{point.limit:.4g} by {point.by}" if point.limit else "not known"
    share = f"{point.tflops / point.limit:.0%}" if point.limit else "not known"
    cells = (point.name, f"{point.intensity:.4g}", f"{point.tflops:.4g}", limit, share)
    written = "".join(f'<td data-label="{h}">{text(c)}</td>' for h, c in zip(_HEADS, cells, strict=True))
    return f"<tr>{written}</tr>\n"
