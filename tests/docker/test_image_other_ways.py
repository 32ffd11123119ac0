"""`doctor image` without a network, and where the engine fails: the same profile as in test_image.py."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.images import engine as engines
from doctor.images.engine import BuildFailed, Request
from tests.docker.conftest import run, unmet
from tests.docker.image_place import BASE, Place

pytestmark = pytest.mark.engine


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


def test_an_image_that_was_never_pushed_is_not_locked(held: Place, engine: str, base: str) -> None:
    name = "localhost:9/doctor-test/never-pushed:12"
    assert run(engine, "tag", base, name).returncode == 0
    done = held.doctor("image", "lock", "doctor-test", "--wheels=wheels", f"--base={name}", "--output=never")
    run(engine, "rmi", name)
    assert done.returncode == 1
    assert "localhost:9 can't be asked" in done.stderr


def test_an_update_shows_that_the_tag_has_moved_and_writes_only_when_told(held: Place, engine: str, base: str) -> None:
    context = held.root / "moved"
    context.mkdir()
    (context / "Dockerfile").write_text(f"FROM {base}\nLABEL moved=yes\n")
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
        run(engine, "tag", base, BASE)
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
