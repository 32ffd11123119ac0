"""Our timer against triton's do_bench and torch.utils.benchmark: `python -m benchmarks.do_bench PYTHON [cuda:0]`.

PYTHON has torch, and for do_bench triton. The same call on the same tensors is timed by both in turn; shown is the
median of the ratios of each pair's medians, with its interval, and the time that ours took over theirs. The aim is a
median of five within 2 %, in less time. Prints rows for benchmarks/README.md.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from doctor.bench.plan import plan
from doctor.bench.runner import SCRIPT
from doctor.bench.statistics import paired_ratio
from doctor.facts.gemm import Spread
from doctor.system.user_python import Bounds, Child, environment

CHILD = Path(__file__).parent / "scripts/do_bench_child.py"
ALLOWED = 0.02
ROUNDS, REPEATS, REP_MS = 5, 100, 200


@dataclass(frozen=True)
class Row:
    """`ratio`: our result over theirs; `seconds`: what our measurement took over what theirs took."""

    case: str
    way: str
    peer: str
    ratio: Spread
    seconds: float

    @property
    def holds(self) -> bool:
        return abs(self.ratio.p50 - 1) <= ALLOWED


def rows(events: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """What the script sent; a pair that is none is left out."""
    for event in events:
        if event.get("event") != "case":
            continue
        pairs = [p for p in event.get("pairs") or () if isinstance(p, list) and len(p) == 2]
        ratio = paired_ratio([float(ours) for ours, _ in pairs], [float(theirs) for _, theirs in pairs])
        seconds = [ours / theirs for ours, theirs in event.get("seconds") or () if theirs]
        if ratio is not None and seconds:
            case, way, peer = (str(event.get(name)) for name in ("case", "way", "peer"))
            yield Row(case, way, peer, ratio, statistics.median(seconds))


def events(
    python: str, device: str, rounds: int = ROUNDS, repeats: int = REPEATS, rep_ms: int = REP_MS,
    names: Sequence[str] = ("gemm", "copy", "attention"), more: Mapping[str, str] | None = None,
) -> tuple[list[dict[str, Any]], str | None]:  # fmt: skip
    """(what the script sent, why it did not come to its end)"""
    request = {"parts": str(SCRIPT.parent), "device": device, "rounds": rounds, "repeats": repeats, "rep_ms": rep_ms}
    request["cases"] = list(plan(list(names), "quick", device).cases)
    child = Child(python, CHILD, request, environment(os.environ, more or {}), Bounds(1800.0, 300.0))
    found = list(child.events())
    return found, None if child.ended.state == "finished" else child.ended.detail or child.ended.state


def table(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    about = next((e for e in found if e.get("event") == "about"), {})
    machine = f"{about.get('device')}, torch {about.get('torch')}, triton {about.get('triton')}"
    for row in rows(found):
        interval = row.ratio
        spread = (
            f"{interval.low:.3f} to {interval.high:.3f} in {interval.coverage:.0%} of runs, {interval.repeats} pairs"
        )
        held = "yes" if row.holds else "NO"
        what = f"{row.case} {row.way} | {row.peer}"
        yield f"| {date.today()} | {machine} | {what} | {row.ratio.p50:.3f} | {spread} | {row.seconds:.2f} | {held} |"


def main() -> int:
    if len(sys.argv) not in (2, 3):
        sys.stderr.write("usage: python -m benchmarks.do_bench PYTHON [cuda:0]\n")
        return 2
    found, trouble = events(sys.argv[1], (sys.argv[2:] or ["cuda:0"])[0])
    for line in table(found):
        sys.stdout.write(line + "\n")
    if trouble:
        sys.stderr.write(f"not complete: {trouble}\n")
    return 0 if not trouble and all(row.holds for row in rows(found)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
