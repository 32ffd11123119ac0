"""The user guide builds without a warning, has a page for each rule, and its how-to pages lead where they say."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.diagnosis.registry import checks

REPO = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```\w+ title=\"([^\"]+)\"\n(.*?)^```$|^    \$ ([^\n]+)$", re.M | re.S)


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


@pytest.mark.slow
@pytest.mark.parametrize("page", ["how-to-rule.md", "how-to-reader.md", "how-to-profile.md"])
def test_following_the_page_in_a_fresh_clone_works(page: str, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(REPO), str(clone)], check=True, timeout=120)
    shutil.copytree(REPO / "docs", clone / "docs", dirs_exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(clone)}
    steps = 0
    for file, text, command in BLOCK.findall((REPO / "docs" / page).read_text()):
        steps += 1
        if file:
            (clone / file).write_text(text)
            continue
        program, *words = shlex.split(command)
        assert program == "python"
        done = subprocess.run(
            [sys.executable, *words], cwd=clone, capture_output=True, text=True, timeout=600, env=environment
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-1000:]}"
    assert steps >= 3
