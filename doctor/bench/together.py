"""Collectives: one child for each rank, all side by side; the slowest rank's times count."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from doctor.bench import clocks
from doctor.bench.results import Device, Results, failed, key_of, measured, measurement, not_run, times_of, word
from doctor.bench.statistics import rate
from doctor.facts.gemm import Clocks, Measurement
from doctor.findings import Progress

if TYPE_CHECKING:
    from doctor.bench.plan import Plan
    from doctor.bench.run import Runner
    from doctor.system.user_python import Child


def together(runner: Runner, plan: Plan, results: Results, build: str, scratch: str) -> Iterator[Progress]:
    """All ranks side by side. The slowest rank's times count, since a collective is over when all are."""
    gpus = [d for d in results.devices if d.torch != "cpu"]
    world = len(gpus) or 2
    devices = gpus or [Device("cpu", "cpu")] * world
    label = f"cuda:0-{world - 1}" if gpus else f"cpu x{world}"
    allowed = min(max(plan.total_s, 60.0), runner.left())
    if allowed <= 1:
        why = f"the time of the run was over ({plan.total_s:g} s)"
        results.measurements += [not_run(case, label, why) for case in plan.collectives]
        return
    init = f"file://{scratch}/meet-{secrets.token_hex(8)}"
    ranks = []
    for rank, device in enumerate(devices):
        request = {"mode": "collective", "rank": rank, "world": world, "device": device.torch, "init": init}
        request |= {"cases": plan.collectives, "repeats": plan.repeats, "budget_s": plan.budget_s}
        request |= {"seen": f"{scratch}/seen-rank{rank}-", "timeout_s": min(60.0, allowed)}
        watch = clocks.Watch(runner.system, device.pci, build)
        ranks.append(Rank(runner.child(request, allowed), watch, scratch))
    yield Progress(f"{label} collectives", 0.0, {"left": len(plan.collectives)})
    _side_by_side(runner, ranks)
    results.measurements += _told(plan, ranks, label, world)


@dataclass
class Rank:
    """One child, what watches its GPU, and what it sent: by case, its event and the clocks that it was measured at."""

    child: Child
    watch: clocks.Watch
    scratch: str
    told: dict[str, tuple[dict[str, Any], Clocks]] = field(default_factory=dict)

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
                    self.told[str(event.get("case"))] = event, self.watch.seen
        finally:
            if self.child.ended.state != "finished":
                over.set()


def _side_by_side(runner: Runner, ranks: Sequence[Rank]) -> None:
    """Each rank is watched by a thread of its own."""
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


def _told(plan: Plan, ranks: Sequence[Rank], label: str, world: int) -> list[Measurement]:
    found: list[Measurement] = []
    died = next((r.child.ended for r in ranks if r.child.ended.state not in ("finished", "stopped")), None)
    for case in plan.collectives:
        told = [t for rank in ranks if (t := rank.told.get(key_of(case)))]
        refused = next((event for event, _ in told if event.get("outcome")), None)
        if refused:
            found += measured(case, refused, label, Clocks())
        elif len(told) == len(ranks):
            found.append(_slowest(case, [event for event, _ in told], [seen for _, seen in told], label, world))
        elif died and died.state == "out-of-time":
            found.append(not_run(case, label, f"the time of the run was over ({plan.total_s:.3g} s)"))
        elif died and all(one.outcome != "crashed" and one.outcome != "hung" for one in found):
            found.append(failed(case, label, died))
        else:
            found.append(not_run(case, label, "an earlier collective failed"))
    return found


def _slowest(
    case: Mapping[str, Any],
    events: Sequence[Mapping[str, Any]],
    seen: Sequence[Clocks],
    label: str,
    world: int,
) -> Measurement:
    sent = [e.get("times") for e in events]
    each = [times_of(t.get("all")) if isinstance(t, dict) else [] for t in sent]
    slowest = [max(taken) for taken in zip(*each, strict=False)]
    wrong = next((e["wrong"] for e in events if e.get("wrong")), None)
    amount = int(re.sub(r"\D", "", str(case["shape"]))) * (1 << 20) / 1e9
    return measurement(
        case, None, label, unit="GB/s", value=rate(slowest, amount * bus_factor(str(case["what"]), world)),
        outcome="wrong" if wrong else "ran", detail=word(wrong, 300) if wrong else None,
        clocks=clocks.slowest(seen),
        method=f"{len(slowest)} repeats, slowest of {world} ranks, bus bandwidth as nccl-tests counts it",
    )  # fmt: skip


def bus_factor(what: str, world: int) -> float:
    """Bytes over one link for each byte of the message (nccl-tests, doc/PERFORMANCE.md)."""
    return 2 * (world - 1) / world if what == "all_reduce" else (world - 1) / world
