"""The user guide builds without a warning, and has a page for each rule and a section for each command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.engine.registry import checks
from tests.cli.parsing import program

REPO = Path(__file__).resolve().parents[2]


def test_the_guide_builds_strictly_with_a_page_for_each_rule(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="mkdocs-material is not installed (pip install --group docs)")
    argv = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = {
        **os.environ,
        "PYTHONPATH": str(REPO),
        "DISABLE_MKDOCS_2_WARNING": "true",
        "NO_MKDOCS_2_WARNING": "1",
    }
    done = subprocess.run(argv, cwd=REPO, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    pages = {p.parent.name for p in (tmp_path / "site/rule").glob("*/index.html")}
    assert pages == {c.rule.id for c in checks()}
    page = (tmp_path / "site/commands/index.html").read_text("utf-8")
    assert [name for name in program().commands if f'id="doctor-{name}"' not in page] == []
