"""The tables are what the refresh makes of the facts: nothing was edited by hand, and a second run changes nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import SHARED

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "facts").exists(), reason="the folder of facts is not here")
def test_a_refresh_changes_nothing() -> None:
    argv = [sys.executable, "scripts/refresh_knowledge.py", str(SHARED / "facts"), "--check"]
    ran = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert (ran.returncode, ran.stdout) == (0, "changed: none\n"), ran.stderr
