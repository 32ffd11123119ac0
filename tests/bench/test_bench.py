"""Plans, statistics, comparison, history and the running of cases, the last with real children."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from doctor.bench import saved
from doctor.bench.plan import GEMM_SHAPES, plan
from doctor.bench.results import Device, Results, amount, measured
from doctor.bench.run import devices, run
from doctor.bench.runner import Runner
from doctor.bench.together import bus_factor
from doctor.errors import InputError
from doctor.facts.gemm import Clocks, Measurement, Spread
from doctor.parsers.blas.tunableop_csv import entries
from doctor.system.live import LiveSystem
from tests.each import each

# --- plan


def test_a_full_run_has_the_five_shapes_and_four_types() -> None:
    cases = plan(["gemm"], "full", "cuda:0").cases
    assert {c["shape"] for c in cases} == set(GEMM_SHAPES)
    assert {c["dtype"] for c in cases} == {"bfloat16", "float16", "float8", "float4"}


@each("left", [60.0, 40.0, 10.0])
@each("gpus", [1, 2, 8])
def test_a_quick_run_shares_out_what_is_left_of_its_minute(gpus: int, left: float) -> None:
    quick = plan([], "quick", "cuda:0", gpus, left_s=left)
    number = len(quick.cases) + len(quick.collectives)
    assert quick.budget_s * number <= max(left - 15, 0.2 * number) + 0.1
    assert quick.total_s == left
    assert quick.at_once is (gpus > 1)


def test_collectives_take_several_gpus_and_8_bytes_to_8_gib() -> None:
    assert plan(["collectives"], "full", "cuda:0", 1).collectives == ()
    sizes = [amount(c["shape"]) for c in plan(["collectives"], "full", "cuda:0", 8).collectives]
    assert (min(sizes), max(sizes)) == (8, 8 << 30)


def test_time_is_kept_for_collectives_which_come_last() -> None:
    both, alone = plan([], "quick", "cpu", left_s=50.0), plan(["collectives"], "quick", "cpu", left_s=50.0)
    assert 15 <= both.reserved_s <= 25
    assert alone.reserved_s == 0


@pytest.mark.parametrize(
    ("names", "level", "shape"),
    [(["gem"], "quick", "512x512x512"), ([], "slow", "512x512x512"), (["gemm"], "quick", "8192"),
     (["gemm"], "quick", "8x8x8"), (["gemm"], "quick", "9999999x512x512"), (["gemm"], "quick", "٣٤x512x512")],
)  # fmt: skip
def test_wrong_words_are_told(names: list[str], level: str, shape: str) -> None:
    with pytest.raises(InputError):
        plan(names, level, "cpu", 1, [shape])


# --- running

CHILD = """
import ctypes, json, os, sys, time
request, out = json.loads(sys.argv[1]), os.fdopen(int(sys.argv[2]), "w")
def send(**e):
    out.write(json.dumps(e) + "\\n"); out.flush()
if request["mode"] == "list":
    send(event="devices", devices=[{"name": "GPU", "pci": "0000:05:00.0"}, {"name": "GPU", "pci": None}],
         torch="2.9.1", hip="7.0")
for case in request.get("cases", ()):
    key = "/".join((case["what"], case["dtype"], case["shape"]))
    send(event="begin", case=key)
    if key.startswith("copy"):
        time.sleep(600)
    if key.startswith("attention"):
        ctypes.string_at(0)
    if key.startswith("host"):
        held = []
        while True:
            held.append(bytearray(b"x" * (8 << 20))); time.sleep(0.01)
    if key.startswith("flex"):
        send(event="case", case=key, outcome="refused", detail="RuntimeError: no FlexAttention here")
        continue
    send(event="busy", case=key)
    slow = request.get("rank", 0) + 1
    wrong = "matmul: relative error 0.3" if key.startswith("compile") else None
    times = {"matmul": [1.0] * 9, "linear": [2.0] * 9} if key.startswith("gemm") else {"all": [1.0 * slow] * 9}
    send(event="case", case=key, times=times, error=0.001, wrong=wrong)
