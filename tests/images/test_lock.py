from __future__ import annotations

import datetime
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from doctor.errors import DataFileError, InputError
from doctor.images import lock as locking
from doctor.images import lockfile, registry, wheels
from doctor.images.dockerfile import dockerfile
from doctor.images.lock import Options, _base, changes, uris
from doctor.images.lockfile import AptLock, BaseLock, Deb, Lock, WheelLock
from doctor.images.recipe import recipe
from doctor.knowledge import Knowledge
from doctor.system.engine_api import NotThere
from tests.images.profiles import nvidia, profile

INDEX = json.dumps(
    {"manifests": [{"digest": "sha256:" + "d" * 64, "platform": {"os": "linux", "architecture": "amd64"}}]}
).encode()
DIGEST = f"sha256:{hashlib.sha256(INDEX).hexdigest()}"


class _Registry(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        lies = "lies" in self.path
        if "silent" in self.path:
            time.sleep(0.3)
        statuses = {"none": 404, "login": 401, "busy": 429, "broken": 500}
        self.send_response(next((code for word, code in statuses.items() if word in self.path), 200))
        self.send_header("Docker-Content-Digest", "sha256:" + "0" * 64 if lies else DIGEST)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.end_headers()
        if "trickle" in self.path:
            for n in range(6):
                self.wfile.write(INDEX[n : n + 1])
                self.wfile.flush()
                time.sleep(0.05)
        self.wfile.write(b'{"manifests": [7, {"platform": "x"}]}' if "odd" in self.path else INDEX)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def host() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Registry)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_tag_is_resolved_to_the_digest_of_what_was_sent(host: str) -> None:
    assert registry.resolve(f"{host}/team/debian:12", "linux/amd64") == DIGEST


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none:1", "answers 404"),
        ("lies:1", "and what it sent is"),
        ("login:1", "asks for a login: docker login"),
        ("busy:1", "answers 429 Too Many Requests: too many requests; docker login"),
        ("broken:1", "answers 500 Internal Server Error$"),
        ("odd:1", "says sha256|has no linux/amd64"),
        (f"debian@sha256:{'1' * 64}", "says sha256:1111"),
    ],
)
def test_what_a_registry_can_answer_is_one_line(host: str, name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        registry.resolve(f"{host}/{name}", "linux/amd64")


@pytest.mark.parametrize("name", ["silent:1", "trickle:1"])
def test_a_registry_that_hangs_is_asked_once(host: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_TIMEOUT_S", 0.1)
    monkeypatch.setattr(registry, "_SILENT", {})
    with pytest.raises(InputError, match=r"can't be asked: ReadTimeout"):
        registry.resolve(f"{host}/{name}", "linux/amd64")
    started = time.monotonic()
    with pytest.raises(InputError, match=r"can't be asked: ReadTimeout"):
        registry.resolve(f"{host}/other:1", "linux/amd64")
    assert time.monotonic() - started < 0.1


MIRRORED = Options(base="mirror.example.org/debian:12")


def answers(monkeypatch: pytest.MonkeyPatch, official: InputError | None) -> None:
    """The mirror has a digest; the official registry has it too, or says this."""

    def resolve(image: str, platform: str, ca: Path | None = None) -> str:
        if image.startswith("mirror.") or official is None:
            return DIGEST
        raise official

    monkeypatch.setattr(registry, "resolve", resolve)


def test_a_mirrors_digest_stands_under_the_official_name_only_where_that_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = recipe(profile(), None, Knowledge())
    answers(monkeypatch, None)
    assert _base(made, MIRRORED) == BaseLock(asked="ubuntu:24.04", digest=DIGEST)
    answers(monkeypatch, InputError("can't be asked"))
    seen = _base(made, MIRRORED)
    assert seen.mirror == "mirror.example.org/debian:12"
    locked = replace(made, lock=Lock(epoch=1, base=seen))
    assert locked.reference == f"mirror.example.org/debian:12@{DIGEST}"
    assert f"FROM mirror.example.org/debian:12@{DIGEST} AS os" in dockerfile(locked)
    answers(monkeypatch, registry.Refused("answers 404", 404))
    with pytest.raises(InputError, match=r"which ubuntu:24\.04 never was: it is no mirror of it"):
        _base(made, MIRRORED)


def test_an_image_that_was_never_pushed_has_no_digest_that_others_can_pull(monkeypatch: pytest.MonkeyPatch) -> None:
    """With containerd's store each image that was built here has a RepoDigest; only the registry knows better."""
    made = recipe(profile(), None, Knowledge())
    answers(monkeypatch, InputError("ubuntu:24.04: can't be asked"))

    class Local:
        def registry_digest(self, _: str) -> str:
            raise NotThere("no such repository")

    @contextmanager
    def connected(_: str) -> Iterator[Local]:
        yield Local()

    monkeypatch.setattr("doctor.images.lock.connected", connected)
    with pytest.raises(InputError, match=r"ubuntu:24\.04: can't be asked"):
        _base(made, Options(engine="docker"))


def test_a_file_of_authorities_that_is_none(host: str, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(InputError, match=r"--ca .*ca\.pem: "):
        registry.resolve(f"{host}/ca/debian:12", "linux/amd64", tmp_path / "ca.pem")


def test_a_platform_that_is_not_there_and_a_registry_that_is_not(host: str) -> None:
    with pytest.raises(InputError, match="has no linux/arm64"):
        registry.resolve(f"{host}/debian:12", "linux/arm64")
    with pytest.raises(InputError, match="can't be asked"):
        registry.resolve("127.0.0.1:9/debian:12", "linux/amd64")


def test_what_apt_would_install_with_its_epochs_and_hashes() -> None:
    text = (
        f"'http://deb.debian.org/z/zlib1g_1.3_amd64.deb' zlib1g_1%3a1.3.dfsg-1_amd64.deb 1 SHA256:{'a' * 64}\n"
        "Reading package lists...\n"
        "'http://deb.debian.org/l/less_590_amd64.deb' less_590-2.1~deb12u2_amd64.deb 131 MD5Sum:abc\n"
    )
    assert uris(text) == (
        Deb(name="less", version="590-2.1~deb12u2"),
        Deb(name="zlib1g", version="1:1.3.dfsg-1", sha256="a" * 64),
    )


def test_what_an_update_moves_is_told_line_by_line() -> None:
    def lock(digest: str, version: str) -> Lock:
        base = f"sha256:{digest * 64}"
        apt = AptLock(asked=("less", "|"), base=base, runtime=(Deb(name="less", version=version),))
        return Lock(epoch=1, base=BaseLock(asked="debian:12", digest=base), apt=apt)

    assert changes(lock("a", "590"), lock("a", "590")) == []
    later = lock("a", "590")
    apt = later.apt and later.apt.model_copy(update={"as_of": datetime.date(2026, 11, 23)})
    assert changes(lock("a", "590"), later.model_copy(update={"apt": apt})) == []  # seen again, and the same
    assert changes(lock("a", "590"), lock("b", "591")) == [
        "base: sha256:aaaaaaaaaaaa -> sha256:bbbbbbbbbbbb",
        "apt less: 590 -> 591",
    ]


def test_a_lock_reads_back_and_a_damaged_one_names_each_fault(tmp_path: Path) -> None:
    lock = Lock(epoch=5, base=BaseLock(asked="debian:12", digest=DIGEST))
    (tmp_path / lockfile.NAME).write_text(lock.text())
    assert lockfile.read(tmp_path) == lock
    (tmp_path / lockfile.NAME).write_text(
        lock.text().replace(DIGEST, "sha256:x\\nRUN id").replace('"epoch": 5', '"epoch": -1')
    )
    with pytest.raises(DataFileError, match=r"epoch: .*base\.digest: "):
        lockfile.read(tmp_path)
    assert lockfile.read(tmp_path / "none") is None


PYTHON = WheelLock(asked=("torch==2.15.0",), python="3.12", glibc="2.39")
APT = AptLock(asked=("x",), base=DIGEST, snapshot="20261101T000000Z", runtime=(Deb(name="less", version="590"),))
NOW = datetime.datetime(2026, 11, 23, tzinfo=datetime.timezone.utc)


def again(
    monkeypatch: pytest.MonkeyPatch, version: str, asked: str = "x", base: str = DIGEST
) -> tuple[Lock, list[str]]:
    """A lock that is looked up again, on another day."""
    given = recipe(nvidia(), None, Knowledge())
    old_apt = APT.model_copy(update={"asked": given.apt_asked})
    old = Lock(epoch=5, base=BaseLock(asked="ubuntu:24.04", digest=DIGEST), apt=old_apt, stack=PYTHON)
    row = {
        "asked": (*given.apt_asked, asked),
        "snapshot": "20261123T000000Z",
        "runtime": (Deb(name="less", version=version),),
    }
    monkeypatch.setattr(locking, "_apt", lambda *_: APT.model_copy(update=row))
    monkeypatch.setattr(wheels, "lock", lambda *_: PYTHON)

    def asked_for(*_: object) -> BaseLock:
        if base == "unreachable":
            raise InputError("ubuntu:24.04: can't be asked")
        return BaseLock(asked="ubuntu:24.04", digest=base)

    monkeypatch.setattr(locking, "_base", asked_for)
    made, failed = locking.lock(replace(given, lock=old), Options(update=True), NOW, lambda _: None)
    return made, changes(old, made) + failed


def test_what_has_not_moved_keeps_its_bytes_and_what_has_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made, moved = again(monkeypatch, "591")
    assert moved == ["apt's date: 20261101T000000Z -> 20261123T000000Z", "apt less: 590 -> 591"]
    assert (made.epoch, made.apt and made.apt.observed) == (int(NOW.timestamp()), "resolved-here")
    assert again(monkeypatch, "590", base=f"sha256:{'9' * 64}")[1] == [f"base: {DIGEST[:19]} -> sha256:{'9' * 12}"]


def test_another_question_with_the_same_answer_is_another_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    made, moved = again(monkeypatch, "590", asked="less")
    assert moved == []
    assert made.apt
    assert made.apt.asked[-1] == "less"


def test_what_can_t_be_asked_is_named_and_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    made, failures = again(monkeypatch, "590", base="unreachable")
    assert failures == ["base: ubuntu:24.04: can't be asked"]
    assert made.base
    assert made.base.digest == DIGEST
