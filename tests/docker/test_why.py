"""`doctor why` of real containers and images; nothing of them changes, and nothing is left."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.docker.conftest import REPO, run

pytestmark = pytest.mark.engine
Started = Callable[..., str]


@pytest.fixture
def started(engine: str, slim: str) -> Iterator[Started]:
    """`started(*flags)` is the name of a container that sleeps."""
    names: list[str] = []

    def start(*flags: str) -> str:
        names.append(f"doctor-test-{uuid.uuid4().hex[:12]}")
        done = run(engine, "run", "-d", "--name", names[-1], "--network=none", *flags, slim, "sleep", "300")
        assert done.returncode == 0, done.stderr
        return names[-1]

    yield start
    for name in names:
        run(engine, "rm", "-f", name)


@pytest.fixture
def layered(engine: str, slim: str) -> Iterator[Callable[[str], str]]:
    """`layered(TEXT)` is an image with a layer for each word on the slim one."""
    made: list[str] = []

    def make(words: str) -> str:
        name, base = f"doctor-test-{uuid.uuid4().hex[:12]}", slim
        for number, word in enumerate(words.split()):
            steps = run(engine, "create", "--network=none", base, "sh", "-c", f"echo {word} > /layer{number}")
            run(engine, "start", "-a", steps.stdout.strip())
            base = f"{name}:{number}"
            made.append(base)
            assert run(engine, "commit", steps.stdout.strip(), base).returncode == 0
            run(engine, "rm", steps.stdout.strip())
        return base

    yield make
    for name in reversed(made):
        run(engine, "rmi", "-f", name)


def why(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "doctor", "why", *words]
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    return subprocess.run(argv, capture_output=True, text=True, timeout=300, env=environment, check=False)


def left(engine: str) -> str:
    return (
        run(engine, "ps", "-aq", "--filter", "label=doctor=why").stdout + run(engine, "images", "doctor-why-*").stdout
    )


def test_two_containers(started: Started) -> None:
    good, bad = started("-e", "NCCL_P2P_DISABLE=0"), started("-e", "NCCL_P2P_DISABLE=1", "--ulimit", "nofile=64:64")
    done = why(f"in:{good}", f"in:{bad}")
    assert done.returncode == 1, done.stderr
    assert "open-files limit: " in done.stdout
    assert "NCCL_P2P_DISABLE: 0 there, 1 here" in done.stdout


def test_an_option_and_a_variable_that_only_together_do_it(started: Started, engine: str) -> None:
    good, bad = (
        started("-e", "A=1", "--shm-size", "256m"),
        started("-e", "A=2", "-e", "B=1", "--ulimit", "nofile=64:64"),
    )
    code = "import os, resource as r; assert os.environ['A'] == '1' and r.getrlimit(r.RLIMIT_NOFILE)[0] > 64"
    done = why(f"in:{good}", f"in:{bad}", "--prove", "--", "python3", "-c", code)
    assert "With 2 changes" in done.stdout, done.stderr
    assert "--ulimit nofile: 64:64 -> not set" in done.stdout
    assert "A: 2 -> 1" in done.stdout
    assert left(engine).count("\n") == 1


def test_a_mount_of_the_users_is_read_and_not_written(started: Started, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    good, bad = started("-v", f"{tmp_path}:/data"), started()
    words = "echo gone > /data/file; rm -f /data/file; test -f /data/file"
    done = why(f"in:{good}", f"in:{bad}", "--prove", "--", "sh", "-c", words)
    assert "--volume /data: not set -> " in done.stdout, done.stderr
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.slow
def test_one_layer_of_an_image(layered: Callable[[str], str], engine: str) -> None:
    good, bad = layered("a b c d"), layered("w x y")
    done = why(f"image:{good}", f"image:{bad}", "--prove", "--", "grep", "b", "/layer1")
    assert "With 1 change COMMAND works" in done.stdout, done.stderr
    assert "image layer 2: " in done.stdout
    assert left(engine).count("\n") == 1


def test_images_say_nothing_of_devices_and_limits(slim: str, image: str) -> None:
    done = why(f"image:{slim}", f"image:{image}")
    assert done.returncode == 0, done.stderr
    assert f"? Not known of image:{slim}: devices." in done.stdout
    assert "ROCm: none there, 5.2.3" in done.stdout
    assert "limit" not in done.stdout


@pytest.mark.parametrize("name", ["in:doctor-test-none", "image:doctor-test-none"])
def test_what_is_not_there_is_one_line(engine: str, name: str) -> None:
    done = why(name, name)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no such" in done.stderr
