"""Real products of a real torch for CPU, end to end: `doctor blas --prove` and `doctor bench`.

DOCTOR_CPU_TORCH_ENV names an environment with torch (CI makes one: .ci/torch); without it the tests skip, and with
DOCTOR_REQUIRE_TORCH they fail.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doctor.bench import tunableop
from doctor.bench.plan import COLLECTIVES, plan
from doctor.bench.results import Device, Results
from doctor.bench.run import devices, run
from doctor.bench.runner import SCRIPT, Runner
from doctor.blas.prove import SCRIPT as PROVE
from doctor.errors import InputError
from doctor.parsers.blas import tunableop_csv
from doctor.report.bench import text
from doctor.system.live import LiveSystem
from doctor.system.user_python import Bounds, Child, environment, trusted

ENVIRONMENT = os.environ.get("DOCTOR_CPU_TORCH_ENV")
pytestmark = pytest.mark.skipif(
    not ENVIRONMENT and not os.environ.get("DOCTOR_REQUIRE_TORCH"),
    reason="DOCTOR_CPU_TORCH_ENV names no environment with torch",
)


@pytest.fixture(scope="module")
def python() -> str:
    assert ENVIRONMENT, "DOCTOR_REQUIRE_TORCH is set, and DOCTOR_CPU_TORCH_ENV is not"
    return str(Path(ENVIRONMENT) / "bin/python")


def doctor(*words: str) -> tuple[int, Any]:
    argv = [sys.executable, "-m", "doctor", *words, "--python", str(ENVIRONMENT), "--format", "json"]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
    assert ran.stdout, ran.stderr
    return ran.returncode, json.loads(ran.stdout)


@pytest.fixture
def runnable(python: str) -> None:
    """As root the doctor refuses an environment that others can write, and says so; that is another test."""
    try:
        trusted(python)
    except InputError as refused:
        pytest.skip(str(refused))


@pytest.mark.usefixtures("runnable")
def test_what_products_of_a_cpu_run_on(python: str) -> None:
    code, told = doctor("blas", "--prove")
    ran = {p["key"]: p for p in told["proofs"]}
    assert (code, told["schema"], told["findings"]) == (0, "doctor.blas/1", [])
    assert ran["mm/float32"]["library"] in ("mkl", "openblas", "onednn")
    assert ran["mm/float32"]["calls"][0].startswith(("MKL_VERBOSE", "onednn_verbose"))
    assert ran["mm/float32"]["file"].endswith(".so")
    assert all(p["outcome"] in ("ran", "not-run", "refused") for p in ran.values())


@pytest.mark.usefixtures("runnable")
def test_products_measured_kept_and_compared(python: str, tmp_path: Path) -> None:
    _, told = doctor("bench", "gemm", "--device", "cpu")
    keys = [m["what"] for m in told["measurements"]]
    assert keys == ["gemm matmul", "gemm linear", "gemm matmul-bias", "gemm linear-bias"]
    assert all(m["value"]["p50"] > 0 and m["baseline"] == "no baseline" for m in told["measurements"])
    assert all(m["outcome"] == "ran" and m["relative_error"] < 0.015 for m in told["measurements"])
    kept = tmp_path / "a.json"
    kept.write_text(json.dumps(told))
    argv = [sys.executable, "-m", "doctor", "bench", "compare", str(kept), str(kept)]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0
    assert ran.stdout.count("same ") + ran.stdout.count("uncertain ") == 4


def test_collectives_of_two_processes(python: str) -> None:
    results = Results(devices=(Device("cpu", "cpu"),))
    list(run(Runner(python, dict(os.environ), LiveSystem()), plan(["collectives"], "quick", "cpu"), results))
    assert {(m.outcome, m.detail) for m in results.measurements} == {("ran", None)}
    ways = {(m.what.removeprefix("collective "), m.shape) for m in results.measurements}
    both, one = ("all_gather", "reduce_scatter"), (("all_reduce", "in-place"), ("all_to_all", "out-of-place"))
    back_to_back = [(name, way) for name in both for way in ("in-place", "out-of-place")] + [*one]
    assert ways == {(f"{name} {way}", size) for name, way in back_to_back for size in ("8B", "1MiB")} | {
        (f"{name} one-shot", "1MiB") for name in (*both, "all_reduce", "all_to_all")
    }
    assert {m.size_bytes for m in results.measurements} == {8, 1 << 20}
    of_all_reduce = next(m for m in results.measurements if m.what == "collective all_reduce in-place")
    assert of_all_reduce.value is not None
    assert of_all_reduce.value.p50 == pytest.approx(of_all_reduce.algorithm_gb_s)  # 2 (n - 1) / n of two


def test_a_log_line_belongs_to_its_product(python: str) -> None:
    """Products of two types alternately: each type's lines come with its own case."""
    cases = ["mm/float32", "mm/bfloat16", "bmm/float32", "bmm/bfloat16"]
    environ = environment(os.environ, {"MKL_VERBOSE": "1", "ONEDNN_VERBOSE": "1"})
    child = Child(python, PROVE, {"cases": cases, "device": "cpu"}, environ, Bounds(300, 120))
    logs = {e["case"]: e["log"] for e in child.events() if e.get("event") == "case"}
    assert child.ended.state == "finished"
    for case, log in logs.items():
        assert "DGEMM" not in log, "the reference is no product of the case"
        assert ("SGEMM" in log) == case.endswith("float32")


