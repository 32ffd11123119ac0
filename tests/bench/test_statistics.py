"""Medians, their intervals, and comparison of results by them."""

from __future__ import annotations

import json
import math
import random
import statistics
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.bench.compare import compare, compare_pairs
from doctor.bench.statistics import autocorrelation, covered, paired_ratio, rate, spread
from doctor.facts.gemm import Measurement, Spread
from tests.each import each

RECORDED = json.loads((Path(__file__).parent / "recorded/cpu_matmul_times.json").read_text(encoding="utf-8"))
"""Milliseconds of 512x512x512 in float32 by torch 2.13.0 for CPU, on a machine with some and with much other work."""
times = st.lists(st.floats(min_value=1e-3, max_value=1e3), min_size=1, max_size=200)


@given(times)
def test_the_interval_is_of_measured_values_around_the_median(values: list[float]) -> None:
    found = spread(values)
    assert found is not None
    assert {found.low, found.high} <= set(values)
    assert found.low <= found.p50 <= found.high
    assert 0 <= found.coverage < 1


@given(times, st.floats(min_value=0.1, max_value=10))
def test_a_unit_does_not_change_what_is_known(values: list[float], factor: float) -> None:
    one, other = spread(values), spread([v * factor for v in values])
    assert one is not None
    assert other is not None
    assert other.low == pytest.approx(one.low * factor)
    assert other.repeats == one.repeats


@given(times)
def test_a_rate_has_the_coverage_of_its_times(values: list[float]) -> None:
    time, per_second = spread(values), rate(values, 1.0)
    assert time is not None
    assert per_second is not None
    assert per_second.coverage == time.coverage
    assert per_second.low <= per_second.p50 <= per_second.high


@each("count, rank, expected", [(5, 1, 0.9375), (6, 1, 0.96875), (10, 2, 0.978515625), (100, 40, 0.9648)])
def test_coverage_is_that_of_a_binomial(count: int, rank: int, expected: float) -> None:
    assert covered(count, rank) == pytest.approx(expected, abs=1e-4)


@each("count", [6, 10, 31, 100, 2000])
def test_the_narrowest_interval_that_covers_95_of_100_is_taken(count: int) -> None:
    dice = random.Random(count)
    values = [dice.random() + 1 for _ in range(count)]
    found = spread(values)
    assert found is not None
    assert found.firm
    rank = sorted(values).index(found.low) + 1
    assert covered(count, rank + 1, found.autocorrelation) < 0.95


@each("related, least", [(0.0, 0.94), (0.5, 0.93), (0.9, 0.93)])
def test_the_interval_holds_the_true_median_as_often_as_it_says(related: float, least: float) -> None:
    """Also where each value depends on the one before: AR(1) with a median of 1."""
    dice, held, firm = random.Random(7), 0, 0
    for _ in range(600):
        level, values = dice.gauss(0, 1), []
        for _ in range(100):
            level = related * level + math.sqrt(1 - related**2) * dice.gauss(0, 1)
            values.append(math.exp(level / 10))
        found = spread(values)
        assert found is not None
        firm += found.firm
        held += found.firm and found.low <= 1.0 <= found.high
    assert firm > 100
    assert held / firm >= least


def test_a_drift_is_not_taken_for_precision() -> None:
    ramp = spread([1 + 0.001 * n for n in range(100)])
    assert ramp is not None
    assert [ramp.low, ramp.high] == pytest.approx([1.0, 1.099])
    assert not ramp.firm


@each("values, expected", [([1.0, 2.0, 3.0], None), ([2.0] * 9, None), ([1.0, 2.0] * 20, -0.975)])
def test_autocorrelation_of_few_equal_and_alternating_values(values: list[float], expected: float | None) -> None:
    assert autocorrelation(values) == (expected if expected is None else pytest.approx(expected))


def test_few_values_say_how_little_they_cover_and_none_gives_none() -> None:
    assert spread([3.0, 1.0, 2.0]) == Spread(p50=2.0, low=1.0, high=3.0, repeats=3, coverage=0.75)
    assert spread([]) is None
    assert spread([float("nan"), float("inf"), 0.0, -1.0]) is None


def test_the_fastest_time_is_the_highest_rate() -> None:
    assert rate([2.0, 1.0, 4.0], 8.0) == Spread(p50=4000.0, low=2000.0, high=8000.0, repeats=3, coverage=0.75)


def test_pairs_cancel_what_both_share() -> None:
    drift = [1.0 + 0.1 * n for n in range(50)]
    found = paired_ratio([2 * d for d in drift], drift)
    assert found is not None
    assert (round(found.low, 9), round(found.high, 9)) == (2.0, 2.0)


def test_recorded_times_of_a_busy_machine_are_wider_and_related() -> None:
    light, busy = spread(RECORDED["light"]), spread(RECORDED["busy"])
    assert light is not None
    assert busy is not None
    assert light.p50 == pytest.approx(statistics.median(RECORDED["light"]))
    assert (busy.high - busy.low) / busy.p50 > (light.high - light.low) / light.p50


# --- comparison


def one(
    key: str, p50: float, unit: str = "TFLOP/s", half: float = 1.0, coverage: float = 0.96, **more: str
) -> Measurement:
    value = Spread(p50=p50, low=p50 - half, high=p50 + half, repeats=100, coverage=coverage)
    told = {"what": key, "dtype": "bfloat16", "shape": "-", "device": "cpu", "unit": unit, **more}
    return Measurement.model_validate({"key": key, "value": value, **told})


def test_comparison_says_worse_only_where_the_intervals_part() -> None:
    a = [one("gemm", 100), one("near", 100), one("ms", 5, "ms", 0.1), one("gone", 1), one("bad", 9)]
    b = [one("gemm", 90), one("near", 98.5), one("ms", 6, "ms", 0.1), one("new", 1), one("bad", 9, outcome="wrong")]
    assert {r.key: r.verdict for r in compare(a, b)} == {
        "gemm": "worse", "near": "same", "ms": "worse", "gone": "only-a", "new": "only-b", "bad": "incomparable",
    }  # fmt: skip
    assert {r.verdict for r in compare(b[2:3], a[2:3])} == {"better"}


def test_an_interval_that_covers_too_little_makes_no_difference() -> None:
    (row,) = compare([one("gemm", 100, coverage=0.75)], [one("gemm", 50)])
    assert (row.verdict, row.note) == ("uncertain", "an interval covers only 75% (100 repeats)")


@each("second, verdict", [(90.0, "worse"), (99.5, "same"), (110.0, "same")])
def test_a_difference_has_to_show_in_every_pair(second: float, verdict: str) -> None:
    (row,) = compare_pairs([([one("gemm", 100)], [one("gemm", 90)]), ([one("gemm", 100)], [one("gemm", second)])])
    assert row.verdict == verdict


def test_a_case_of_some_pairs_only_is_incomparable() -> None:
    (row,) = compare_pairs([([one("gemm", 100)], [one("gemm", 90)]), ([], [])])
    assert (row.verdict, row.note) == ("incomparable", "only in 1 of 2 pairs")
    (row,) = compare_pairs([([one("gemm", 100)], [])])
    assert row.verdict == "only-a"
