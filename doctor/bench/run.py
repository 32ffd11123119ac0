"""Runs a plan: one child a GPU, and one for each rank of a collective; raw times become measurements.

A case that hangs, dies or takes all memory ends its child, is told as that, and the rest runs in another child.
"""

from __future__ import annotations

import re
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from doctor.bench import clocks
from doctor.bench.plan import Plan
from doctor.bench.statistics import paired_ratio, rate, spread
from doctor.facts.gemm import Clocks, Measurement, Outcome, Spread
from doctor.findings import Progress
from doctor.system.base import System
from doctor.system.user_python import Bounds, Child, Ended, environment

SCRIPT = Path(__file__).parent / "scripts/bench_child.py"
_LOGS = ("HIPBLASLT_LOG_MASK", "HIPBLASLT_LOG_LEVEL", "ROCBLAS_LAYER", "CUBLASLT_LOG_LEVEL", "CUBLAS_LOGINFO_DBG")
"""Logging costs time in each product, so a measurement is made without."""
_TUNING = ("PYTORCH_TUNABLEOP_TUNING", "PYTORCH_TUNABLEOP_RECORD_UNTUNED")
_MOST_CHILDREN = 5
_MOST_TIMES = 4000
_SILENCE_S = 150.0
"""A compiler's first run, and the start of a GPU with gigabytes of code objects."""


@dataclass(frozen=True)
class Device:
    """`torch`: `cuda:0` or `cpu`."""

    torch: str
    name: str
    pci: str | None = None


@dataclass
class Results:
    """What was measured. `software`: torch's version and what it was built for; `trouble`: why nothing was."""

    measurements: list[Measurement] = field(default_factory=list)
    devices: tuple[Device, ...] = ()
    software: dict[str, str] = field(default_factory=dict)
    trouble: str | None = None


@dataclass(frozen=True)
class Runner:
    """What all children share. `memory_bytes` is of one child with all that it starts."""

    python: str
    environ: Mapping[str, str]
    system: System
    memory_bytes: int = 24 << 30
    silence_s: float = _SILENCE_S
    script: Path = SCRIPT

    def child(self, request: Mapping[str, Any], total_s: float, added: Mapping[str, str] | None = None) -> Child:
        env = environment(self.environ, added or {}, (*_LOGS, *_TUNING))
        bounds = Bounds(total_s, min(self.silence_s, total_s), self.memory_bytes)
        return Child(self.python, self.script, request, env, bounds)


def devices(runner: Runner, wanted: str | None) -> Results:
    """The devices that torch sees; `cpu` where it sees no GPU, or where that was asked for."""
    results = Results()
    child = runner.child({"mode": "list"}, 120.0)
    found: list[Device] = []
    for event in child.events():
        if event.get("event") != "devices":
            continue
        results.software = {k: _word(event[k]) for k in ("torch", "hip", "cuda") if event.get(k)}
        for number, told in enumerate(list(event.get("devices") or ())[:64]):
            found.append(Device(f"cuda:{number}", _word(told.get("name")), _word(told.get("pci")) or None))
    if child.ended.state != "finished":
        results.trouble = child.ended.detail or child.ended.state
    elif wanted == "cpu" or (wanted is None and not found):
        results.devices = (Device("cpu", "cpu"),)
    else:
        results.devices = tuple(d for d in found if wanted in (None, d.torch))
        if not results.devices:
            results.trouble = f"torch sees no {wanted}: it has {', '.join(d.torch for d in found) or 'no GPU'}"
    return results


def run(runner: Runner, plan: Plan, results: Results) -> Iterator[Progress]:
    """Fills `results`. Yields progress: the case that begins."""
    build: Literal["rocm", "cuda"] = "rocm" if results.software.get("hip") else "cuda"
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        if plan.at_once:
            yield Progress(f"{len(results.devices)} GPUs at once", 0.0, {"left": len(plan.cases)})
            _all_at_once(runner, plan, results, build, scratch)
        else:
            for device in results.devices:
                yield from _on_device(runner, plan, results, device, build, scratch)
        if plan.collectives and results.devices:
            yield from _together(runner, plan, results, scratch)


