"""A short run of the coverage-guided fuzzer, where atheris is installed (dependency group `fuzz`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.engine
def test_ten_seconds_without_a_fault(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="atheris is not installed (dependency group fuzz)")
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.fuzz_parsers", "-max_total_time=10", "-timeout=10",
         f"-artifact_prefix={tmp_path}/", str(tmp_path / "corpus")],
        capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "DONE" in done.stderr