@pytest.mark.usefixtures("runnable")
def test_a_report_with_bars(python: str, tmp_path: Path) -> None:
    (measured, page), bench = (tmp_path / "m.json", tmp_path / "m.html"), [sys.executable, "-m", "doctor", "bench"]
    copies = [*bench, "copy", "--device", "cpu", "--python", python, "--format", "json", "-o", str(measured)]
    for argv in (copies, [*bench, "report", str(measured), "-o", str(page)]):
        assert subprocess.run(argv, capture_output=True, timeout=300, check=False).returncode == 0
    assert '<rect class="bar"' in page.read_text()
    assert "triad memory float64 64MiB" in page.read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("runnable")
def test_a_quick_run_of_everything_is_over_within_a_minute(python: str) -> None:
    """The whole command: start, facts, torch's import in each process, all cases, the end. On a busy machine too."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        began = time.monotonic()
        _, told = doctor("bench", "--device", "cpu")
        took = time.monotonic() - began
    finally:
        for one in busy:
            one.kill()
            one.wait()
    assert took <= 60
    assert {m["outcome"] for m in told["measurements"]} <= {"ran", "not-run"}
    assert any(m["outcome"] == "ran" for m in told["measurements"])


ENTRIES = {
    "GemmTunableOp_float_TN,tn_96_16_64_ld_64_64_96": ("SGEMM(T,N,96,16,64,", "mm"),
    "GemmTunableOp_float_NN,nn_96_16_64_ld_96_64_96": ("SGEMM(N,N,96,16,64,", "mm"),
    "GemmTunableOp_float_NT,nt_96_16_64_ld_96_16_96": ("SGEMM(N,T,96,16,64,", "mm"),
    "GemmTunableOp_float_TT,tt_96_16_64_ld_64_16_96": ("SGEMM(T,T,96,16,64,", "mm"),
    "GemmTunableOp_double_TN,tn_96_16_64_ld_64_64_96": ("DGEMM(T,N,96,16,64,", "mm"),
    "GemmAndBiasTunableOp_float_TN,tn_96_16_64_ld_64_64_96": ("SGEMM(T,N,96,16,64,", "addmm"),
    "GemmStridedBatchedTunableOp_float_NT,nt_96_16_64_B_4_ld_96_16_96": ("SGEMM_BATCH(N,T,", "bmm"),
}
ASK = """
import importlib.util, json, sys
folder, cases = sys.argv[1], json.loads(sys.argv[2])
import torch
def part(name):
    spec = importlib.util.spec_from_file_location(name, folder + "/" + name + ".py")
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]
part("bench_cases")
tuned = part("bench_tuned")
for case in cases:
    ways, check = tuned.ways_of(torch, case, "cpu")
    print("BEGIN", case["key"], flush=True)
    next(iter(ways.values()))()
    print("CHECK", json.dumps(check()), flush=True)
