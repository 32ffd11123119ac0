"""`--python` with `--root` and `--pid`: an interpreter of that tree, read and never executed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from doctor.cli.main import run


def tree(root: Path) -> Path:
    site = root / "srv/env/lib/python3.11/site-packages"
    site.mkdir(parents=True)
    (root / "srv/env/bin").mkdir()
    (root / "srv/env/bin/python3").write_text("\x7fELF")
    (root / "srv/env/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")
    (site / "numpy-2.2.6.dist-info").mkdir()
    (root / "etc").mkdir()
    return root


def test_an_environment_of_the_tree_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "--root", str(tree(tmp_path)), "--python", "/srv/env", "--format", "json"])
    snapshot = json.loads(capsys.readouterr().out)["snapshot"]
    assert [p["name"] for p in snapshot["packages"]] == ["numpy"]


@pytest.mark.parametrize("named", ["/srv/evn", "/srv/env/bin/python4", "python9"])
def test_one_that_the_tree_has_not_ends_with_2(tmp_path: Path, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--root", str(tree(tmp_path)), "--python", named]) == 2
    assert "has no such interpreter or environment" in capsys.readouterr().err


def test_one_that_the_process_has_not_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--pid", str(os.getpid()), "--python", "/srv/evn"]) == 2
    assert "has no such interpreter or environment" in capsys.readouterr().err
