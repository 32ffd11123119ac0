"""`doctor image` by podman: the same profile as in test_image.py."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import pytest

from doctor.system.engine_api import own_limits
from tests.docker.conftest import run, unmet
from tests.docker.image_place import PLANTED, SECRETS, Place, walked

pytestmark = pytest.mark.engine
BY_PODMAN = ("--engine=podman", "--wheels=wheels", *SECRETS)


@pytest.fixture(scope="module")
def by_podman(held: Place) -> Iterator[Place]:
    if not shutil.which("podman"):
        unmet("no podman")
    done = held.doctor("image", "build", "doctor-test", *BY_PODMAN, "--records=podman", "--no-load")
    assert done.returncode == 0, done.stdout + done.stderr
    yield held
    run("podman", "rmi", "--force", "doctor/doctor-test")


def test_podman_builds_it_and_leaves_a_record(by_podman: Place) -> None:
    record = json.loads((by_podman.root / "podman/doctor-test.build.json").read_text())
    assert record["builder"]["engine"].startswith("podman ")
    assert (by_podman.root / "podman/doctor-test.cdx.json").is_file()


@pytest.mark.slow
def test_two_builds_by_podman_have_one_digest(by_podman: Place) -> None:
    done = by_podman.doctor("image", "build", "doctor-test", *BY_PODMAN, "--records=twice", "--verify")
    assert done.returncode == 0, done.stdout + done.stderr
    twice = json.loads((by_podman.root / "twice/doctor-test.build.json").read_text())
    assert twice["rebuilt_to_the_same_digest"] is True


def test_podman_s_image_runs_as_the_user_and_is_fit(by_podman: Place) -> None:
    limits = [f"--ulimit={name}={n}:{n}" for name, n in own_limits().items()]
    said = run("podman", "run", "--rm", *limits, "--network=none", "doctor/doctor-test", "id", "-u")
    assert said.stdout == "10001\n", said.stderr
    done = by_podman.doctor("image", "verify", "doctor-test", "--engine=podman", "--format=json")
    found = {c["name"]: c["outcome"] for c in json.loads(done.stdout)["checks"]}
    assert [n for n, outcome in found.items() if outcome == "failed"] == ["torch computes (on the CPU)"]  # a stand-in
    assert found["torch is held"] == found["secrets"] == found["doctor check inside"] == "ok"


def test_planted_secrets_are_not_in_podman_s_image_either(by_podman: Place) -> None:
    image = walked(by_podman.root / "podman/doctor-test.oci.tar")
    assert image.planted == []
    assert PLANTED not in json.dumps(image.config)


def test_a_failing_step_of_podman_s_is_one_line(by_podman: Place) -> None:
    profile = by_podman.root / "config/doctor/profiles/doctor-test.toml"
    other = profile.with_name("unlocked2.toml")
    text = (
        profile.read_text().replace('"doctor-test"', '"unlocked2"').replace('name = "less"', 'name = "no-such-package"')
    )
    other.write_text(text)
    try:
        failed = by_podman.doctor(
            "image", "build", "unlocked2", "--engine=podman", "--unlocked", "--wheels=wheels", *SECRETS
        )
    finally:
        other.unlink()
    assert failed.returncode == 3
    last = failed.stderr.splitlines()[-1]
    assert last.startswith("doctor: step [")
    assert "Unable to locate package no-such-package" in last


def test_podman_locks_on_its_own(held: Place) -> None:
    """Without docker's program and without its socket in sight: apt is asked in a container of podman's."""
    if not shutil.which("podman"):
        unmet("no podman")
    words = ("image", "lock", "doctor-test", "--wheels=wheels", "--output=by-podman", "--engine=podman")
    nowhere = {**held.environment, "DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    done = held.doctor(*words, environment=nowhere)
    assert done.returncode == 0, done.stderr
    made = json.loads((held.root / "by-podman/doctor-test/lock.json").read_text())
    assert made["apt"]["runtime"] == json.loads((held.files / "lock.json").read_text())["apt"]["runtime"]
