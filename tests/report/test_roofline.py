"""The arithmetic of a roofline, and that whatever a result file holds is drawn or left out."""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import pytest

from doctor.facts.gemm import Measurement, Spread
from doctor.report.roofline import Roofline, drawn, rooflines, work


def measured(what: str, dtype: str, shape: str, p50: float, unit: str = "TFLOP/s", **more: Any) -> Measurement:
    value = Spread(p50=p50, low=p50, high=p50, repeats=20, coverage=0.95)
    fields = {"what": what, "dtype": dtype, "shape": shape, "unit": unit, "device": "cuda:0", "value": value, **more}
    return Measurement(key=f"{what}/{dtype}/{shape}", **fields)


H200 = (
    measured("triad memory", "float64", "1024MiB", 4320.0, "GB/s", peak=4800.0),
    measured("gemm matmul", "bfloat16", "8192x8192x8192", 700.0, peak=989.0),
    measured("gemm linear", "bfloat16", "16x8192x8192", 60.0, peak=989.0),
)


def lines(*those: Measurement) -> Roofline:
    (found,) = rooflines(those)
    return found


@pytest.mark.parametrize(
    ("what", "dtype", "shape", "expected"),
    [
        ("gemm matmul", "bfloat16", "8192x8192x8192", (2 * 8192**3, 3 * 2 * 8192**2)),
        ("gemm matmul", "float8", "16x32x64", (2 * 16 * 32 * 64, 16 * 64 + 32 * 64 + 2 * 16 * 32)),
        ("gemm matmul", "float4", "16x32x64", (2 * 16 * 32 * 64, (16 * 64 + 32 * 64) / 2 + 2 * 16 * 32)),
        ("gemm matmul-amax", "float8", "16x32x64", None),  # it reads more: A in bfloat16
        ("attention forward", "float32", "1x4x256x64", (2 * 4 * 256 * 256 * 64, 4 * 4 * 4 * 256 * 64)),
        ("attention backward", "float32", "1x4x256x64", None),
        ("gemm matmul", "int3", "8x8x8", None),
        ("gemm matmul", "float32", "8x8", None),
        ("gemm matmul", "float32", "0x8x8", None),
        ("gemm matmul", "float32", "9" * 5000 + "x8x8", None),
    ],
)
def test_operations_and_least_bytes(what: str, dtype: str, shape: str, expected: tuple[float, float] | None) -> None:
    assert work(measured(what, dtype, shape, 1.0)) == expected


def test_a_large_product_is_bound_by_compute_and_a_narrow_one_by_memory() -> None:
    found = lines(*H200)
    triad, large, narrow = found.points
    assert (large.by, large.limit) == ("compute", 989.0)
    assert narrow.by == "memory"
    assert narrow.limit == pytest.approx(4800 * (2 * 16 * 8192**2) / (2 * (16 * 8192 + 8192**2 + 16 * 8192)) / 1e3)
    assert triad.by == "memory"
    assert triad.tflops / (triad.limit or 1) == pytest.approx(0.9)
    assert found.roofs.measured == ()


def test_without_a_known_peak_the_highest_number_is_the_roof_of_attention_too() -> None:
    attention = measured("attention forward", "bfloat16", "4x32x4096x128", 2.0, "ms")
    points = lines(measured("gemm matmul", "bfloat16", "64x64x64", 1.0), H200[0], attention).points
    assert all(point.tflops <= (point.limit or 0) * 1.000001 for point in points if "memory" not in point.name)


def test_attention_is_counted_by_its_time() -> None:
    (point,) = lines(measured("attention forward", "bfloat16", "4x32x4096x128", 2.0, "ms")).points
    assert point.tflops == pytest.approx(2 * 4 * 32 * 4096**2 * 128 / 2e-3 / 1e12)
    assert (point.limit, point.by) == (None, "")


def test_a_roof_that_was_measured_is_called_that() -> None:
    found = lines(
        measured("gemm matmul", "float32", "512x512x512", 0.1),
        measured("scale memory", "float64", "64MiB", 8.0, "GB/s"),
    )
    assert found.roofs == (8.0, {"float32": 0.1}, ("memory", "float32"))
    assert "No theoretical peak is known of memory, float32" in drawn(found)


def test_what_failed_or_has_no_operations_is_no_point() -> None:
    wrong = measured("gemm matmul", "float32", "512x512x512", 1.0, outcome="wrong")
    assert rooflines([wrong, measured("copy memory", "float64", "64MiB", 8.0, "GB/s")]) == []


@pytest.mark.parametrize("number", [0.0, -1.0, math.inf, math.nan, 1e300, 1e-300])
def test_a_number_that_is_none_is_left_out(number: float) -> None:
    assert rooflines([measured("gemm matmul", "float32", "512x512x512", number)]) == []
    assert rooflines([measured("gemm matmul", "float32", "512x512x512", 1.0, peak=number)]) == []


@pytest.mark.parametrize("those", [H200, H200[:1], H200[1:]])
def test_all_that_is_drawn_lies_within_the_picture(those: tuple[Measurement, ...]) -> None:
    (picture,) = ElementTree.fromstring(f"<div>{drawn(lines(*those))}</div>").iter("svg")
    _, _, wide, high = map(float, str(picture.get("viewBox")).split())
    for element in picture.iter():
        for name, most in (("x1", wide), ("x2", wide), ("cx", wide), ("y1", high), ("y2", high), ("cy", high)):
            assert 0 <= float(element.get(name, 0)) <= most, (element.tag, name)
