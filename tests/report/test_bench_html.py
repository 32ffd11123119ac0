"""The page of `doctor bench report`: its numbers, and hostile text of a result file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.bench import saved
from doctor.cli.main import run
from doctor.report.bench_html import page


def result(folder: Path, **more: Any) -> Path:
    value = {"p50": 500.0, "low": 490.0, "high": 510.0, "repeats": 100, "coverage": 0.9648}
    clocks = {"sm_mhz": 1400, "throttle": ["power cap"], "readings": 3, "throttled_readings": 2}
    row = {"key": "k", "what": "gemm matmul", "dtype": "bfloat16", "shape": "8192x8192x8192", "device": "cuda:0",
           "unit": "TFLOP/s", "value": value, "warm": value, "peak": 1000.0, "clocks": clocks,
           "baseline": {"value": 625.0, "kind": "published minimum"}, **more}  # fmt: skip
    gone = {
        **row,
        "key": "g",
        "value": None,
        "outcome": "refused",
        "detail": "no such kernel",
        "baseline": "no baseline",
    }
    path = folder / "a.json"
    made = {"schema": "doctor.bench/1", "when": "2026-11-23", "level": "full", "software": {"torch": "2.13.0"}}
    path.write_text(json.dumps({**made, "devices": [{"name": "AMD MI300X"}], "measurements": [row, gone]}))
    return path


def test_each_number_stands_beside_its_peak_and_its_baseline(tmp_path: Path) -> None:
    made = page(*saved.load(result(tmp_path)))
    for said in ("500 TFLOP/s", "490 to 510 in 96% of runs, 100 repeats", "50% of 1000", "AMD MI300X",
                 "80% of 625, published minimum",
                 "THROTTLED by power cap in 2 of 3 readings", "refused: no such kernel",
                 "1 with a baseline"):  # fmt: skip
        assert said in made


def test_text_of_a_result_file_is_no_markup(tmp_path: Path) -> None:
    made = page(*saved.load(result(tmp_path, method="<script>alert(1)</script>", what="<img src=x>\x1b[31m")))
    assert "<script>" not in made
    assert "<img" not in made
    assert "\x1b" not in made


def test_a_page_is_written_for_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "b.html"
    assert run(["bench", "report", str(result(tmp_path)), "-o", str(out)]) == 0
    assert out.read_text().endswith("</html>\n")
    assert run(["bench", "report"]) == 2
    assert "takes one result file" in capsys.readouterr().err
