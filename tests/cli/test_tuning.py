"""`doctor bench tune`: what it writes, prints and refuses, with a stand-in for the measuring script; and progress."""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from doctor.bench.runner import Runner
from doctor.cli import waiting
from doctor.cli.site_options import Destination
from doctor.cli.tuning import tune
from doctor.errors import InputError
from tests.bench.test_bench import runner
from tests.rules.machines import build, mi300x_host

TUNER = """
import json, os, sys
request, out = json.loads(sys.argv[1]), os.fdopen(int(sys.argv[2]), "w")
def send(**e):
    out.write(json.dumps(e) + "\\n"); out.flush()
if request["mode"] == "tune":
    open(request["file"], "w").write("Validator,PT_VERSION,2.9.1\\n"
        "GemmTunableOp_BFloat16_NN,nn_512_512_512_ld_512_512_512,Gemm_Hipblaslt_7,0.1\\n")
else:
    send(event="loaded", taken=True, validators=[])
for case in request["cases"]:
    send(event="begin", case=case["key"])
    if request["mode"] == "tune":
        send(event="tuned", case=case["key"])
        continue
    name = case.get("solution", "matmul")
    send(event="case", case=case["key"], times={name: [1.0] * 20, name + "+tuned": [SLOW] * 20}, wrong=WRONG)
"""


def made(tmp_path: Path, slow: float = 0.9, wrong: str | None = None) -> Runner:
    return runner(tmp_path, TUNER.replace("SLOW", str(slow)).replace("WRONG", repr(wrong)), silence_s=30)


def run(tmp_path: Path, output: Path | None, results: Path | None = None, **more: Any) -> int:
    machine = mi300x_host({"torch.version": "2.9.1+rocm7.0", "torch.rocm": "7.0"})
    return tune(machine, made(tmp_path, **more), "cuda:0", ["512x512x512"], 5.0, results, "text", Destination(output))


def test_results_are_written_where_torch_finds_them_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, tmp_path / "tuned.csv") == 0
    told = capsys.readouterr().out
    assert "1 entries tuned within 5 s" in told
    assert f"PYTORCH_TUNABLEOP_FILENAME={tmp_path}/tuned.csv" in told
    assert "matmul/bfloat16/512x512x512: 0.900 of the default's time" in told
    assert (tmp_path / "tuned0.csv").read_text().startswith("Validator,PT_VERSION,2.9.1")
    with pytest.raises(InputError, match="does not overwrite it"):
        run(tmp_path, tmp_path / "tuned.csv")


def test_entries_of_a_file_are_measured_again_and_a_slow_or_wrong_one_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "results0.csv"
    entry = "GemmTunableOp_BFloat16_TN,tn_6144_8_2560_ld_2560_2560_6144,Gemm_Rocblas_3,0.2\n"
    file.write_text(f"Validator,PT_VERSION,2.9.1\n{entry}")
    assert run(tmp_path, None, file) == 0
    assert "1 entries: 1 rocblas" in capsys.readouterr().out
    assert run(tmp_path, None, file, slow=1.4) == 1
    assert "takes 1.40 times the default. [tunableop-entry-slow]" in capsys.readouterr().out
    assert run(tmp_path, None, file, wrong="relative error 0.5") == 1
    assert "error: TunableOp's entry for" in capsys.readouterr().out
    assert file.read_text() == f"Validator,PT_VERSION,2.9.1\n{entry}", "the file itself is left alone"


def test_without_a_gpu_a_file_is_judged_and_nothing_is_tuned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = build({"torch.version": "2.13.0+cpu", "torch.build": "cpu"})
    file = tmp_path / "r.csv"
    file.write_text("Validator,PT_VERSION,2.6.0\n")
    assert tune(machine, made(tmp_path), None, [], 5.0, file, "json", Destination(tmp_path / "o.json")) == 1
    assert capsys.readouterr().out == ""
    said = json.loads((tmp_path / "o.json").read_text())["lines"]
    assert "stale, so torch ignores it: PT_VERSION 2.6.0, torch is 2.13.0+cpu" in said
    with pytest.raises(InputError, match="torch sees none here"):
        tune(machine, made(tmp_path), None, [], 5.0, None, "text", Destination(None))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("columns", "longest"), [("20", 19), ("500", 100), ("1", 1), ("0", 100)])
def test_the_line_of_progress_fits_the_terminal(columns: str, longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that wraps could not be taken away again."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", columns)
    waiting.say("x" * 200)
    assert 1 <= screen.getvalue().count("x") <= longest
    waiting.hush()
    assert screen.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(("screen", "shown"), [(Terminal(), True), (io.StringIO(), False)])
def test_what_takes_long_says_so_on_a_terminal_and_takes_it_away(
    screen: io.StringIO, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(waiting, "_QUIET_S", 0.01)
    with waiting.waiting("Reading this machine"):
        time.sleep(0.05)
    assert ("Reading this machine, 0 s" in screen.getvalue()) is shown
    assert screen.getvalue().endswith("\r\x1b[K") is shown