def _all_at_once(runner: Runner, plan: Plan, results: Results, build: str, scratch: str) -> None:
    """Each GPU's child is watched by a thread of its own; results come in the order of the GPUs."""
    from concurrent.futures import ThreadPoolExecutor

    def one(device: Device) -> list[Measurement]:
        own = Results(devices=results.devices)
        for _ in _on_device(runner, plan, own, device, build, f"{scratch}/{device.torch.replace(':', '-')}"):
            pass
        return own.measurements

    with ThreadPoolExecutor(len(results.devices)) as pool:
        for found in pool.map(one, results.devices):
            results.measurements += found


def _on_device(
    runner: Runner, plan: Plan, results: Results, device: Device, build: str, scratch: str
) -> Iterator[Progress]:
    left = list(plan.cases)
    ends = time.monotonic() + plan.total_s
    caches = {"TORCHINDUCTOR_CACHE_DIR": f"{scratch}/inductor", "TRITON_CACHE_DIR": f"{scratch}/triton"}
    for _ in range(_MOST_CHILDREN):
        if not left:
            return
        request: dict[str, Any] = {"mode": "measure", "device": device.torch, "cases": left}
        request |= {"repeats": plan.repeats, "budget_s": plan.budget_s, "seed": secrets.randbits(31)}
        child = runner.child(request, max(1.0, ends - time.monotonic()), caches)
        busy, begun = Clocks(), None
        for event in child.events():
            key = str(event.get("case"))
            case = next((c for c in left if _key(c) == key), None)
            if event.get("event") == "begin" and case:
                busy, begun = Clocks(), case
                yield Progress(f"{device.torch} {key}", 0.0, {"left": len(left)})
            elif event.get("event") == "busy":
                busy = clocks.read(runner.system, device.pci, build)
            elif event.get("event") == "case" and case:
                left.remove(case)
                begun = None
                together = len(results.devices) if plan.at_once else 1
                results.measurements += measured(case, event, device.torch, busy, together)
        if begun is None and child.ended.state == "finished":
            return
        if begun is None:
            results.measurements += [failed(c, device.torch, child.ended, "not-run") for c in left]
            return
        left.remove(begun)
        results.measurements.append(failed(begun, device.torch, child.ended))
    results.measurements += [_not_run(c, device.torch, "too many cases before it ended their process") for c in left]


def _key(case: Mapping[str, Any]) -> str:
    return f"{case['what']}/{case['dtype']}/{case['shape']}"


_NAMES = {
    ("gemm", "matmul"): "gemm matmul",
    ("gemm", "linear"): "gemm linear",
    ("gemm", "linear-bias"): "gemm linear-bias",
    ("copy", "hbm"): "copy memory",
    ("host", "to-device"): "copy to-device",
    ("host", "to-host"): "copy to-host",
    ("attention", "forward"): "attention forward",
    ("attention", "backward"): "attention backward",
    ("flex", "attention"): "flex attention",
    ("compile", "model"): "compile model",
}
_AGAINST = {"linear": "matmul", "linear-bias": "matmul", "backward": "forward"}


def measured(
    case: Mapping[str, Any], event: Mapping[str, Any], device: str, busy: Clocks, together: int = 1
) -> list[Measurement]:
    """One for each way of the case, of which `together` devices ran at once. What a child sends is not trusted to have
    the right shape."""
    if event.get("outcome") in ("refused", "out-of-memory"):
        outcome = cast(Outcome, event["outcome"])
        return [_measurement(case, None, device, outcome=outcome, detail=_word(event.get("detail"), 600))]
    wrong, error = event.get("wrong"), event.get("error")
    sent = event.get("times")
    times = {str(n): _times(t) for n, t in sent.items()} if isinstance(sent, dict) else {}
    found = []
    for way, taken in times.items():
        unit, value = _value(case, way, taken)
        against = _AGAINST.get(way)
        paired = paired_ratio(taken, times[against]) if against in times else None
        found.append(
            _measurement(
                case, way, device, unit=unit, value=value, clocks=busy,
                outcome="wrong" if wrong else "ran",
                detail=_word(wrong, 300) if wrong else None,
                relative_error=float(error) if isinstance(error, (int, float)) else None,
                ratio=paired, against=_named(case, str(against)) if paired else None,
                method=f"{len(taken)} repeats, warmed up, cold cache, normal input, ways in turn, {together} at once",
            )
        )  # fmt: skip
    return found or [_measurement(case, None, device, outcome="refused", detail="the child sent no times")]


