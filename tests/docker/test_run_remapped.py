"""`doctor run` with a daemon that remaps users: it stops before the start, and what it offers instead works."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.docker.conftest import run, unmet
from tests.docker.gpu_nodes import SEE, amd_nodes, seen
from tests.docker.second_daemon import second_daemon
from tests.docker.test_run import Doctor, doctor

pytestmark = pytest.mark.engine
_ = amd_nodes, doctor  # fixtures
NAME = "doctor-remap"
NO_NETWORK = ["--network", "none"]


@pytest.fixture(scope="module")
def remapped(slim: str) -> Iterator[dict[str, str]]:
    """The environment that leads to it; it has the image."""
    if os.geteuid() or not shutil.which("useradd"):
        unmet("userns-remap needs root to make an account")
    assert run("useradd", "-r", NAME).returncode == 0
    ids = ["--add-subuids", "300000-365535", "--add-subgids", "300000-365535"]
    assert run("usermod", *ids, NAME).returncode == 0
    try:
        with second_daemon({"userns-remap": NAME, "features": {"containerd-snapshotter": False}}) as address:
            with subprocess.Popen(["docker", "save", slim], stdout=subprocess.PIPE) as archive:
                loaded = subprocess.run(["docker", "--host", address, "load"], stdin=archive.stdout, timeout=200)
            assert loaded.returncode == 0
            yield {**os.environ, "DOCKER_HOST": address}
    finally:
        run("userdel", NAME)


def test_it_stops_and_says_why(doctor: Doctor, amd_nodes: None, remapped: dict[str, str], slim: str) -> None:
    done = doctor(*NO_NETWORK, "--engine", "docker", slim, "--", *SEE, env=remapped)
    assert (done.returncode, done.stdout) == (2, "")
    assert "missing: docker remaps users (userns-remap): no user or group of the container may open" in done.stderr
    forced = doctor(*NO_NETWORK, "--engine", "docker", "--force", slim, "--", *SEE, env=remapped)
    assert set(seen(forced.stdout).values()) == {"EACCES"}, forced.stderr  # and it was true


def test_what_it_offers_works(doctor: Doctor, amd_nodes: None, remapped: dict[str, str], slim: str) -> None:
    flags = ["--engine", "docker", "--engine-arg=--userns=host", "--gpus", "1", "--user", "1000:1000"]
    done = doctor(*NO_NETWORK, *flags, slim, "--", *SEE, env=remapped)
    assert done.returncode == 0, done.stderr
    assert seen(done.stdout) == {"/dev/kfd": "ENXIO", "/dev/dri/renderD129": "ENXIO"}
    proof = doctor(*NO_NETWORK, *flags, "--prove", slim, env=remapped)
    assert (proof.returncode, "/dev/kfd does not open: No such device" in proof.stdout) == (1, True), proof.stderr


def test_without_a_gpu_it_starts(doctor: Doctor, amd_nodes: None, remapped: dict[str, str], slim: str) -> None:
    done = doctor(*NO_NETWORK, "--engine", "docker", "--gpus", "none", slim, "--", "echo", "here", env=remapped)
    assert (done.returncode, done.stdout) == (0, "here\n"), done.stderr
