from __future__ import annotations

from pathlib import Path

import pytest

from doctor.errors import InputError
from doctor.images import podman
from doctor.images.emit import emitted
from doctor.images.engine import Request
from doctor.images.recipe import recipe
from doctor.knowledge import Knowledge
from tests.images.profiles import profile


def test_the_dockerfile_as_buildah_takes_it() -> None:
    text = emitted(recipe(profile(), None, Knowledge()))["Dockerfile"]
    made = podman.adapted(text, (("ubuntu:24.04", "localhost:5000/ubuntu@sha256:" + "a" * 64),))
    assert "sharing=locked" in text
    assert "RUN --network=none" in text
    assert "RUN --network" not in made
    assert "sharing=locked" not in made
    assert "FROM scratch" not in made
    assert f"FROM localhost:5000/ubuntu@sha256:{'a' * 64} AS os" in made
    assert [line for line in made.splitlines() if line.startswith("FROM ")][1:] == [
        "FROM os AS python",
        "FROM os AS runtime",
    ]


def request(folder: Path, base: str, **more: object) -> Request:
    (folder / "Dockerfile").write_text(f"FROM {base} AS os\n")
    return Request(folder, folder / "x.tar", "doctor/x", 7, **more)  # type: ignore[arg-type]


def test_times_secrets_and_proxies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:planted@proxy.invalid:1")
    words = podman.argv(request(tmp_path, "debian:12", secrets={"ca": tmp_path / "ca"}, cache=False, network="none"))
    assert {"--timestamp=7", f"--secret=id=ca,src={tmp_path}/ca", "--no-cache", "--network=none"} <= set(words)
    assert "--build-arg=HTTPS_PROXY" in words
    assert "planted" not in " ".join(words)


@pytest.mark.parametrize(
    ("base", "plain"), [("localhost:5000/debian:12", True), ("registry.example.org/debian", False)]
)
def test_plain_http_is_for_loopback_alone(tmp_path: Path, base: str, plain: bool) -> None:
    assert ("--tls-verify=false" in podman.argv(request(tmp_path, base))) is plain


def test_a_compression_that_podman_can_t_write_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="podman writes gzip only"):
        podman.build(request(tmp_path, "debian:12", compression="zstd"))
