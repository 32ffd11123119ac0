"""`doctor stack` on a small tree: what is here, with verdicts; one JSON document; wrong usage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.cli.main import run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An environment with a torchvision that is made for another torch, and a ROCm with a profiler."""
    site = tmp_path / "env/lib/python3.11/site-packages"
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/python3").write_text("")
    (tmp_path / "env/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")
    for name, requires in (("torch-2.4.1", ""), ("torchvision-0.23.0", "Requires-Dist: torch==2.8.0\n")):
        (site / f"{name}.dist-info").mkdir(parents=True)
        stem, _, version = name.partition("-")
        about = f"Metadata-Version: 2.1\nName: {stem}\nVersion: {version}\n{requires}"
        (site / f"{name}.dist-info/METADATA").write_text(about)
    (site / "torch").mkdir()
    (site / "torch/version.py").write_text("__version__ = '2.4.1+cu121'\ncuda = '12.1'\nhip = None\n")
    (tmp_path / "opt/rocm-6.2.0/bin").mkdir(parents=True)
    (tmp_path / "opt/rocm-6.2.0/bin/rocprofv3").write_text("")
    return tmp_path


def test_parts_that_are_here_with_what_is_wrong_with_them(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["stack", "--root", str(root), "--python", "/env"])
    out = capsys.readouterr().out
    assert code == 1
    assert "torchvision: 0.23.0 (torchvision in /env/lib/python3.11/site-packages)" in out
    assert (
        "against torch: torchvision 0.23.0 needs torch ==2.8.0, but 2.4.1 is installed. [torch-companion-mismatch]"
        in out
    )
    assert "rocprofiler: 6.2.0 (/opt/rocm-6.2.0/bin/rocprofv3)" in out
    assert "against GPU, driver and CUDA: not known: " in out


def test_json_is_one_document(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["stack", "--root", str(root), "--python", "/env", "--format", "json"])
    rows = {row["part"]: row for row in json.loads(capsys.readouterr().out)}
    (verdict,) = (v for v in rows["torchvision"]["verdicts"] if v["against"] == "torch")
    assert (verdict["state"], verdict["severity"]) == ("fault", "error")


def test_nothing_found_is_said_and_another_format_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["stack", "--root", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "Nothing of the GPU stack was found.\n"
    assert run(["stack", "--format", "yaml"]) == 2
    assert "choose from text, json" in capsys.readouterr().err
