"""Medians with an interval that assumes no distribution: that of order statistics (Conover, Practical Nonparametric
Statistics, section 3.2).

>>> spread([5.0, 1.0, 3.0, 2.0, 4.0])
Spread(p50=3.0, low=1.0, high=5.0, repeats=5)
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from doctor.facts.gemm import Spread

_Z = 1.96
"""95 of 100."""


def spread(values: Sequence[float]) -> Spread | None:
    """Median, and the interval that holds the true median in 95 of 100 runs; with fewer than 6 values all of them.
    None without values."""
    ordered = sorted(v for v in values if math.isfinite(v) and v > 0)
    count = len(ordered)
    if not count:
        return None
    half = _Z * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - half) - 1) if count >= 6 else 0
    high = min(count - 1, math.ceil(count / 2 + half)) if count >= 6 else count - 1
    return Spread(p50=statistics.median(ordered), low=ordered[low], high=ordered[high], repeats=count)


def rate(times_ms: Sequence[float], amount: float) -> Spread | None:
    """`amount` a second, of times in milliseconds: the fastest time makes the highest rate."""
    found = spread(times_ms)
    if found is None:
        return None
    per_second = amount * 1e3
    return Spread(
        p50=per_second / found.p50, low=per_second / found.high, high=per_second / found.low, repeats=found.repeats
    )


def paired_ratio(times: Sequence[float], against: Sequence[float]) -> Spread | None:
    """Of times that were taken alternately: the median of the ratios, repeat by repeat."""
    return spread([one / other for one, other in zip(times, against, strict=False) if other > 0 and one > 0])
