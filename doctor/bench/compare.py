"""Two results side by side: what became faster or slower, beyond what the spread of both explains."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from doctor.facts.gemm import Measurement

Verdict = Literal["same", "better", "worse", "only-a", "only-b", "incomparable"]


@dataclass(frozen=True)
class Row:
    """`change`: B's median over A's, as it was measured (0.9 of TFLOP/s is slower, 0.9 of ms is faster)."""

    key: str
    unit: str
    verdict: Verdict
    a: float | None = None
    b: float | None = None
    change: float | None = None
    note: str | None = None


def compare(a: Sequence[Measurement], b: Sequence[Measurement]) -> tuple[Row, ...]:
    """One row a case. `better` and `worse` only where the intervals do not touch."""
    first, second = {m.key: m for m in a}, {m.key: m for m in b}
    rows = [_row(one, second.get(key)) for key, one in first.items()]
    rows += [
        Row(key, m.unit, "only-b", b=m.value.p50 if m.value else None) for key, m in second.items() if key not in first
    ]
    return tuple(rows)


def _row(one: Measurement, other: Measurement | None) -> Row:
    if other is None:
        return Row(one.key, one.unit, "only-a", a=one.value.p50 if one.value else None)
    if one.value is None or other.value is None or one.unit != other.unit:
        note = f"{one.outcome} in A, {other.outcome} in B" if one.unit == other.unit else f"{one.unit} and {other.unit}"
        return Row(one.key, one.unit, "incomparable", note=note)
    apart = one.value.high < other.value.low or other.value.high < one.value.low
    up = other.value.p50 > one.value.p50
    lower_is_better = bool(re.fullmatch(r"(?:us|ms|s)", one.unit))
    verdict: Verdict = "same" if not apart else "better" if up != lower_is_better else "worse"
    if "wrong" in (one.outcome, other.outcome):
        verdict = "incomparable"
    said = "wrong values" if verdict == "incomparable" else None
    return Row(one.key, one.unit, verdict, one.value.p50, other.value.p50, other.value.p50 / one.value.p50, said)