def _times(sent: Any) -> list[float]:
    return [float(t) for t in sent[:_MOST_TIMES] if isinstance(t, (int, float))] if isinstance(sent, list) else []


def _named(case: Mapping[str, Any], way: str | None) -> str:
    what = str(case["what"])
    return _NAMES.get((what, way or ""), f"collective {what}" if "_" in what else what)


def _measurement(case: Mapping[str, Any], way: str | None, device: str, unit: str = "-", **more: Any) -> Measurement:
    what, dtype, shape = _named(case, way), str(case["dtype"]), str(case["shape"])
    key = f"{what}/{dtype}/{shape}@{device}"
    return Measurement(key=key, what=what, dtype=dtype, shape=shape, device=device, unit=unit, **more)


def _value(case: Mapping[str, Any], way: str, times: Sequence[float]) -> tuple[str, Spread | None]:
    """(unit, value): products in TFLOP/s, copies in GB/s (a copy in memory reads and writes), the rest in ms."""
    numbers = [int(n) for n in re.findall(r"\d+", str(case["shape"]))]
    if case["what"] == "gemm" and len(numbers) == 3:
        return "TFLOP/s", rate(times, 2.0 * numbers[0] * numbers[1] * numbers[2] / 1e12)
    if case["what"] in ("copy", "host"):
        return "GB/s", rate(times, numbers[0] * (1 << 20) * (2 if way == "hbm" else 1) / 1e9)
    return "ms", spread(times)


def failed(case: Mapping[str, Any], device: str, ended: Ended, outcome: Outcome | None = None) -> Measurement:
    """Of a case that its process did not live through."""
    state: Outcome = outcome or (ended.state if ended.state in ("hung", "out-of-memory") else "crashed")
    return _measurement(case, None, device, outcome=state, detail=_word(ended.detail or ended.state, 300))


def _not_run(case: Mapping[str, Any], device: str, why: str) -> Measurement:
    return _measurement(case, None, device, outcome="not-run", detail=why)


def _word(value: Any, limit: int = 120) -> str:
    return "".join(c for c in str(value if value is not None else "")[: 2 * limit] if c.isprintable())[:limit].strip()


def _together(runner: Runner, plan: Plan, results: Results, scratch: str) -> Iterator[Progress]:
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
        events = [one.get(_key(case)) for one in told]
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
            results.measurements.append(_not_run(case, label, "an earlier collective failed"))


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
    each = [_times((e.get("times") or {}).get("all")) for e in events]
    slowest = [max(taken) for taken in zip(*each, strict=False)]
    wrong = next((e["wrong"] for e in events if e.get("wrong")), None)
    amount = int(re.sub(r"\D", "", str(case["shape"]))) * (1 << 20) / 1e9
    return _measurement(
        case, None, label, unit="GB/s", value=rate(slowest, amount * bus_factor(str(case["what"]), world)),
        outcome="wrong" if wrong else "ran", detail=_word(wrong, 300) if wrong else None,
        method=f"{len(slowest)} repeats, slowest of {world} ranks, bus bandwidth as nccl-tests counts it",
    )  # fmt: skip


def bus_factor(what: str, world: int) -> float:
    """Bytes over one link for each byte of the message (nccl-tests, doc/PERFORMANCE.md)."""
    return 2 * (world - 1) / world if what == "all_reduce" else (world - 1) / world
