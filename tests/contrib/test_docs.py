"""The user guide builds without a warning, has a page for each rule, and its how-to pages lead where they say."""

from __future__ import annotations

import os
import re
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
def test_following_the_page_from_a_fresh_clone_works(page: str, tmp_path: Path) -> None:
    """All that the page says, in its order, in one shell: setting up too. Its URL is this repository, as committed."""
    rows = ["set -e"]
    for file, text, command in BLOCK.findall((REPO / "docs" / page).read_text()):
        rows.append(f"cat >{file} <<'END-OF-FILE'\n{text}END-OF-FILE" if file else command.replace("URL", str(REPO)))
        if not file:
            rows.append(f"echo 'did: {len(rows)}'")
    script = tmp_path / "page.sh"
    script.write_text("\n".join(rows) + "\n")
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(["bash", script], cwd=tmp_path, capture_output=True, text=True, timeout=900, env=environment)
    assert done.returncode == 0, f"{done.stdout[-3000:]}{done.stderr[-2000:]}"
    assert done.stdout.count("did: ") == sum("echo 'did: " in row for row in rows) >= 4
