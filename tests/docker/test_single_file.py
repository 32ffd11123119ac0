"""The single file on a machine that has python3 and neither pip nor a network: built here, run there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docker.conftest import REPO, run

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("single-file")
    built = subprocess.run(
        [REPO / "contrib/single-file/build", folder], capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHON": sys.executable},
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    made = Path(built.stdout.strip().splitlines()[-1])
    assert made.name.split("-")[2:] == [os.uname().machine, "glibc"]
    for part in (made, *made.parents):
        if str(part).startswith("/tmp/"):  # so that a plain user in the container can read the mount
            part.chmod(part.stat().st_mode | 0o055)
    return made


def test_it_runs_here_with_nothing_but_the_standard_library(file: Path, tmp_path: Path) -> None:
    argv = [str(file), "check", "--format", "json", "--fail-on", "never"]
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "DOCTOR_ROOT": str(tmp_path / "root")}
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert not [row for row in json.loads(done.stdout)["unchecked"] if row["crashed"]]


def _pythons() -> dict[str, str]:
    """What this machine has beside the Python of the tests: `{"3.12": "/…/python3.12"}`."""
    folders = [*os.environ["PATH"].split(":"), *map(str, Path.home().glob(".pyenv/versions/*/bin"))]
    names = [(f"3.{minor}", f"python3.{minor}") for minor in range(6, 15)]
    found = {version: path for version, name in names if (path := shutil.which(name, path=":".join(folders)))}
    # A version manager's stand-in for a Python that is not chosen starts nothing.
    return {
        v: path for v, path in found.items() if subprocess.run([path, "-c", ""], capture_output=True).returncode == 0
    }


def test_it_runs_on_every_python_that_it_says_it_is_for(file: Path, tmp_path: Path) -> None:
    for version, python in _pythons().items():
        environment = {"PATH": "/usr/bin:/bin", "DOCTOR_ROOT": str(tmp_path / version)}
        done = subprocess.run([python, file, "version"], capture_output=True, text=True, env=environment, timeout=120)
        if int(version[2:]) >= 10:
            assert (done.returncode, done.stderr) == (0, ""), python
        else:
            assert done.returncode == 1
            assert "needs Python 3.10 to 3.14; this is " + version in done.stderr
            assert len(done.stderr.splitlines()) == 1


def test_it_runs_where_there_is_python3_alone(file: Path, engine: str, image: str) -> None:
    """As a plain user without a home of its own, on a root that can't be written, without a network."""

    def inside(*argv: str, more: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        flags = ["--rm", "--network=none", "--read-only", "--tmpfs=/home/u:mode=0700,uid=4711,exec", "--user=4711:4711",
                 "-e", "HOME=/home/u", "-v", f"{file}:/opt/doctor:ro", *more]  # fmt: skip
        return run(engine, "run", *flags, image, *argv)

    assert inside("python3", "-m", "pip", "--version").returncode  # no pip
    steps = "/opt/doctor check --format json --fail-on never >$HOME/r && stat -c %a $HOME/.cache/doctor && cat $HOME/r"
    done = inside("sh", "-c", steps)
    assert done.returncode == 0, done.stderr
    mode, _, text = done.stdout.partition("\n")
    assert mode == "700"
    report = json.loads(text)
    assert report["snapshot"]["container"]["inside"] is True
    assert not [row for row in report["unchecked"] if row["crashed"]]


def test_on_a_node_whose_home_is_not_there_it_says_what_to_do(file: Path, engine: str, image: str) -> None:
    flags = ["--rm", "--network=none", "--read-only", "--user=4711:4711", "-e", "HOME=/nonexistent",
             "-v", f"{file}:/opt/doctor:ro"]  # fmt: skip
    done = run(engine, "run", *flags, image, "/opt/doctor", "version")
    assert done.returncode == 1
    assert "DOCTOR_ROOT=FOLDER unpacks elsewhere" in done.stderr
    assert len(done.stderr.splitlines()) == 1