"""


def test_an_entry_of_tunableop_is_measured_by_the_product_that_it_names(python: str) -> None:
    """MKL says which product was asked for: transposes and sizes as BLAS counts them, which TunableOp writes too."""
    text = "".join(f"{key},Gemm_Rocblas_1,0.1\n" for key in ENTRIES)
    cases, refused = tunableop.cases_of(tunableop_csv.entries(text))
    assert (len(cases), refused) == (len(ENTRIES), [])
    scripts = Path(tunableop.__file__).parent / "scripts"
    environ = {**os.environ, "MKL_VERBOSE": "1"}
    ran = subprocess.run([python, "-c", ASK, str(scripts), json.dumps(cases)], capture_output=True, text=True,
                         timeout=120, env=environ, check=True)  # fmt: skip
    if "MKL_VERBOSE" not in ran.stdout:
        pytest.skip("this torch was built without MKL")
    for part in ran.stdout.split("BEGIN ")[1:]:
        key, _, told = part.partition("\n")
        assert ENTRIES[key.replace("/", ",")][0] in told.partition("CHECK")[0], part
        assert json.loads(told.rpartition("CHECK ")[2].strip().splitlines()[0])[1] is None


SCALED = """
scaled = part("bench_scaled")
for device, broken in (("cpu", False), ("cpu", True)):
    ways, check, recipes = scaled.float8(torch, 64, 96, 128, device)
    real = torch._scaled_mm
    if broken:  # a library that leaves the scale of A out: with a scale of 1.0 nobody sees it
        torch._scaled_mm = lambda a, b, scale_a, **more: real(a, b, scale_a=torch.ones(()), **more)
    print(json.dumps([list(ways), check()[1], recipes["matmul-amax"]]))
    torch._scaled_mm = real

FP4 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
def decoded(packed):
    return torch.tensor([[(-1) ** (c >> 3) * FP4[c & 7] for byte in row for c in (byte & 15, byte >> 4)]
                         for row in packed.view(torch.uint8).tolist()])
def unpacked(a, b, scale_a, scale_b, out_dtype):
    assert (scale_a.numel(), scale_b.numel(), scale_a.dtype) == (128 * 4, 128 * 4, kind), scale_a
    return (decoded(a) @ decoded(b.t()).t()).to(out_dtype)
torch._scaled_mm = unpacked
for hip, arch, kind in ((None, "", torch.float8_e4m3fn), ("7.0", "gfx950:sramecc+", torch.float8_e8m0fnu)):
    torch.version.hip, sys.modules["bench_cases"].gfx = hip, lambda torch, device: arch
    for capability in ((10, 0), (9, 0)):
        torch.cuda.get_device_capability = lambda device: capability
        try:
            ways, check, recipes = scaled.float4(torch, 48, 80, 64, "cpu")
            print(json.dumps([list(ways), check()[1], recipes["matmul"]]))
        except sys.modules["bench_cases"].Absent as absent:
            print(json.dumps([[], None, str(absent)]))
"""


def test_products_of_fp8_and_fp4_by_their_recipes(python: str) -> None:
    """FP8 by torch's own code for a CPU. For FP4 it has none: what was packed is decoded and multiplied here."""
    scripts = Path(tunableop.__file__).parent / "scripts"
    argv = [python, "-c", ASK.partition("tuned =")[0] + SCALED, str(scripts), "[]"]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True)
    whole, without_scale, *fp4 = map(json.loads, ran.stdout.splitlines())
    assert whole[:2] == [["matmul", "matmul-amax", "matmul-fast"], None]
    assert "that of A from its amax in each call" in whole[2]
    assert "cuBLASLt" in whole[2]
    assert without_scale[1].startswith("matmul-amax: relative error")
    assert [(wrong, "blocks" in said or "for each" in said) for _, wrong, said in fp4] == [
        (None, True), (None, False), (None, True), (None, True),
    ]  # fmt: skip
    assert "float8_e8m0fnu) for each 32 values" in fp4[2][2]
    assert fp4[1] == [[], None, "this GPU has no FP4"]


