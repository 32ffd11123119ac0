"""Collectives: one child for each rank, all side by side; times and bandwidths as nccl-tests counts them."""

from __future__ import annotations

import secrets
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from doctor.bench import clocks
from doctor.bench.plan import LATE
from doctor.bench.results import Device, Results, amount, failed, key_of, measured, measurement, not_run, times_of, word
from doctor.bench.statistics import rate, spread
from doctor.facts.gemm import Clocks, Measurement
from doctor.findings import Progress

if TYPE_CHECKING:
    from doctor.bench.plan import Plan
    from doctor.bench.runner import Runner
    from doctor.system.user_python import Child


def together(runner: Runner, plan: Plan, results: Results, build: str, scratch: str) -> Iterator[Progress]:
    """All ranks side by side. Back to back the mean over the ranks counts, as nccl-tests does by default (-a 1); of a
    single call the slowest rank, since a collective is over when all are."""
    gpus = [d for d in results.devices if d.torch != "cpu"]
    world = len(gpus) or 2
    devices = gpus or [*results.devices[:1], *results.devices[:1]]
    label = f"cuda:0-{world - 1}" if gpus else f"cpu x{world}"
    allowed = min(plan.reserved_s or max(plan.total_s, 60.0), runner.left())
    if allowed <= 1:
        why = LATE
        results.measurements += [not_run(case, label, why) for case in plan.collectives]
        return
    init = f"file://{scratch}/meet-{secrets.token_hex(8)}"
    ranks = []
    for rank, device in enumerate(devices):
        request = {"mode": "collective", "rank": rank, "world": world, "device": device.torch, "init": init}
        request |= {"cases": plan.collectives, "repeats": plan.repeats, "budget_s": plan.budget_s}
        request |= {"seen": f"{scratch}/seen-rank{rank}-", "timeout_s": min(60.0, allowed)}
        request["flush"] = device.flush()[0]
        watch = clocks.Watch(runner.system, device.pci, build, device.part)
        ranks.append(Rank(runner.child(request, allowed), watch, scratch))
    yield Progress(f"{label} collectives", 0.0, {"left": len(plan.collectives)})
    _side_by_side(runner, ranks)
    results.measurements += _results(plan, ranks, label, world)


@dataclass
class Rank:
    """One child, what watches its GPU, and what it sent: by case, its event and the clocks that it was measured at."""

    child: Child
    watch: clocks.Watch
    scratch: str
    sent: dict[str, tuple[dict[str, Any], Clocks]] = field(default_factory=dict)

    def follow(self, over: Event) -> None:
        """The first rank that dies ends the others, which would wait for it."""
        try:
            self.child.until(over.is_set)
            for event in self.child.events():
                if event.get("event") == "begin":
                    self.watch.begin()
                elif event.get("event") == "busy":
                    self.watch.look(self.scratch, event.get("seen"))
                elif event.get("event") == "case":
                    self.sent[str(event.get("case"))] = event, self.watch.seen
        finally:
            if self.child.ended.state != "finished":
                over.set()


def _side_by_side(runner: Runner, ranks: Sequence[Rank]) -> None:
    over = Event()
    threads = [Thread(target=rank.follow, args=(over,)) for rank in ranks]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:  # Ctrl-C too: no child outlives the run
        runner.over.set()
        over.set()
        for thread in threads:
            thread.join()
        raise


def _results(plan: Plan, ranks: Sequence[Rank], label: str, world: int) -> list[Measurement]:
    found: list[Measurement] = []
    died = next((r.child.ended for r in ranks if r.child.ended.state not in ("finished", "stopped")), None)
    for case in plan.collectives:
        sent = [t for rank in ranks if (t := rank.sent.get(key_of(case)))]
        refused = next((event for event, _ in sent if event.get("outcome")), None)
        if refused:
            found += measured(case, refused, Device(label, label), Clocks())
        elif len(sent) == len(ranks):
            found += _of_ranks(case, [event for event, _ in sent], [seen for _, seen in sent], label, world)
        elif died and died.state == "out-of-time":
            found.append(not_run(case, label, LATE))
        elif died and all(one.outcome != "crashed" and one.outcome != "hung" for one in found):
            found.append(failed(case, label, died))
        else:
            found.append(not_run(case, label, "an earlier collective failed"))
    return found


def _of_ranks(
    case: Mapping[str, Any],
    events: Sequence[Mapping[str, Any]],
    seen: Sequence[Clocks],
    label: str,
    world: int,
) -> list[Measurement]:
    """One for each way: bus bandwidth, and beside it algorithm bandwidth and time."""
    sent = [t if isinstance(t := e.get("times"), dict) else {} for e in events]
    wrong = next((e["wrong"] for e in events if e.get("wrong")), None)
    size = events[0].get("bytes")
    size = size if isinstance(size, int) and 0 < size < 1 << 50 else amount(str(case["shape"]))
    found = []
    for way in sent[0]:
        each = [times_of(times.get(way)) for times in sent]
        single = way == "one-shot"
        times = [(max if single else statistics.fmean)(taken) for taken in zip(*each, strict=False)]
        factor = bus_factor(str(case["what"]), world)
        of_median: dict[str, float] = {}
        if median := spread(times):  # algorithm bandwidth is size over time (nccl-tests, doc/PERFORMANCE.md)
            of_median = {"size_bytes": size, "time_us": median.p50 * 1e3, "algorithm_gb_s": size / 1e6 / median.p50}
        found.append(
            measurement(
                case, word(way, 20), label, unit="GB/s", value=rate(times, size / 1e9 * factor),
                outcome="wrong" if wrong else "ran", detail=word(wrong, 300) if wrong else None,
                clocks=clocks.slowest(seen), **of_median,
                method=_ONE_SHOT.format(len(times), world) if single else _BACK_TO_BACK.format(len(times), world),
            )
        )  # fmt: skip
    return found or [measurement(case, None, label, outcome="refused", detail="the child sent no times")]


_BACK_TO_BACK = (
    "{} samples, each of up to 20 calls back to back, mean of {} ranks; warm; zeros; counted as nccl-tests does"
)
_ONE_SHOT = (
    "{} single calls, each after a barrier, slowest of {} ranks; cold cache; zeros; nccl-tests has no such measure"
)


def bus_factor(what: str, world: int) -> float:
    """Bus over algorithm bandwidth (nccl-tests, doc/PERFORMANCE.md, "Summary"): 2 (n - 1) / n of all-reduce,
    (n - 1) / n of all-gather, reduce-scatter and all-to-all."""
    return (2 if what == "all_reduce" else 1) * (world - 1) / world
