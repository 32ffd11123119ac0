"""Triage takes every format of reports; those that hold one report take one file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.cli.main import run


def test_a_log_becomes_sarif_and_several_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "a.log"
    log.write_text("AssertionError: Torch not compiled with CUDA enabled\n")
    run(["triage", str(log), "--format", "sarif", "--fail-on", "never"])
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert "torch-cpu-only-build" in {result["ruleId"] for result in results}
    assert run(["triage", str(log), str(log), "--format", "sarif"]) == 2
    assert "sarif holds one report" in capsys.readouterr().err