def test_what_this_torch_lacks_is_not_run_and_no_failure(python: str) -> None:
    """Without triton there is no kernel that reads the L2; the next case goes on."""
    cases = [
        {"what": "l2", "dtype": "float32", "shape": "64MiB"},
        {"what": "copy", "dtype": "float64", "shape": "1MiB"},
    ]
    request = {"mode": "measure", "device": "cpu", "cases": cases, "repeats": 10, "budget_s": 1.0, "flush": 1 << 20}
    child = Child(python, SCRIPT, request, environment(os.environ, {}), Bounds(120, 60))
    sent = [event for event in child.events() if event.get("event") == "case"]
    assert (sent[0]["outcome"], sent[0]["detail"]) == ("not-run", "triton is not installed, whose kernel it needs")
    assert sorted(sent[1]["times"]) == ["copy", "scale", "triad"]


_ON_A_GPU = {
    "gemm": [("float32", "64x64x64"), ("float8", "64x64x64"), ("float4", "64x64x64")],
    **{"copy": [("float64", "1MiB")], "host": [("bytes", "1MiB")], "p2p": [("bytes", "1MiB")]},
    "attention": [("float32", "1x2x32x16")],
    **{"launch": [("float32", "1")], "decode": [("float32", "16x64x64")]},
}


def test_the_cases_of_a_gpu_run_to_their_end_with_a_stand_in_for_cuda(python: str) -> None:
    """Their control flow and their checks of values: the times are the CPU's."""
    runner = Runner(python, os.environ, LiveSystem(), script=Path(__file__).with_name("cuda_stand_in.py"))
    found = devices(runner, None)
    assert [(d.torch, d.pci, d.part) for d in found.devices] == [
        ("cuda:0", "0000:05:00.0", None),
        ("cuda:1", "0000:06:00.0", None),
    ]
    cases = tuple({"what": w, "dtype": d, "shape": s} for w, rows in _ON_A_GPU.items() for d, s in rows)
    together = [{"what": what, "dtype": "float32", "shape": "8B", "one_shot": True} for what in COLLECTIVES]
    todo = replace(plan(["gemm"], "quick", "cuda:0", 2), cases=cases, collectives=tuple(together), budget_s=0.1)
    for _ in run(runner, replace(todo, warm_s=0.0, total_s=200.0, silence_s=100.0, reserved_s=0.0), found):
        pass
    outcomes = {(m.what, m.dtype): m.outcome for m in found.measurements if m.device != "cuda:1"}
    assert outcomes.pop(("gemm", "float4")) == "not-run"
    assert set(outcomes.values()) == {"ran"}, found.measurements
    ways = [what for what, dtype in outcomes if dtype != "float8"]
    assert ways == [
        *(f"gemm {way}" for way in ("matmul", "linear", "matmul-bias", "linear-bias")),
        *(f"{way} memory" for way in ("copy", "scale", "triad")),
        *(f"copy to-{way}" for way in ("device", "host", "device-pageable", "host-pageable")),
        *("p2p to cuda:1", "attention forward", "attention backward"),
        *(f"{case} {way}" for case in ("launch", "decode") for way in ("eager", "graph")),
        *("collective all_reduce in-place", "collective all_reduce one-shot"),
        *(f"collective {what} {way}" for what in COLLECTIVES[1:3] for way in ("out-of-place", "in-place", "one-shot")),
        *("collective all_to_all out-of-place", "collective all_to_all one-shot"),
    ]
    table = text(found.software, found.measurements, {}, ()).partition("\nCopies between GPUs")[2].splitlines()
    assert [row.split()[:1] for row in table[1:]] == [["cuda:0"], ["cuda:0"], ["cuda:1"]]
