"""`doctor blas` and `doctor bench`: what they refuse, and what they predict for a tree, without running anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.cli import measured
from doctor.cli.main import run
from doctor.errors import InputError
from doctor.facts import Snapshot
from tests.rules.machines import build, mi300x_host


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["blas", "--format", "xml"], "(choose from text, json)"),
        (["blas", "--prove", "--from", "."], "cannot be combined with --from"),
        (["blas", "--device", "gpu"], "(cpu, cuda or cuda:N)"),
        (["blas", "--from", "/nowhere"], "no such file or folder"),
        (["bench", "--device", "gpu"], "(cpu or cuda:N)"),
        (["bench", "--memory", "0"], "1 to 4096 GiB"),
        (["bench", "-o", "/nowhere/out.json"], "cannot write to /nowhere; nothing was measured"),
        (["bench", "gem"], "invalid case 'gem' (choose from gemm, copy"),
        (["bench", "compare", "a", "b", "--format", "html"], "(choose from text, json)"),
        (["bench", "compare", "a.json"], "takes pairs of result files"),
        (["bench", "compare", "/nowhere/a.json", "/nowhere/b.json"], "No such file or directory"),
        (["bench", "--python", "/nowhere/python"], "no such file or folder"),
    ],
)
def test_what_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    machine = mi300x_host({"torch.version": "2.7.1+rocm6.3", "torch.rocm": "6.3", "torch.build": "rocm",
                           "environment": {"DISABLE_ADDMM_CUDA_LT": "1"}})  # fmt: skip
    monkeypatch.setattr(measured, "facts", lambda system, python: machine)
    return machine


@pytest.mark.usefixtures("told")
def test_a_prediction_with_its_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["blas"]) == 0
    text = capsys.readouterr().out
    assert "torch 2.7.1+rocm6.3 for rocm 6.3" in text
    assert "hipBLASLt: mm, addmm, linear, bmm, baddbmm (fp32 bf16 fp16)" in text
    assert "because every visible GPU (gfx942) is preferred [" in text
    assert "because DISABLE_ADDMM_CUDA_LT=1 disables the fused path [environment:DISABLE_ADDMM_CUDA_LT]" in text
    assert "To run one small product of each kind: doctor blas --prove" in text


@pytest.mark.usefixtures("told")
def test_json_tells_that_nothing_was_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["blas", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["proofs"], found["process"]) == ("doctor.blas/1", None, None)
    assert {p["library"] for p in found["predictions"] if p["entry"] == "mm"} == {"hipblaslt"}


@pytest.mark.usefixtures("told")
def test_nothing_is_run_for_a_python_without_a_path(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "facts", lambda system, python: mi300x_host({"interpreter": None}))
    assert run(["blas", "--prove"]) == 2
    assert "pass the interpreter that has torch with --python" in capsys.readouterr().err


def test_without_torch_there_is_nothing_to_predict(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "facts", lambda system, python: build({"torch.installed": False}))
    assert run(["blas"]) == 2
    assert "torch was not found" in capsys.readouterr().err


def test_a_python_without_torch_is_not_run() -> None:
    with pytest.raises(InputError, match="has no torch"):
        measured.interpreter(build({"interpreter.path": "usr/bin/python3", "torch.installed": False}))


def test_the_history_of_a_run_is_compared_with_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    for name, p50 in (("a", 100.0), ("b", 80.0)):
        value = {"p50": p50, "low": p50 - 1, "high": p50 + 1, "repeats": 100, "coverage": 0.96}
        row = {"key": "g", "what": "g", "dtype": "-", "shape": "-", "device": "cpu", "unit": "TFLOP/s", "value": value}
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps({"schema": "doctor.bench/1", "when": name, "measurements": [row]}))
    assert run(["bench", "compare", *map(str, paths)]) == 1
    assert "worse        g 100 -> 80 TFLOP/s (x0.800)" in capsys.readouterr().out
    assert run(["bench", "compare", *map(str, reversed(paths)), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["verdict"] == "better"
