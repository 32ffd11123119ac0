"""Runs a plan: one child a GPU, and one for each rank of a collective; raw times become measurements.

A case that hangs, dies or takes all memory ends its child, is told as that, and the rest runs in another child.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from doctor.bench import clocks
from doctor.bench.plan import Plan
from doctor.bench.results import Device, Results, failed, key_of, measured, not_run, word
from doctor.bench.together import together
from doctor.facts.gemm import Clocks, Measurement
from doctor.findings import Progress
from doctor.system.base import System
from doctor.system.user_python import Bounds, Child, environment

SCRIPT = Path(__file__).parent / "scripts/bench_child.py"
_LOGS = ("HIPBLASLT_LOG_MASK", "HIPBLASLT_LOG_LEVEL", "ROCBLAS_LAYER", "CUBLASLT_LOG_LEVEL", "CUBLAS_LOGINFO_DBG")
"""Logging costs time in each product, so a measurement is made without."""
_TUNING = ("PYTORCH_TUNABLEOP_TUNING", "PYTORCH_TUNABLEOP_RECORD_UNTUNED")
_MOST_CHILDREN = 5
_SILENCE_S = 150.0
"""A compiler's first run, and the start of a GPU with gigabytes of code objects."""


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
        results.software = {k: word(event[k]) for k in ("torch", "hip", "cuda") if event.get(k)}
        for number, told in enumerate(list(event.get("devices") or ())[:64]):
            found.append(Device(f"cuda:{number}", word(told.get("name")), word(told.get("pci")) or None))
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
            yield from together(runner, plan, results, scratch)


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
            case = next((c for c in left if key_of(c) == key), None)
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
    results.measurements += [not_run(c, device.torch, "too many cases before it ended their process") for c in left]
