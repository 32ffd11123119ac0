"""The measuring script with a torch for CPU that says it has two GPUs: what is asked of `cuda:N` happens on the CPU.

Events read the clock, a graph repeats the calls that were made while it was captured, NCCL is gloo. So the lines that
only a GPU's case reaches are run; what they measure means nothing.
"""

from __future__ import annotations

import contextlib
import runpy
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed
from torch.overrides import TorchFunctionMode

SCRIPT = Path(__file__).resolve().parents[2] / "doctor/bench/scripts/bench_child.py"
captured: list[list[Any]] = []


class OnCpu(TorchFunctionMode):  # type: ignore[misc]
    """Tensors of a GPU are made on the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = dict(kwargs or {})
        given.pop("pin_memory", None)
        if "cuda" in str(given.get("device", "")):
            given["device"] = "cpu"
        if captured:
            captured[-1].append((func, args, given))
        return func(*args, **given)


class Event:
    """Of the clock of this process."""

    at = 0.0

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        self.at = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        return (end.at - self.at) * 1e3


class Graph:
    """The calls of one capture."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def replay(self) -> None:
        for func, args, given in self.calls:
            func(*args, **given)


@contextlib.contextmanager
def capture(graph: Graph) -> Iterator[None]:
    captured.append(graph.calls)
    yield
    captured.pop()


def properties(device: Any) -> SimpleNamespace:
    number = device if isinstance(device, int) else torch.device(device).index
    bus = {"pci_domain_id": 0, "pci_bus_id": 5 + number, "pci_device_id": 0}
    return SimpleNamespace(name="stand-in", total_memory=1 << 34, L2_cache_size=1 << 20, **bus)


def main() -> None:
    stream = SimpleNamespace(wait_stream=lambda other: None)
    given = {
        "is_available": lambda: True, "device_count": lambda: 2, "get_device_properties": properties,
        "get_device_capability": lambda device: (9, 0), "set_device": lambda device: None, "Event": Event,
        "synchronize": lambda: None, "empty_cache": lambda: None, "mem_get_info": lambda: (1 << 32, 1 << 34),
        "can_device_access_peer": lambda one, other: True, "Stream": lambda: stream, "graph": capture,
        "current_stream": lambda: stream, "stream": contextlib.nullcontext, "CUDAGraph": Graph,
    }  # fmt: skip
    for name, value in given.items():
        setattr(torch.cuda, name, value)
    torch.version.cuda = "13.0"
    begin = torch.distributed.init_process_group
    torch.distributed.init_process_group = lambda backend, **more: begin("gloo", **more)
    with OnCpu():
        runpy.run_path(str(SCRIPT), run_name="__main__")


if __name__ == "__main__":
    sys.argv[0] = str(SCRIPT)
    main()
