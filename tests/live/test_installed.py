"""A wheel, installed in an empty environment elsewhere, knows its profiles and its knowledge."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.engine  # installs from the package index


@pytest.fixture(scope="module")
def doctor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(REPO)]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    venv.create(folder / "env", with_pip=True)
    pip = [str(folder / "env/bin/python"), "-m", "pip", "install", "-q", str(next(folder.glob("*.whl")))]
    subprocess.run(pip, check=True, capture_output=True, timeout=300)
    return folder / "env/bin/doctor"


def run(doctor: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(doctor), *argv], capture_output=True, text=True, timeout=60, cwd=doctor.parent)


def test_it_checks(doctor: Path) -> None:
    done = run(doctor, "check", "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)["schema"] == "doctor.report/2"


def test_it_has_its_profiles(doctor: Path) -> None:
    assert "rocm7.14+vllm" in run(doctor, "profiles", "list").stdout


def test_it_explains(doctor: Path) -> None:
    assert "What it finds" in run(doctor, "explain", "nvidia-driver-too-old").stdout


def test_the_second_name_and_the_module_are_the_same_command(doctor: Path) -> None:
    named = run(doctor.with_name("rcdoctor"), "version").stdout
    module = subprocess.run(
        [str(doctor.with_name("python")), "-m", "doctor", "version"], capture_output=True, text=True, cwd=doctor.parent
    ).stdout
    assert named == module == run(doctor, "version").stdout != ""
