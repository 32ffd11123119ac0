"""A CUDA toolkit from the package index, installed in an environment of the user's: found, with what selects it."""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

import pytest

from doctor.engine import registry
from doctor.engine.run import Options, examine
from doctor.facts import Snapshot
from doctor.system.live import LiveSystem

pytestmark = pytest.mark.slow
WHEELS = ("nvidia-cuda-nvcc-cu12", "nvidia-cublas-cu12", "nvidia-cuda-runtime-cu12")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the toolkit's wheels; DOCTOR_CUDA_ENV names one that is there already."""
    if named := os.environ.get("DOCTOR_CUDA_ENV"):
        return Path(named)
    folder = tmp_path_factory.mktemp("cuda")
    venv.create(folder, with_pip=True)
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "-q", "--no-deps", "--no-cache-dir", *WHEELS]
    subprocess.run(pip, check=True, capture_output=True, timeout=1800)
    return folder


def look(environ: dict[str, str], python: str | None = None) -> Snapshot:
    probes = registry.probes(("python_env", "installs"))
    return examine(LiveSystem({"PATH": "/usr/bin:/bin", **environ}), Options(probes=probes, python=python)).snapshot


def library_folder(environment: Path, name: str) -> Path:
    return next(environment.glob(f"lib/python*/site-packages/nvidia/{name}/lib"))


def test_the_wheels_are_one_installation_with_their_components(environment: Path) -> None:
    held = [i for i in look({}, str(environment / "bin/python")).cuda or () if i.kind == "wheel"]
    (found,) = held
    pip = [str(environment / "bin/python"), "-m", "pip", "list", "--format=freeze"]
    listed = subprocess.run(pip, capture_output=True, text=True, check=True).stdout
    for component, wheel in (("nvcc", WHEELS[0]), ("cublas", WHEELS[1]), ("cudart", WHEELS[2])):
        assert f"{wheel}=={(found.components or {})[component]}" in listed


def test_ld_library_path_gives_the_wheel_s_library_to_everybody(environment: Path) -> None:
    folder = library_folder(environment, "cublas")
    chosen = {c.key: c for c in look({"LD_LIBRARY_PATH": str(folder)}).loader or ()}
    assert chosen["libcublas.so.12"].path == f"{folder}/libcublas.so.12"
    assert chosen["libcublas.so.12"].by == "LD_LIBRARY_PATH"
    assert "libcublas.so.12" not in {c.key for c in look({}).loader or () if c.by == "LD_LIBRARY_PATH"}


def test_a_toolkit_prefix_of_this_machine_is_what_path_selects() -> None:
    """Where the machine has one under /usr/local; its nvcc's folder on PATH is what selects it."""
    found = [i for i in look({}).cuda or () if i.kind == "prefix" and Path(i.path, "bin/nvcc").exists()]
    if not found:
        pytest.skip("no CUDA toolkit under /usr/local here")
    (again,) = [i for i in look({"PATH": f"{found[0].path}/bin"}).cuda or () if i.path == found[0].path]
    assert "PATH (nvcc)" in (again.selected_by or ())
    told = subprocess.run([f"{again.path}/bin/nvcc", "--version"], capture_output=True, text=True, check=False).stdout
    assert not told or f"V{(again.components or {})['nvcc']}" in told
