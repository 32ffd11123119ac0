"""Real products of a real torch for CPU, end to end: `doctor blas --prove` and `doctor bench`.

DOCTOR_CPU_TORCH_ENV names an environment with torch (CI makes one: .ci/torch); without it the tests skip, and with
DOCTOR_REQUIRE_TORCH they fail.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from doctor.bench.plan import plan
from doctor.bench.results import Device, Results
from doctor.bench.run import Runner, run
from doctor.blas.prove import SCRIPT as PROVE
from doctor.errors import InputError
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


def doctor(*words: str, state: Path) -> tuple[int, Any]:
    environ = {**os.environ, "XDG_STATE_HOME": str(state)}
    argv = [sys.executable, "-m", "doctor", *words, "--python", str(ENVIRONMENT), "--format", "json"]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=600, env=environ, check=False)
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
def test_what_products_of_a_cpu_run_on(python: str, tmp_path: Path) -> None:
    code, told = doctor("blas", "--prove", state=tmp_path)
    ran = {p["key"]: p for p in told["proofs"]}
    assert (code, told["schema"], told["findings"]) == (0, "doctor.blas/1", [])
    assert ran["mm/float32"]["library"] in ("mkl", "openblas", "onednn")
    assert ran["mm/float32"]["calls"][0].startswith(("MKL_VERBOSE", "onednn_verbose"))
    assert ran["mm/float32"]["file"].endswith(".so")
    assert all(p["outcome"] in ("ran", "not-run", "refused") for p in ran.values())


@pytest.mark.usefixtures("runnable")
def test_products_measured_kept_and_compared(python: str, tmp_path: Path) -> None:
    _, told = doctor("bench", "gemm", "--device", "cpu", state=tmp_path)
    keys = [m["what"] for m in told["measurements"]]
    assert keys == ["gemm matmul", "gemm linear", "gemm linear-bias"] * 2
    assert all(m["value"]["p50"] > 0 and m["baseline"] == "no baseline" for m in told["measurements"])
    assert all(m["outcome"] == "ran" and m["relative_error"] < 0.015 for m in told["measurements"])
    kept = tmp_path / "rocm-cuda-doctor/bench.jsonl"
    assert json.loads(kept.read_text())["when"] == told["when"]
    argv = [sys.executable, "-m", "doctor", "bench", "compare", str(kept), str(kept)]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0
    assert ran.stdout.count("same ") == 6


def test_collectives_of_two_processes(python: str) -> None:
    results = Results(devices=(Device("cpu", "cpu"),))
    list(run(Runner(python, dict(os.environ), LiveSystem()), plan(["collectives"], "quick", "cpu"), results))
    assert [(m.what, m.outcome, m.detail) for m in results.measurements] == [
        (f"collective {name}", "ran", None) for name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    ]


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
