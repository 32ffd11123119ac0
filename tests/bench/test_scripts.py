"""Parts of the measuring script that need no torch: loaded by path, as the script itself loads them."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from doctor.bench import results
from doctor.bench.runner import SCRIPT
from doctor.blas.prove import SCRIPT as PROVE


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Any:
    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, SCRIPT.parent / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load


class Properties(SimpleNamespace):
    name, total_memory = "AMD Instinct MI300X", 1 << 30


def torch(*gpus: Properties, hip: str | None = "7.0") -> SimpleNamespace:
    cuda = SimpleNamespace(
        is_available=lambda: True, device_count=lambda: len(gpus), get_device_properties=lambda number: gpus[number]
    )
    return SimpleNamespace(cuda=cuda, version=SimpleNamespace(hip=hip, cuda=None), __version__="2.9.1")


def listed(devices: ModuleType, *gpus: Properties) -> list[str | None]:
    sent: list[dict[str, Any]] = []
    devices.devices(torch(*gpus), {}, lambda **event: sent.append(event))
    return [one["pci"] for one in sent[0]["devices"]]


def test_addresses_are_those_of_torchs_properties_or_of_its_runtime(part: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    devices = part("bench_devices")
    assert listed(devices, Properties(pci_domain_id=0, pci_bus_id=0xC1, pci_device_id=0)) == ["0000:c1:00.0"]

    def asked(held: Any, length: Any, number: Any) -> int:
        held.value = b"0000:C%d:00.0" % number.value
        assert length.value == len(held)
        return 0

    monkeypatch.setattr(devices, "library", lambda torch: SimpleNamespace(hipDeviceGetPCIBusId=asked))
    assert listed(devices, Properties(), Properties()) == ["0000:c0:00.0", "0000:c1:00.0"]
    monkeypatch.setattr(devices, "library", lambda torch: SimpleNamespace(hipDeviceGetPCIBusId=lambda *given: 100))
    assert listed(devices, Properties()) == [None]
    monkeypatch.setattr(devices, "library", lambda torch: None)
    assert listed(devices, Properties()) == [None]


def test_no_runtime_of_a_gpu_is_loaded_here(part: Any) -> None:
    assert part("bench_devices").library(torch(hip=None)) is None


class Cache:
    def zero_(self) -> None:
        """What a tensor does."""


def timer(part: Any) -> Any:
    stub = SimpleNamespace(empty=lambda size, dtype, device: Cache(), int8=None)
    return part("bench_timer").Timer(stub, "cpu")


def test_ways_take_turns_and_change_their_order(part: Any) -> None:
    called: list[str] = []
    ways = {name: lambda name=name: called.append(name) for name in ("a", "b", "c")}
    looked: list[tuple[int, bool]] = []
    times = timer(part).all(ways, 4, 60.0, lambda last: looked.append((len(called), last)))
    assert "".join(called) == "abccbaabccba"
    assert looked == [(3, False), (6, False), (9, True)]
    assert {name: len(taken) for name, taken in times.items()} == {"a": 4, "b": 4, "c": 4}


@pytest.mark.parametrize(("spread", "repeats"), [(0.001, 10), (0.03, 55), (0.1, 100)])
def test_a_quiet_call_is_measured_less_often(part: Any, spread: float, repeats: int) -> None:
    """The pilot decides, and does not count."""
    made, sent = timer(part), itertools.cycle([1.0, 1 - spread / 2, 1 + spread / 2, 1 - spread, 1 + spread])
    made.once = lambda _call, _cold: next(sent)
    assert len(made.all({"a": print}, 100, 60.0)["a"]) == repeats


def test_where_time_is_short_the_pilot_counts(part: Any) -> None:
    called: list[int] = []
    assert len(timer(part).all({"a": lambda: called.append(1)}, 100, 0.0)["a"]) == len(called) == 10


def test_a_case_that_is_soon_over_has_its_clocks_read_too(part: Any) -> None:
    looked: list[bool] = []
    timer(part).all({"a": lambda: None}, 1, 60.0, looked.append)
    assert looked == [False, True]


def test_a_graph_is_captured_after_a_warm_up_on_another_stream(part: Any) -> None:
    """By a stand-in for torch.cuda: no graph was ever captured on a GPU by this code."""
    said: list[str] = []

    @contextlib.contextmanager
    def named(name: str) -> Iterator[None]:
        said.append(name)
        yield
        said.append("end")

    stream = SimpleNamespace(wait_stream=lambda other: said.append("wait"))
    cuda = SimpleNamespace(
        Stream=lambda: stream, current_stream=lambda: stream, stream=lambda one: named("aside"),
        graph=lambda one: named("capture"), CUDAGraph=lambda: SimpleNamespace(replay=lambda: said.append("replay")),
    )  # fmt: skip
    ways = {"eager": lambda: said.append("call")}
    made = part("bench_launch").with_graph(SimpleNamespace(cuda=cuda), ways, "cuda:0")
    made["graph"]()
    assert said == ["wait", "aside", "call", "call", "call", "end", "wait", "capture", "call", "end", "replay"]
    assert part("bench_launch").with_graph(None, ways, "cpu") == ways
    assert list(part("bench_launch").with_graph(SimpleNamespace(cuda=cuda), {"model": print}, "cuda")) == [
        "model", "model-graph",
    ]  # fmt: skip


def test_calls_of_a_repeat_are_the_same_on_both_sides(part: Any) -> None:
    assert part("bench_launch").CALLS == results._CALLS


def test_a_warm_call_follows_its_cold_one(part: Any) -> None:
    made, order = timer(part), []
    made.cache = SimpleNamespace(zero_=lambda: order.append("flush"))
    times = made.all({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 1, 60.0, warm=True)
    assert order == ["flush", "a", "a", "flush", "b", "b"]
    assert sorted(times) == ["a", "a warm", "b", "b warm"]


def test_caches_that_cpus_share_are_counted_once(part: Any, tmp_path: Path) -> None:
    for number, (shared, size) in enumerate([("0-1", "32768K"), ("0-1", "32768K"), ("2", "16M"), ("3", "?")]):
        folder = tmp_path / f"cpu{number}/cache/index3"
        folder.mkdir(parents=True)
        (folder / "shared_cpu_list").write_text(shared + "\n")
        (folder / "size").write_text(size + "\n")
    assert part("bench_devices").host_cache(str(tmp_path)) == 48 << 20
    assert part("bench_devices").host_cache(str(tmp_path / "none")) is None


def test_numa_nodes_have_the_cpus_that_this_process_may_use(part: Any, tmp_path: Path) -> None:
    part("bench_devices")
    mine = sorted(os.sched_getaffinity(0))
    rows = {"node0": f"{mine[0]}", "node1": f"{mine[-1]},9000-9003", "node2": "9000-9001", "node3": "\n"}
    for name, cpus in rows.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "cpulist").write_text(cpus)
    assert part("bench_links").nodes(str(tmp_path)) == {0: {mine[0]}, 1: {mine[-1]}}


def test_a_call_is_bound_to_its_node_outside_of_the_measured_time(part: Any) -> None:
    everywhere = os.sched_getaffinity(0)
    part("bench_devices")
    order: list[set[int]] = []
    one = part("bench_links").Bound(lambda: order.append(os.sched_getaffinity(0)), {min(everywhere)})
    try:
        timer(part).once(one)
    finally:
        os.sched_setaffinity(0, everywhere)
    assert order == [{min(everywhere)}]


def test_a_budget_that_is_over_leaves_at_least_ten_repeats(part: Any) -> None:
    times = timer(part).all({"a": lambda: None}, 100, 0.0)
    assert len(times["a"]) == 10


def test_the_device_is_kept_busy_until_its_clocks_were_read(part: Any, tmp_path: Path) -> None:
    called: list[int] = []
    seen = tmp_path / "seen"

    def call() -> None:
        called.append(1)
        if len(called) == 3:
            seen.touch()

    timer(part).keep_busy({"a": call}, seen.exists)
    assert len(called) == 3
    timer(part).keep_busy({"a": call}, lambda: False, seconds=0.0)
    assert len(called) == 3, "and no longer than a few seconds"


SCRIPTS = [*SCRIPT.parent.glob("*.py"), *PROVE.parent.glob("*.py")]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_the_scripts_run_on_the_oldest_python_that_torch_2_had(path: Path) -> None:
    """3.8: its grammar, and none of the methods of text that came with 3.9."""
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not names & {"removesuffix", "removeprefix"}
    assert len(path.read_text(encoding="utf-8").splitlines()) < 300