send(event="end")
"""


def runner(tmp_path: Path, body: str = CHILD, **more: Any) -> Runner:
    script = tmp_path / "child.py"
    script.write_text(body)
    given: dict[str, Any] = {"memory_bytes": 200 << 20, "silence_s": 5.0, **more}
    return Runner(sys.executable, dict(os.environ), LiveSystem(), script=script, **given)


def test_a_case_that_hangs_dies_or_takes_all_memory_costs_itself_alone(tmp_path: Path) -> None:
    results = Results(devices=(Device("cuda:0", "GPU"),))
    todo = plan(["copy", "gemm", "attention", "host", "flex", "compile"], "full", "cuda:0", 1, ["512x512x512"])
    events = list(run(runner(tmp_path), todo, results))
    outcomes = {m.what.split()[0] if m.value is None else m.what: m.outcome for m in results.measurements}
    assert outcomes == {
        "copy": "hung", "gemm matmul": "ran", "gemm linear": "ran", "attention": "crashed", "host": "out-of-memory",
        "flex": "refused", "compile all": "wrong",
    }  # fmt: skip
    linear = next(m for m in results.measurements if m.what == "gemm linear" and m.dtype == "bfloat16")
    assert linear.ratio is not None
    assert (linear.ratio.p50, linear.against, linear.unit) == (2.0, "gemm matmul", "TFLOP/s")
    assert linear.method is not None
    assert "size of the cache not known" in linear.method
    assert events[0].what == "cuda:0 copy/float64/1024MiB"


def test_a_quick_run_takes_all_gpus_at_once_in_their_order(tmp_path: Path) -> None:
    results = Results(devices=tuple(Device(f"cuda:{n}", "GPU") for n in range(3)))
    list(run(runner(tmp_path), plan(["gemm"], "quick", "cuda:0", 3), results))
    assert [m.device for m in results.measurements] == ["cuda:0"] * 2 + ["cuda:1"] * 2 + ["cuda:2"] * 2
    assert "3 devices at once" in str(results.measurements[0].method)


def test_what_the_time_of_the_run_does_not_reach_is_no_fault_of_its_case(tmp_path: Path) -> None:
    """A case that is at work when the time is over did not hang; one that was silent for too long did."""
    results = Results(devices=(Device("cuda:0", "GPU"),))
    todo = plan(["gemm", "copy", "attention"], "quick", "cuda:0", 1)
    short = runner(tmp_path, silence_s=60, ends=time.monotonic() + 6)
    list(run(short, todo, results))
    assert [(m.what.split()[0], m.outcome) for m in results.measurements][-2:] == [
        ("copy", "not-run"), ("attention", "not-run"),
    ]  # fmt: skip
    assert str(results.measurements[-2].detail).endswith("during this case")
    over = Results(devices=(Device("cuda:0", "GPU"),))
    list(run(runner(tmp_path, ends=time.monotonic() - 1), plan(["collectives", "copy"], "quick", "cpu"), over))
    assert {m.outcome for m in over.measurements} == {"not-run"}


def test_an_interrupted_run_ends_its_children_and_keeps_what_they_measured(tmp_path: Path) -> None:
    body = CHILD.replace('if key.startswith("copy"):', 'if key.startswith("copy") and request["device"] == "cuda:1":')
    results = Results(devices=tuple(Device(f"cuda:{n}", "GPU") for n in range(2)))
    made = runner(tmp_path, body, silence_s=600)
    steps: Any = run(made, plan(["gemm", "copy"], "quick", "cuda:0", 2), results)
    waited = {f"cuda:{n} copy/float64/1024MiB" for n in range(2)}
    while waited:
        waited.discard(next(steps).what)
    with pytest.raises(KeyboardInterrupt):
        steps.throw(KeyboardInterrupt())
    assert {(m.device, m.what) for m in results.measurements if m.outcome == "ran"} >= {
        ("cuda:0", "gemm matmul"), ("cuda:1", "gemm matmul"),
    }  # fmt: skip


def test_tunableop_is_off_in_a_measurement_whatever_the_environment_says(tmp_path: Path) -> None:
    """ENABLED=1 alone would tune each product, and write a file where the process stands."""
    body = CHILD.replace(
        'if request["mode"] == "list":', "assert not [k for k in os.environ if 'TUNABLEOP' in k]\nif True:"
    )
    on = {"PYTORCH_TUNABLEOP_ENABLED": "1", "PYTORCH_TUNABLEOP_FILENAME": "x.csv", "PYTORCH_TUNABLEOP_VERBOSE": "1"}
    made = runner(tmp_path, body)
    assert devices(type(made)(**{**made.__dict__, "environ": {**os.environ, **on}}), None).trouble is None


def test_a_hundred_gpus_are_no_trouble(tmp_path: Path) -> None:
    many = CHILD.replace('{"name": "GPU", "pci": None}]', '{"name": "GPU", "pci": None}] * 50')
    found = devices(runner(tmp_path, many), None)
    assert len(found.devices) == 64
    odd = runner(tmp_path, CHILD.replace('devices=[{"name": "GPU", "pci": "0000:05:00.0"}', "devices=[7"))
    assert devices(odd, None).devices[0] == Device("cuda:0", "")


def test_devices_are_those_that_torch_sees(tmp_path: Path) -> None:
    assert [d.torch for d in devices(runner(tmp_path), None).devices] == ["cuda:0", "cuda:1"]
    assert devices(runner(tmp_path), "cuda:1").devices[0].pci is None
    assert devices(runner(tmp_path), "cpu").devices == (Device("cpu", "cpu"),)
    assert devices(runner(tmp_path), "cuda:7").trouble == "torch does not see cuda:7; it sees cuda:0, cuda:1"
    broken = devices(runner(tmp_path, "raise SystemExit('no torch')"), None)
    assert broken.trouble == "exited with 1: no torch"


def test_calls_back_to_back_count_by_the_mean_of_ranks_and_single_ones_by_the_slowest(tmp_path: Path) -> None:
    body = CHILD.replace('{"all": [1.0 * slow] * 9}', '{"in-place": [1.0 * slow] * 9, "one-shot": [1.0 * slow] * 9}')
    results = Results(devices=(Device("cpu", "cpu"),))
    list(run(runner(tmp_path, body), plan(["collectives"], "quick", "cpu"), results))
    mean, single = (m for m in results.measurements[:4] if m.shape == "1MiB")
    assert (mean.what, mean.device, mean.unit) == ("collective all_reduce in-place", "cpu x2", "GB/s")
    assert mean.value is not None
    assert single.value is not None
    assert mean.value.p50 == pytest.approx((1 << 20) / 1e9 / 1.5e-3)  # 1 and 2 ms; 2 (n - 1) / n is 1 for two
    assert (mean.size_bytes, mean.time_us) == (1 << 20, 1500.0)
    assert mean.algorithm_gb_s == pytest.approx(0.699, abs=1e-3)
    assert single.what == "collective all_reduce one-shot"
    assert single.value.p50 == pytest.approx((1 << 20) / 1e9 / 2e-3)


def test_collectives_after_one_that_failed_are_told_too(tmp_path: Path) -> None:
    body = CHILD.replace(
        "    slow = ", '    if key.startswith("all_gather"): time.sleep(3); raise SystemExit("gone")\n    slow = '
    )
    results = Results(devices=(Device("cpu", "cpu"),))
    list(run(runner(tmp_path, body), plan(["collectives"], "quick", "cpu"), results))
    assert [(m.what, m.outcome) for m in results.measurements if m.shape == "8B"] == [
        ("collective all_reduce all", "ran"), ("collective all_gather", "crashed"),
        ("collective reduce_scatter", "not-run"), ("collective all_to_all", "not-run"),
    ]  # fmt: skip


def test_a_rank_that_dies_ends_the_others(tmp_path: Path) -> None:
    body = CHILD.replace(
        "for case in", "if request.get('rank') == 1: raise SystemExit('rank 1 failed')\ntime.sleep(600)\nfor case in"
    )
    results = Results(devices=(Device("cpu", "cpu"),))
    list(run(runner(tmp_path, body, silence_s=60), plan(["collectives"], "quick", "cpu"), results))
    assert (results.measurements[0].outcome, results.measurements[0].detail) == (
        "crashed",
        "exited with 1: rank 1 failed",
    )


def test_what_a_child_sends_may_be_anything() -> None:
    case = {"what": "gemm", "dtype": "bfloat16", "shape": "8x8x8"}
    sent: list[Any] = [None, [], {"matmul": None}, {"matmul": ["x", None]}, {"x" * 500: [1]}, 7]
    for times in sent:
        (one,) = measured(case, {"times": times, "wrong": {"a": 1}, "error": "x"}, Device("cpu", "cpu"), Clocks())
        assert one.value is None or one.value.repeats == 1


def test_bus_bandwidth() -> None:
    assert (bus_factor("all_reduce", 8), bus_factor("all_gather", 8)) == (1.75, 0.875)
    assert (bus_factor("reduce_scatter", 4), bus_factor("all_to_all", 2)) == (0.75, 0.5)


# --- results


def one(key: str, p50: float, unit: str = "TFLOP/s", half: float = 1.0, **more: Any) -> Measurement:
    value = Spread(p50=p50, low=p50 - half, high=p50 + half, repeats=100, coverage=0.96)
    return Measurement(key=key, what=key, dtype="bfloat16", shape="-", device="cpu", unit=unit, value=value, **more)


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    results = Results([one("gemm", 100)], (Device("cpu", "cpu"),), {"torch": "2.9.1"})
    data = saved.as_data(results, "2026-11-21T00:00:00", "quick", {})
    assert data["measurements"][0]["baseline"] == "no baseline"
    (tmp_path / "a.json").write_text(json.dumps(data))
    assert saved.load(tmp_path / "a.json") == (data, (one("gemm", 100),))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": "doctor.bench/2"}', "[" * 100_000,
                                  '{"schema": "doctor.bench/1", "measurements": [{"key": 1}]}'])  # fmt: skip
def test_what_is_no_result_is_told(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match="is not a result of"):
        saved.load(path)


# --- TunableOp

CSV = """Validator,PT_VERSION,2.6.0
Validator,ROCM_VERSION,6.3.0.0-39
Validator,GCN_ARCH_NAME,gfx90a:sramecc+:xnack-
GemmTunableOp_BFloat16_TN,tn_6144_8_2560_ld_2560_2560_6144,Gemm_Hipblaslt_6849,0.200725
GemmStridedBatchedTunableOp_Half_NT,nt_64_64_128_B_16_ld_64_64_64,Gemm_Rocblas_45,0.01
GemmTunableOp_float_NN,nn_8192_8192_8192_ld_8192_8192_8192,Default,9.5
nonsense
"""


def test_entries_of_a_results_file() -> None:
    found = entries(CSV)
    assert [e.library for e in found] == ["hipblaslt", "rocblas", "default"]
    assert (found[0].sizes, found[0].ms, found[1].batch) == ((6144, 8, 2560), 0.200725, 16)
