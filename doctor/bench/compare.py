"""Two results side by side: what became faster or slower, beyond what the spread of both explains."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from doctor.facts.gemm import Measurement

Verdict = Literal["same", "better", "worse", "uncertain", "only-a", "only-b", "incomparable"]
_TIMES = ("us", "ms", "s")


@dataclass(frozen=True)
class Row:
    """`change`: B's median over A's, as it was measured (0.9 of TFLOP/s is slower, 0.9 of ms is faster); of several
    pairs the median of each number. `same`: no difference was shown; `uncertain`: too few or too dependent repeats."""

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


def compare_pairs(pairs: Sequence[tuple[Sequence[Measurement], Sequence[Measurement]]]) -> tuple[Row, ...]:
    """Runs of A and B in turn: a difference is one when the intervals part in every pair, to the same side."""
    of_case: dict[str, list[Row]] = {}
    for a, b in pairs:
        for row in compare(a, b):
            of_case.setdefault(row.key, []).append(row)
    return tuple(_together(rows, len(pairs)) for rows in of_case.values())


def _together(rows: Sequence[Row], pairs: int) -> Row:
    verdicts = {row.verdict for row in rows}
    changes = [row.change for row in rows if row.change is not None]
    if len(rows) < pairs or len(changes) < pairs:
        odd = next((row for row in rows if row.change is None), rows[0])
        note = odd.note or f"only in {len(changes)} of {pairs} pairs"
        return odd if pairs == 1 else Row(odd.key, odd.unit, "incomparable", note=note)
    if len(rows) == 1:
        return rows[0]
    order: tuple[Verdict, ...] = ("incomparable", "uncertain", "same")
    found = next((v for v in order if v in verdicts), rows[0].verdict if len(verdicts) == 1 else "same")
    parted = sum(row.verdict in ("better", "worse") for row in rows)
    first = next((row.note for row in rows if row.note), None)
    note = first or f"intervals part in {parted} of {pairs} pairs"
    a, b = (statistics.median(v for row in rows if (v := getattr(row, side)) is not None) for side in ("a", "b"))
    return Row(rows[0].key, rows[0].unit, found, a, b, statistics.median(changes), note)


def _row(one: Measurement, other: Measurement | None) -> Row:
    if other is None:
        return Row(one.key, one.unit, "only-a", a=one.value.p50 if one.value else None)
    if one.value is None or other.value is None or one.unit != other.unit:
        note = f"{one.outcome} in A, {other.outcome} in B" if one.unit == other.unit else f"{one.unit} and {other.unit}"
        return Row(one.key, one.unit, "incomparable", note=note)
    verdict, why = _verdict(one, other)
    return Row(one.key, one.unit, verdict, one.value.p50, other.value.p50, other.value.p50 / one.value.p50, why)


def _verdict(one: Measurement, other: Measurement) -> tuple[Verdict, str | None]:
    assert one.value is not None
    assert other.value is not None
    if "wrong" in (one.outcome, other.outcome):
        return "incomparable", "wrong values"
    if not one.value.firm or not other.value.firm:
        low = min((one.value, other.value), key=lambda value: value.coverage)
        related = "" if low.autocorrelation is None else f", autocorrelation {low.autocorrelation:.2f}"
        return "uncertain", f"an interval covers only {low.coverage:.0%} ({low.repeats} repeats{related})"
    if one.value.high >= other.value.low and other.value.high >= one.value.low:
        return "same", None
    held = [f"{', '.join(m.clocks.throttle)} in {side}" for side, m in (("A", one), ("B", other)) if m.clocks.throttle]
    faster = (other.value.p50 > one.value.p50) != (one.unit in _TIMES)
    return ("better" if faster else "worse"), f"throttled: {'; '.join(held)}" if held else None
