"""`doctor bench` and `doctor blas --prove` with a real torch that was broken on purpose: a finding, never a crash.

They need DOCTOR_CPU_TORCH_ENV, as tests/live/test_real_products.py does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.live.faulty_torch import ENVIRONMENT, broken, doctor, needs_torch

pytestmark = needs_torch
DIES = "ctypes.string_at(0)"
TAKES_ALL = """
held = []
while True:
    held.append(bytearray(b'x' * (32 << 20)))
    time.sleep(0.01)
"""


def replaced(name: str, body: str) -> str:
    """`torch.NAME` or `F.NAME` becomes a function of `*given, **more` with `whole` being what it was."""
    lines = "".join(f"        {line}\n" for line in body.strip().splitlines())
    return f"def make(whole):\n    def spoilt(*given, **more):\n{lines}    return spoilt\n{name} = make({name})"


def told(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert ran.stdout, ran.stderr
    assert "Traceback" not in ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def bench(fault: str, *more: str) -> tuple[int, dict[str, Any]]:
    with broken(fault) as python:
        ran = doctor("bench", "attention", "--device", "cpu", "--python", str(python), "--format", "json", *more)
    return ran.returncode, told(ran)


def test_wrong_values_and_a_death_cost_their_own_cases_alone() -> None:
    wrong = replaced("F.linear", "made = whole(*given, **more).clone()\nmade[3, 5] += 100\nreturn made")
    dies = replaced("F.scaled_dot_product_attention", DIES)
    with broken(f"{wrong}\n{dies}") as python:
        ran = doctor("bench", "gemm", "attention", "copy", "--device", "cpu", "--python", str(python),
                     "--format", "json")  # fmt: skip
    found = told(ran)
    assert ran.returncode == 1
    assert {(m["what"].split()[0], m["outcome"]) for m in found["measurements"]} == {
        ("gemm", "wrong"), ("attention", "crashed"), ("copy", "ran"), ("scale", "ran"), ("triad", "ran"),
    }  # fmt: skip
    assert "died of SIGSEGV" in {m["detail"] for m in found["measurements"]}
    assert {(f["rule"], f["severity"]) for f in found["findings"]} == {
        ("bench-wrong-values", "error"), ("bench-case-failed", "error"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "outcome", "rule", "said"),
    [
        (TAKES_ALL, "out-of-memory", "bench-case-failed", "1024 is allowed"),
        pytest.param(
            "return whole(*given, **more) * 1.5",
            "wrong",
            "bench-wrong-values",
            "relative error 0.5",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "raise RuntimeError('HIP error: invalid device function')",
            "refused",
            "bench-case-failed",
            "HIP error",
            marks=pytest.mark.slow,
        ),
        pytest.param("time.sleep(600)", "hung", "bench-case-failed", "nothing came for 25 s", marks=pytest.mark.slow),
    ],
)
def test_a_case_that_goes_wrong_is_a_finding(fault: str, outcome: str, rule: str, said: str) -> None:
    code, found = bench(replaced("F.scaled_dot_product_attention", fault), "--memory", "1")
    assert code == 1
    first = found["measurements"][0]
    assert (first["outcome"], said in first["detail"]) == (outcome, True), first
    assert {f["rule"] for f in found["findings"]} == {rule}
    assert {f["severity"] for f in found["findings"]} == {"error"}


@pytest.mark.slow
def test_wrong_gradients_are_seen() -> None:
    fault = """
class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, upstream):
        return upstream * 2

