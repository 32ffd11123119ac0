from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.errors import InputError
from doctor.images import engine
from doctor.images.engine import Request, _failure
from doctor.images.progress import Step, Steps
from doctor.system.engine_api import FULL

FAILED = """\
#7 [os 2/2] RUN --mount=type=bind,source=apt,target=/run/apt     sh /run/apt/install.sh runtime.txt
#7 0.812 Reading package lists...
#7 1.204 E: Unable to locate package nothing
#7 ERROR: process "/bin/sh -c sh /run/apt/install.sh" did not complete successfully: exit code: 100
------
ERROR: failed to solve: process "/bin/sh -c sh" did not complete successfully: exit code: 100
"""

# As podman 4.3.1 prints it.
BUILDAH_FAILED = """\
[3/5] STEP 1/3: FROM localhost:5719/debian:12 AS os
[3/5] STEP 2/3: ARG SOURCE_DATE_EPOCH
--> 3002f413efc
[3/5] STEP 3/3: RUN sh /run/apt/install.sh runtime.txt
E: Unable to locate package nothing
Error: building at STEP "RUN sh /run/apt/install.sh runtime.txt": while running runtime: exit status 100
"""


def replayed(text: str) -> tuple[dict[str, Step], list[str]]:
    steps = Steps()
    for line in text.splitlines():
        steps.buildkit(line, 0.0)
    return steps.rows, text.splitlines()


def test_a_failing_step_is_one_line_with_its_name_and_last_lines() -> None:
    error = str(_failure(["docker"], 1, *replayed(FAILED)))
    assert error.startswith("step [os 2/2] RUN")
    assert error.endswith("Reading package lists... | E: Unable to locate package nothing")
    assert "\n" not in error


def test_a_full_disk_is_told_as_that() -> None:
    text = FAILED.replace("Unable to locate package nothing", "write /x: no space left on device")
    assert str(_failure(["docker"], 1, *replayed(text))) == FULL.format(engine="docker")


def test_podman_s_failing_step_is_told_the_same_way() -> None:
    steps, lines = Steps(), BUILDAH_FAILED.splitlines()
    for line in lines:
        steps.buildah(line, 0.0)
    error = str(_failure(["podman"], 125, steps.rows, lines))
    assert (
        error == "step [stage 3 3/3] RUN sh /run/apt/install.sh runtime.txt failed: E: Unable to locate package nothing"
    )


def test_secrets_are_files_and_proxies_names_in_the_command_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:planted@proxy.invalid:1")
    request = Request(tmp_path, tmp_path / "x.tar", "doctor/x", 7, secrets={"ca": tmp_path / "ca"})
    words = engine.argv(request)
    assert f"--secret=id=ca,src={tmp_path}/ca" in words
    assert "--build-arg=HTTPS_PROXY" in words
    assert "planted" not in " ".join(words)
    assert "--build-arg=SOURCE_DATE_EPOCH=7" in words
    assert any("rewrite-timestamp=true" in word for word in words)


CERTIFICATE = """\
#9 [python 3/4] RUN sh /run/python/install.sh /opt/venv/bin/python requirements.txt
#9 3.1 WARNING: Retrying, connection broken by 'SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]
#9 3.2 ERROR: Could not find a version that satisfies the requirement torch==2.15.0
#9 ERROR: process "/bin/sh -c sh /run/python/install.sh" did not complete successfully: exit code: 1
"""


def test_a_certificate_that_is_not_trusted_is_said_with_the_option_that_helps() -> None:
    error = str(_failure(["docker"], 1, *replayed(CERTIFICATE)))
    assert "a TLS certificate is not trusted there" in error
    assert error.endswith("--secret ca=FILE")
    assert "--secret" not in str(_failure(["docker"], 1, *replayed(FAILED)))


class Said:
    """An engine's API, as far as a builder is judged by it."""

    def __init__(self, version: str = "26.1.5", store: str = "containerd", name: str = "docker") -> None:
        self.name, self.number, self.store = name, version, store

    def version(self) -> dict[str, str]:
        return {"Version": self.number}

    def info(self) -> dict[str, object]:
        rows = (
            [["driver-type", "io.containerd.snapshotter.v1"]] if self.store == "containerd" else [["Backing", "ext4"]]
        )
        return {"DriverStatus": rows, "BuildahVersion": "1.28.2"}


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """`programs(name=script)` are the only ones on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("DOCKER_HOST", raising=False)

    def put(**scripts: str) -> None:
        for name, script in scripts.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)

    return put


BUILDX = (
    'case "$*" in "buildx version") echo "buildx v{}";; "buildx inspect") printf "Driver: {}\\nBuildKit: v{}\\n";; esac'
)


@pytest.mark.parametrize(
    ("driver", "store", "exports"),
    [
        ("docker", "classic", False),
        ("docker", "containerd", True),
        ("docker-container", "classic", True),
        ("remote", "classic", True),
    ],
)
def test_the_classic_store_has_no_archive_with_fixed_times_unless_a_builder_of_its_own_is_used(
    programs: Callable[..., None], driver: str, store: str, exports: bool
) -> None:
    programs(docker=BUILDX.format("0.13.1", driver, "0.13.0"))
    found = engine.builder(Said(store=store))  # type: ignore[arg-type]
    assert (found.exports, found.engine, found.tool) == (exports, "docker 26.1.5", "0.13.1")


def test_where_the_builder_can_not_export_the_image_goes_into_the_engine(tmp_path: Path) -> None:
    words = engine.argv(Request(tmp_path, tmp_path / "x.tar", "doctor/x", 7, exports=False))
    assert {"--load", "--tag=doctor/x"} <= set(words)
    assert not any(word.startswith("--output") for word in words)


def test_a_builder_that_is_not_there_or_too_old(programs: Callable[..., None]) -> None:
    said: Any = Said()
    with pytest.raises(InputError, match="the program `docker` is not installed"):
        engine.builder(said)
    programs(docker="exit 1")
    with pytest.raises(InputError, match="docker has no buildx plugin"):
        engine.builder(said)
    programs(docker=BUILDX.format("0.9.1", "docker", "0.13.0"))
    with pytest.raises(InputError, match=r"buildx 0\.9\.1 is too old"):
        engine.builder(said)
    programs(docker=BUILDX.format("0.13.1", "docker", "0.11.7"))
    with pytest.raises(InputError, match=r"BuildKit 0\.11\.7 is too old"):
        engine.builder(said)
    programs(podman="exit 0")
    old: Any = Said("3.4.4", name="podman")
    with pytest.raises(InputError, match=r"podman 3\.4\.4 is too old: 4\.2 or newer"):
        engine.builder(old)


def test_the_engine_is_the_one_that_is_here(programs: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathlib.Path.is_socket", lambda _: False)
    with pytest.raises(InputError, match="neither docker nor podman is here"):
        engine.chosen(None)
    programs(podman="exit 0")
    assert engine.chosen(None) == "podman"
    programs(docker="exit 0")
    assert engine.chosen(None) == "docker"
    assert engine.chosen("podman") == "podman"
    with pytest.raises(InputError, match="invalid --engine 'crio'"):
        engine.chosen("crio")
