"""torch's own `collect_env`, run here and read: what the reader says is what that torch and this machine say of
themselves.

Run by hand:

    DOCTOR_TORCH_PYTHON=VENV/bin/python DOCTOR_WHEELS=FOLDER python -m pytest -m slow tests/live/test_collect_env.py

with a Python that has torch (a CPU or a CUDA build). The layouts of older releases are those of the scripts in their
wheels, run under that same torch. docs/slow-tier.md logs it.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from doctor.facts import Snapshot
from doctor.triage.read import read_text
from tests.live.wheels import Wheels

pytestmark = pytest.mark.slow
LAYOUTS = ("1.13.1", "2.1.2", "2.4.1", "2.8.0")
_ASK = """
import importlib.metadata, json, platform, torch
print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda, "hip": torch.version.hip,
                  "python": platform.python_version(), "available": torch.cuda.is_available(),
                  "package": importlib.metadata.version("torch")}))
"""


@pytest.fixture(scope="module")
def python() -> str:
    found = os.environ.get("DOCTOR_TORCH_PYTHON")
    if not found:
        pytest.skip("DOCTOR_TORCH_PYTHON names no Python with torch")
    return found


@pytest.fixture(scope="module")
def said(python: str) -> dict[str, Any]:
    """What that torch says of itself."""
    done = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, check=True, timeout=300)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def printed(*command: str) -> Snapshot:
    done = subprocess.run(command, capture_output=True, check=True, timeout=300)
    assert b"PyTorch version" in done.stdout
    return read_text([b"```\n", done.stdout, b"```\n"])


def agrees(machine: Snapshot, said: dict[str, Any]) -> None:
    assert machine.torch.version == said["torch"]
    assert machine.torch.build == ("cuda" if said["cuda"] else "rocm" if said["hip"] else "cpu")
    assert machine.torch.cuda == said["cuda"]
    assert machine.torch.available is said["available"]
    assert str(machine.interpreter.version) == said["python"]
    assert machine.kernel.release == platform.release()
    assert machine.host.machine == platform.machine()
    assert machine.os.id == platform.freedesktop_os_release()["ID"]
    assert [p.version for p in machine.packages or () if p.name == "torch"] == [said["package"]]


def test_its_own_collect_env(python: str, said: dict[str, Any]) -> None:
    agrees(printed(python, "-m", "torch.utils.collect_env"), said)


@pytest.mark.parametrize("version", LAYOUTS)
def test_the_layout_of_an_older_release(python: str, said: dict[str, Any], version: str, tmp_path: Path) -> None:
    wheels = Wheels(Path(os.environ.get("DOCTOR_WHEELS") or tmp_path / "wheels"), tmp_path / "unpacked")
    script = tmp_path / "old_collect_env.py"
    with zipfile.ZipFile(wheels.get(f"torch=={version}")) as wheel:
        script.write_bytes(wheel.read("torch/utils/collect_env.py"))
    agrees(printed(python, str(script)), said)
