"""A real CUDA wheel of torch, installed in an environment of the user's: told from its files, never imported."""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

import pytest

from doctor.engine.run import Options, examine
from doctor.system.live import LiveSystem

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with torch; DOCTOR_TORCH_ENV names one that is there already."""
    if named := os.environ.get("DOCTOR_TORCH_ENV"):
        return Path(named) / "bin/python"
    folder = tmp_path_factory.mktemp("torch")
    venv.create(folder, with_pip=True)
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "-q", "--no-deps", "--no-cache-dir", "torch"]
    subprocess.run(pip, check=True, capture_output=True, timeout=1800)
    return folder / "bin/python"


def test_a_cuda_wheel_is_told_from_its_files(python: Path) -> None:
    torch = examine(LiveSystem(), Options(python=str(python))).snapshot.torch
    code = "import importlib.metadata as m; print(m.version('torch'))"
    installed = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert torch.version is not None
    assert torch.version.partition("+")[0] == installed.partition("+")[0]
    assert torch.build == "cuda"
    assert torch.cuda is not None
    assert torch.version.partition("+cu")[2] in ("", torch.cuda.replace(".", ""))
