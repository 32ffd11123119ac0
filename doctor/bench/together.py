"""Collectives: one child for each rank, all side by side; the slowest rank's times count."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doctor.bench.results import Results, failed, key_of, measured, measurement, not_run, times_of, word
from doctor.bench.statistics import rate
from doctor.facts.gemm import Clocks, Measurement
from doctor.findings import Progress

if TYPE_CHECKING:
    from doctor.bench.plan import Plan
    from doctor.bench.run import Runner
    from doctor.system.user_python import Child, Ended


def together(runner: Runner, plan: Plan, results: Results, scratch: str) -> Iterator[Progress]:
    """All ranks side by side. The slowest rank's times count, since a collective is over when all are."""
    gpus = [d for d in results.devices if d.torch != "cpu"]
    world = len(gpus) or 2
    names = [d.torch for d in gpus] or ["cpu"] * world
    label = f"cuda:0-{world - 1}" if gpus else f"cpu x{world}"
    init = f"file://{scratch}/meet-{secrets.token_hex(8)}"
    ranks = []
    for rank, device in enumerate(names):
        request = {"mode": "collective", "rank": rank, "world": world, "device": device, "init": init}
        request |= {"cases": plan.collectives, "repeats": plan.repeats, "budget_s": plan.budget_s}
        ranks.append(runner.child(request, max(plan.total_s, 60.0)))
    yield Progress(f"{label} collectives", 0.0, {"left": len(plan.collectives)})
    told, ended = _side_by_side(ranks)
    for case in plan.collectives:
        events = [one.get(key_of(case)) for one in told]
        if all(events):
            results.measurements.append(_slowest(case, [e for e in events if e], label, world))
            continue
        died = next((e for e in ended if e.state != "finished"), None)
        refused = next((e for e in events if e and e.get("outcome")), None)
        if refused:
            results.measurements += measured(case, refused, label, Clocks())
        elif died:
            results.measurements.append(failed(case, label, died))
            return
        else:
            results.measurements.append(not_run(case, label, "an earlier collective failed"))


def _side_by_side(ranks: Sequence[Child]) -> tuple[list[dict[str, dict[str, Any]]], list[Ended]]:
    """Events of each rank by case. Each rank is watched by a thread of its own; the first that dies ends the others,
    which would wait for it."""
    from threading import Event, Thread

    told: list[dict[str, dict[str, Any]]] = [{} for _ in ranks]
    over = Event()

    def follow(child: Child, into: dict[str, dict[str, Any]]) -> None:
        child.until(over.is_set)
        for event in child.events():
            if event.get("event") == "case":
                into[str(event.get("case"))] = event
        if child.ended.state != "finished":
            over.set()

    threads = [Thread(target=follow, args=pair) for pair in zip(ranks, told, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    died = [c.ended for c in ranks if c.ended.state not in ("finished", "stopped")]
    return told, died or [c.ended for c in ranks]


def _slowest(case: Mapping[str, Any], events: Sequence[Mapping[str, Any]], label: str, world: int) -> Measurement:
    refused = next((e for e in events if e.get("outcome")), None)
    if refused:
        return measured(case, refused, label, Clocks())[0]
    each = [times_of((e.get("times") or {}).get("all")) for e in events]
    slowest = [max(taken) for taken in zip(*each, strict=False)]
    wrong = next((e["wrong"] for e in events if e.get("wrong")), None)
    amount = int(re.sub(r"\D", "", str(case["shape"]))) * (1 << 20) / 1e9
    return measurement(
        case, None, label, unit="GB/s", value=rate(slowest, amount * bus_factor(str(case["what"]), world)),
        outcome="wrong" if wrong else "ran", detail=word(wrong, 300) if wrong else None,
        method=f"{len(slowest)} repeats, slowest of {world} ranks, bus bandwidth as nccl-tests counts it",
    )  # fmt: skip


def bus_factor(what: str, world: int) -> float:
    """Bytes over one link for each byte of the message (nccl-tests, doc/PERFORMANCE.md)."""
    return 2 * (world - 1) / world if what == "all_reduce" else (world - 1) / world