whole = F.scaled_dot_product_attention
F.scaled_dot_product_attention = lambda q, k, v, **more: whole(Doubled.apply(q), k, v, **more)
"""
    code, found = bench(fault)
    assert code == 1
    assert found["measurements"][0]["detail"].startswith("backward dq: relative error 1")


@pytest.mark.slow
def test_one_value_that_is_no_number_is_seen() -> None:
    fault = replaced("F.linear", "made = whole(*given, **more).clone()\nmade[7, 7] = float('nan')\nreturn made")
    with broken(fault) as python:
        ran = doctor("bench", "gemm", "--device", "cpu", "--python", str(python), "--format", "json")
    assert ran.returncode == 1
    assert {m["outcome"] for m in told(ran)["measurements"]} == {"wrong"}


def test_a_bias_that_is_dropped_is_seen() -> None:
    """And nothing else is wrong with these products."""
    with broken(replaced("F.linear", "return whole(*given[:2])")) as python:
        ran = doctor("bench", "gemm", "--device", "cpu", "--python", str(python), "--format", "json")
    details = {m["detail"].partition(":")[0] for m in told(ran)["measurements"]}
    assert (ran.returncode, details) == (1, {"linear-bias"})


def test_products_that_go_wrong_are_findings_and_the_rest_is_proved() -> None:
    fault = "\n".join([replaced("torch.bmm", DIES), replaced("torch.addmm", "return whole(*given, **more) + 1")])
    with broken(fault) as python:
        ran = doctor("blas", "--prove", "--device", "cpu", "--python", str(python), "--format", "json")
    found = told(ran)
    outcomes = {p["key"]: p["outcome"] for p in found["proofs"]}
    assert ran.returncode == 1
    assert {outcomes[f"bmm/{kind}"] for kind in ("float32", "bfloat16", "float16")} == {"crashed"}
    assert outcomes["addmm/float32"] == "wrong"
    assert outcomes["mm/float32"] == outcomes["baddbmm/float32"] == "ran"
    assert {f["rule"] for f in found["findings"]} == {"bench-case-failed", "bench-wrong-values"}


def test_a_torch_that_can_not_be_imported_is_told_in_one_line() -> None:
    with broken("raise ImportError('libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent')") as python:
        ran = doctor("bench", "--python", str(python))
        assert (ran.returncode, ran.stdout) == (2, "")
        assert ran.stderr.count("\n") == 1
        assert "undefined symbol: iJIT_NotifyEvent" in ran.stderr
        proved = doctor("blas", "--prove", "--python", str(python))
    assert (proved.returncode, proved.stdout) == (2, "")
    assert "cannot run a matrix product: exited with 1: ImportError" in proved.stderr


def test_without_a_compiler_compiled_models_are_information(tmp_path: Path) -> None:
    """torch.compile and FlexAttention need one; nothing is wrong with the GPU where it is missing."""
    empty = tmp_path / "bin"
    empty.mkdir()
    environ = {**os.environ, "PATH": str(empty)}
    environ.pop("CXX", None)
    python = f"{ENVIRONMENT}/bin/python"
    argv = [sys.executable, "-m", "doctor", "bench", "compile", "flex", "--level", "full", "--device", "cpu",
            "--python", python, "--format", "json"]  # fmt: skip
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=300, env=environ, check=False)
    found = told(ran)
    assert {m["outcome"] for m in found["measurements"]} == {"refused"}
    assert {(f["rule"], f["severity"]) for f in found["findings"]} == {("bench-case-failed", "info")}
    assert ran.returncode == 0


def test_ctrl_c_ends_the_children_and_keeps_what_was_measured(tmp_path: Path) -> None:
    began = tmp_path / "began"
    hangs = replaced("F.scaled_dot_product_attention", f"open({str(began)!r}, 'w').close()\ntime.sleep(600)")
    with broken(hangs) as python:
        argv = [sys.executable, "-m", "doctor", "bench", "copy", "attention", "--device", "cpu", "--python",
                str(python), "--format", "json", "-o", str(tmp_path / "out.json")]  # fmt: skip
        environ = {**os.environ, "TMPDIR": str(tmp_path)}
        with subprocess.Popen(argv, env=environ, stderr=subprocess.PIPE, text=True) as running:
            for _ in range(600):
                if began.exists():  # the copy is measured; attention hangs
                    break
                time.sleep(0.1)
            running.send_signal(signal.SIGINT)
            _, stderr = running.communicate(timeout=30)
        assert running.returncode == 130, stderr
        assert not _at_work(python, "")
    kept = json.loads((tmp_path / "out.json").read_text())
    assert [m["outcome"] for m in kept["measurements"]] == ["ran"] * 3
    assert "interrupted" in kept["trouble"]
    assert not list(tmp_path.glob("bench-*")), "no scratch folder is left"


def _at_work(python: Path, word: str) -> bool:
    """Whether a measuring process of that Python runs whose request names the word."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
        if words[0] == str(python) and any(w.startswith('{"mode": "measure"') and word in w for w in words):
            return True
    return False
