"""Runs a plan: one child a GPU, and one for each rank of a collective; raw times become measurements.

A case that hangs, dies or takes all memory ends its child and is reported as that; the rest runs in another child.
"""

from __future__ import annotations

import queue
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from doctor.bench import clocks
from doctor.bench.plan import LATE, Plan
from doctor.bench.results import Device, Results, failed, key_of, measured, not_run, word
from doctor.bench.runner import Runner
from doctor.bench.together import together
from doctor.findings import Progress

_MOST_CHILDREN = 5
_LIST_S = 120.0
_MOST_DEVICES = 64


def devices(runner: Runner, wanted: str | None) -> Results:
    """The devices that torch sees; `cpu` where it sees no GPU, or where that was asked for."""
    results = Results()
    child = runner.child({"mode": "list"}, _LIST_S)
    found: list[Device] = []
    host_cache: int | None = None
    for event in child.events():
        if event.get("event") != "devices":
            continue
        results.software = {k: word(event[k]) for k in ("torch", "hip", "cuda") if event.get(k)}
        sent = event.get("devices")
        for number, one in enumerate(sent[:_MOST_DEVICES] if isinstance(sent, list) else ()):
            one = one if isinstance(one, dict) else {}
            address = word(one.get("pci")) or None
            found.append(Device(f"cuda:{number}", word(one.get("name")), address, _bytes(one.get("cache"))))
        host_cache = _bytes(event.get("host_cache"))
    shared = [[d.torch for d in found if d.pci and d.pci == one.pci] for one in found]
    found = [
        replace(d, part=(names.index(d.torch), len(names))) if len(names) > 1 else d
        for d, names in zip(found, shared, strict=True)
    ]
    if child.ended.state != "finished":
        results.trouble = child.ended.detail or child.ended.state
    elif wanted == "cpu" or (wanted is None and not found):
        results.devices = (Device("cpu", "cpu", None, host_cache),)
    else:
        results.devices = tuple(d for d in found if wanted in (None, d.torch))
        if not results.devices:
            results.trouble = f"torch does not see {wanted}; it sees {', '.join(d.torch for d in found) or 'no GPU'}"
    return results


def _bytes(sent: object) -> int | None:
    return sent if isinstance(sent, int) and 0 < sent < 1 << 40 else None


def run(runner: Runner, plan: Plan, results: Results) -> Iterator[Progress]:
    """Fills `results`, and keeps in them what was measured when it is interrupted. Yields progress: the case that
    begins."""
    build: Literal["rocm", "cuda"] = "rocm" if results.software.get("hip") else "cuda"
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        if plan.collectives and results.devices:  # first: what they leave of their share goes to the other cases
            yield from together(runner, plan, results, build, scratch)
        if plan.at_once:
            yield from _all_at_once(runner, plan, results, build, scratch)
        else:
            for device in results.devices:
                yield from _on_device(runner, plan, results, device, build, scratch)
    results.measurements.sort(key=lambda one: one.what.startswith("collective"))


def _all_at_once(runner: Runner, plan: Plan, results: Results, build: str, scratch: str) -> Iterator[Progress]:
    """Each GPU's child is watched by a thread of its own; results come in the order of the GPUs."""
    own = [Results(devices=results.devices) for _ in results.devices]
    events: queue.SimpleQueue[Progress | None] = queue.SimpleQueue()

    def one(device: Device, into: Results) -> None:
        try:
            folder = f"{scratch}/{device.torch.replace(':', '-')}"
            Path(folder).mkdir()
            for event in _on_device(runner, plan, into, device, build, folder):
                events.put(event)
        finally:
            events.put(None)

    threads = [threading.Thread(target=one, args=pair) for pair in zip(results.devices, own, strict=True)]
    for thread in threads:
        thread.start()
    try:
        running = len(threads)
        while running:
            event = events.get()
            if event is None:
                running -= 1
            else:
                yield event
    except BaseException:  # Ctrl-C too: no child outlives the run
        runner.over.set()
        raise
    finally:
        for thread in threads:
            thread.join()
        results.measurements += [found for part in own for found in part.measurements]


def _on_device(
    runner: Runner, plan: Plan, results: Results, device: Device, build: str, scratch: str
) -> Iterator[Progress]:
    left = list(plan.cases)
    ends = time.monotonic() + plan.total_s
    caches = {"TORCHINDUCTOR_CACHE_DIR": f"{scratch}/inductor", "TRITON_CACHE_DIR": f"{scratch}/triton"}
    for turn in range(_MOST_CHILDREN):
        if not left:
            return
        if min(ends - time.monotonic(), runner.left()) <= 0:
            break
        request: dict[str, Any] = {"mode": "measure", "device": device.torch, "cases": left}
        request |= {"repeats": plan.repeats, "budget_s": plan.budget_s, "seed": secrets.randbits(31)}
        request |= {"seen": f"{scratch}/seen-{turn}-", "flush": device.flush()[0], "warm_s": plan.warm_s}
        child = runner.child(request, max(0.1, ends - time.monotonic()), caches)
        child.silence_s = min(runner.silence_s, plan.silence_s)
        watch, begun = clocks.Watch(runner.system, device.pci, build, device.part), None
        for event in child.events():
            key = str(event.get("case"))
            case = next((c for c in left if key_of(c) == key), None)
            if event.get("event") == "begin" and case:
                begun = case
                watch.begin()
                yield Progress(f"{device.torch} {key}", 0.0, {"left": len(left)})
            elif event.get("event") == "busy":
                watch.look(scratch, event.get("seen"))
            elif event.get("event") == "case" and case:
                left.remove(case)
                begun = None
                together = len(results.devices) if plan.at_once else 1
                results.measurements += measured(case, event, device, watch.seen, together)
        if begun is None and child.ended.state == "finished":
            return
        if begun is None or child.ended.state in ("out-of-time", "stopped"):
            state = child.ended.state  # of a case that did not end the child, or between two of them
            reason = {"out-of-time": LATE, "stopped": "the run was stopped"}.get(state, child.ended.detail or state)
            whys = [(case, f"{reason} during this case" if case is begun else reason) for case in left]
            results.measurements += [not_run(case, device.torch, why) for case, why in whys]
            return
        left.remove(begun)
        results.measurements.append(failed(begun, device.torch, child.ended))
    why = "too many earlier cases ended their process"
    if min(ends - time.monotonic(), runner.left()) <= 0:
        why = LATE
    results.measurements += [not_run(c, device.torch, why) for c in left]
