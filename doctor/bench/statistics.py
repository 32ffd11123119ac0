"""Medians with an interval that assumes no distribution: that of order statistics (Conover, Practical Nonparametric
Statistics, section 3.2), widened where repeats depend on each other.

>>> spread([5.0, 1.0, 3.0, 2.0, 4.0, 6.0])
Spread(p50=3.5, low=1.0, high=6.0, repeats=6, coverage=0.9687, autocorrelation=-0.0714)
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Sequence

from doctor.facts.gemm import Spread

_AIM = 0.95
_CHANCE = 1.645
"""Of a normal deviate, one-sided: 5 of 100."""


def spread(values: Sequence[float]) -> Spread | None:
    """Median, and the narrowest interval of order statistics that holds the true median in at least 95 of 100 runs;
    where no interval does, all values with the lower coverage that they have. `values` in the order of measurement.
    None without values."""
    kept = [v for v in values if math.isfinite(v) and v > 0]
    count, ordered = len(kept), sorted(kept)
    if not count:
        return None
    related = autocorrelation(kept)
    rank, coverage = 1, covered(count, 1, related)
    while rank < (count + 1) // 2 and (closer := covered(count, rank + 1, related)) >= _AIM:
        rank, coverage = rank + 1, closer
    return Spread(
        p50=statistics.median(ordered), low=ordered[rank - 1], high=ordered[count - rank], repeats=count,
        coverage=math.floor(coverage * 1e4) / 1e4, autocorrelation=None if related is None else round(related, 4),
    )  # fmt: skip


def covered(count: int, rank: int, related: float | None = None) -> float:
    """Probability that the interval from the `rank`-th smallest to the `rank`-th largest of `count` values holds the
    true median. Exact (binomial) for independent values. Where each depends on the one before, which is assumed when
    chance gives such an autocorrelation in fewer than 5 of 100 runs: the normal approximation with the variance of an
    AR(1) process, (1 + r) / (1 - r) times as large.

    >>> covered(10, 2)
    0.978515625
    """
    if related is None or related <= _CHANCE / math.sqrt(count):
        return 1 - 2 * _tails(count)[rank - 1]
    related = min(related, 0.99)
    return math.erf((count - 2 * rank + 1) / math.sqrt(2 * count * (1 + related) / (1 - related)))


@functools.lru_cache(maxsize=64)
def _tails(count: int) -> tuple[float, ...]:
    """Probability of at most 0, 1, 2 … heads of `count` tosses, up to half of them."""
    found, term, total = [], 1, 0
    for heads in range((count + 1) // 2):
        total += term
        found.append(total / 2**count)
        term = term * (count - heads) // (heads + 1)
    return tuple(found)


def autocorrelation(values: Sequence[float]) -> float | None:
    """Of ranks, from one repeat to the next: near 1 where values drift, near 0 where they are independent. None for
    fewer than four values, and where all are equal."""
    if len(values) < 4:
        return None
    ranks = _ranks(values)
    middle = (len(values) + 1) / 2
    apart = [rank - middle for rank in ranks]
    total = sum(a * a for a in apart)
    return sum(a * b for a, b in itertools.pairwise(apart)) / total if total else None


def _ranks(values: Sequence[float]) -> list[float]:
    """From 1; equal values share the mean of theirs."""
    order = sorted(values)
    first: dict[float, int] = {}
    for place, value in enumerate(order, 1):
        first.setdefault(value, place)
    last = {value: place for place, value in enumerate(order, 1)}
    return [(first[v] + last[v]) / 2 for v in values]


def rate(times_ms: Sequence[float], amount: float) -> Spread | None:
    """`amount` a second, of times in milliseconds: the fastest time makes the highest rate."""
    found = spread(times_ms)
    if found is None:
        return None
    per_second = amount * 1e3
    ends = {"p50": per_second / found.p50, "low": per_second / found.high, "high": per_second / found.low}
    return found.model_copy(update=ends)


def paired_ratio(times: Sequence[float], against: Sequence[float]) -> Spread | None:
    """Of times that were taken alternately: the median of the ratios, repeat by repeat."""
    return spread([one / other for one, other in zip(times, against, strict=False) if other > 0 and one > 0])
