"""The script that lays a virtual environment into an image layer by layer."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.resources import files as resources
from pathlib import Path

import pytest

SITE = "lib/python3.12/site-packages"


def packaged(source: Path, name: str, file: str) -> None:
    info = source / SITE / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (source / SITE / file).parent.mkdir(parents=True, exist_ok=True)
    (source / SITE / file).write_text(name)
    rows = [file, f"{info.name}/RECORD", "gone.py", "../../../../etc/passwd"]
    (info / "RECORD").write_text("".join(f"{row},,\n" for row in rows))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    source = tmp_path / "from"
    packaged(source, "nvidia_cublas", "nvidia/cublas/lib/libcublas.so")
    packaged(source, "torch", "torch/__init__.py")
    packaged(source, "torchvision", "torchvision/__init__.py")
    (source / "bin").mkdir()
    (source / "bin/pip").write_text("#!")
    (source / "bin/pip").chmod(0o755)
    (source / "lib64").symlink_to("lib")
    return source


def lay(source: Path, target: Path, *names: str) -> set[str]:
    """What a run adds."""
    text = (resources("doctor.images") / "context/image/layer").read_text()
    text = text.replace("/run/venv", str(source)).replace("10001", str(os.getuid()))
    before = {p for p in target.rglob("*") if not p.is_dir()}
    done = subprocess.run([sys.executable, "-I", "-c", text, str(target), *names], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {str(p.relative_to(target)) for p in target.rglob("*") if p.is_symlink() or not p.is_dir()} - {
        str(p.relative_to(target)) for p in before
    }


def test_each_package_lies_in_one_layer_and_all_are_there_in_the_end(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "opt/venv"
    assert lay(source, target, "nvidia-*") == {
        f"{SITE}/nvidia/cublas/lib/libcublas.so",
        f"{SITE}/nvidia_cublas-1.0.dist-info/RECORD",
    }
    assert lay(source, target, "torch", "triton") == {
        f"{SITE}/torch/__init__.py",
        f"{SITE}/torch-1.0.dist-info/RECORD",
    }
    rest = lay(source, target)
    assert f"{SITE}/torchvision/__init__.py" in rest
    assert {"bin/pip", "lib64"} <= rest
    assert {p.relative_to(source) for p in source.rglob("*")} == {p.relative_to(target) for p in target.rglob("*")}


def test_a_layers_bytes_do_not_know_the_day(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "opt/venv"
    lay(source, target)
    assert {p.lstat().st_mtime for p in (target.parent, target, *target.rglob("*"))} == {1577836800}
    assert (target / "bin/pip").stat().st_mode & 0o777 == 0o755
    assert (target / "lib64").readlink() == Path("lib")
