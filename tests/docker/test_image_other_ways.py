"""`doctor image` by podman, without a network, and where the engine fails: the same profile as in test_image.py."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.images import engine as engines
from doctor.images import oci
from doctor.images.engine import BuildFailed, Request
from doctor.system.engine_api import own_limits
from tests.docker.conftest import run, unmet
from tests.docker.image_place import BASE, PLANTED, SECRETS, Place

pytestmark = pytest.mark.engine
BY_PODMAN = ("--engine=podman", "--wheels=wheels", *SECRETS)


@pytest.fixture(scope="module")
def by_podman(held: Place) -> Iterator[Place]:
    if not shutil.which("podman"):
        unmet("no podman")
    done = held.doctor("image", "build", "doctor-test", *BY_PODMAN, "--records=podman")
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
    done = by_podman.doctor("image", "verify", "doctor-test", "--engine=podman", "--format=json", "--budget=2G")
    found = {c["name"]: c["outcome"] for c in json.loads(done.stdout)["checks"]}
    assert [n for n, outcome in found.items() if outcome == "failed"] == ["torch computes (on the CPU)"]  # a stand-in
    assert found["torch is held"] == found["secrets"] == found["doctor check inside"] == "ok"


def test_planted_secrets_are_not_in_podman_s_image_either(by_podman: Place, tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    done = run(
        "podman", "save", "--quiet", "--format=oci-archive", "-o", str(archive), "doctor/doctor-test", timeout=300
    )
    assert done.returncode == 0, done.stderr
    image = oci.read(archive)
    found: list[str] = []

    def look(entry: oci.Entry, head: bytes | None) -> None:
        if PLANTED.encode() in (head or b""):
            found.append(entry.path)

    for layer in image.layers:
        oci.walk(image, layer, look)
    assert found == []
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


def test_a_file_with_another_hash_is_not_kept(held: Place) -> None:
    lock = json.loads((held.files / "lock.json").read_text())
    wheel = next(w for w in lock["doctor"]["wheels"] if w["name"] == "mdurl")
    wheel["sha256"] = "0" * 64
    place = held.root / "tampered" / "doctor-test"
    place.mkdir(parents=True)
    (place / "lock.json").write_text(json.dumps(lock))
    done = held.doctor("image", "fetch", "doctor-test", "tampered-files", "--output=tampered")
    assert done.returncode == 1
    assert f"{wheel['file']}: what came has another hash than the lock" in done.stderr
    assert not (held.root / "tampered-files" / wheel["file"]).exists()


def test_offline_says_what_it_needs(held: Place) -> None:
    done = held.doctor("image", "build", "doctor-test", "--offline")
    assert done.returncode == 2
    assert "`doctor image fetch doctor-test FOLDER` fills one" in done.stderr


def test_where_the_registry_can_t_be_asked_from_here_the_engine_asks_it(held: Place, engine: str) -> None:
    """A dead proxy stands between us and the registry, and not between the engine and it."""
    dead = {**held.environment, "HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9", "NO_PROXY": ""}
    done = held.doctor("image", "lock", "doctor-test", "--wheels=wheels", "--output=by-engine", environment=dead)
    assert done.returncode == 0, done.stderr
    found = json.loads((held.root / "by-engine/doctor-test/lock.json").read_text())["base"]["digest"]
    assert found == json.loads((held.files / "lock.json").read_text())["base"]["digest"]


def test_an_image_that_was_never_pushed_is_not_locked(held: Place, engine: str, slim: str) -> None:
    name = "localhost:9/doctor-test/never-pushed:12"
    assert run(engine, "tag", slim, name).returncode == 0
    done = held.doctor("image", "lock", "doctor-test", "--wheels=wheels", f"--base={name}", "--output=never")
    run(engine, "rmi", name)
    assert done.returncode == 1
    assert "localhost:9 can't be asked" in done.stderr


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


def test_an_update_shows_that_the_tag_has_moved_and_writes_only_when_told(held: Place, engine: str, slim: str) -> None:
    context = held.root / "moved"
    context.mkdir()
    (context / "Dockerfile").write_text(f"FROM {slim}\nLABEL moved=yes\n")
    shutil.copytree(held.root / "dockerfiles", held.root / "updated")
    path = held.root / "updated/doctor-test/lock.json"
    before = path.read_bytes()
    words = ("image", "lock", "doctor-test", "--wheels=wheels", "--output=updated", "--update")
    try:
        assert run(engine, "build", "-q", "-t", BASE, str(context)).returncode == 0
        assert run(engine, "push", "-q", BASE, timeout=300).returncode == 0
        shown = held.doctor(*words)
        assert f"doctor-test: base: {json.loads(before)['base']['digest'][:19]} -> sha256:" in shown.stdout
        assert path.read_bytes() == before
        written = held.doctor(*words, "--write")
        assert written.returncode == 0, written.stderr
        assert json.loads(path.read_bytes())["base"]["digest"] != json.loads(before)["base"]["digest"]
    finally:
        run(engine, "tag", slim, BASE)
        run(engine, "push", "-q", BASE, timeout=300)
        run(engine, "rmi", BASE)


def test_an_engine_that_does_not_answer(held: Place) -> None:
    nowhere = {**held.environment, "DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    done = held.doctor("image", "build", "doctor-test", "--wheels=wheels", environment=nowhere)
    assert done.returncode == 2
    assert "docker does not answer: unix:///nonexistent/docker.sock: No such file or directory; start it" in done.stderr


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for next to nothing."""
    folder = tmp_path / "full"
    folder.mkdir()
    if os.geteuid() or run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)).returncode:
        unmet("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_without_room_is_told_before_and_while_it_is_built(held: Place, engine: str, full: Path) -> None:
    before = held.doctor("image", "build", "doctor-test", "--wheels=wheels", f"--records={full}")
    assert before.returncode == 2
    assert "0.0 GB are free and the archives need about 2.0" in before.stderr
    context = held.root / "context"
    context.mkdir()
    (context / "Dockerfile").write_text("FROM scratch\nCOPY big /\n")
    (context / "big").write_bytes(os.urandom(4 << 20))
    with pytest.raises(BuildFailed, match="the disk is full: `docker system df` shows"):
        engines.build(Request(context, full / "image.tar", "doctor/full", 7))


def test_without_a_network_the_same_image_comes_from_a_folder(built: Place, tmp_path: Path) -> None:
    """Wheels and the distribution's packages are fetched by the lock, and each has its hash; then nothing is asked."""
    folder = built.root / "files"
    shutil.copytree(built.root / "wheels", folder)
    fetched = built.doctor("image", "fetch", "doctor-test", "files")
    assert fetched.returncode == 0, fetched.stderr
    lock = json.loads((built.files / "lock.json").read_text())
    debs = [d["name"] for part in ("runtime", "build") for d in lock["apt"][part]]
    assert sorted(p.name.partition("_")[0] for p in folder.glob("*.deb")) == sorted(debs)
    closed = {**built.environment, "HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
    closed |= {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    words = ("--offline", "--wheels=files", "--no-cache", "--no-load", "--compression=zstd", f"--records={tmp_path}")
    done = built.doctor("image", "build", "doctor-test", *words, environment=closed)
    assert done.returncode == 0, done.stderr
    offline = json.loads((tmp_path / "doctor-test.build.json").read_text())
    assert offline["offline"] is True
    assert offline["digest"] == built.record["digest"]
