from __future__ import annotations

from pathlib import Path

import pytest

from doctor.errors import InputError
from doctor.images import engine
from doctor.images.engine import Request, _failure
from doctor.images.progress import Step, Steps

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
    steps = Steps({}, whole=False)
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
    assert str(_failure(["docker"], 1, *replayed(text))) == engine.FULL.format(engine="docker")


def test_podman_s_failing_step_is_told_the_same_way() -> None:
    steps, lines = Steps({}, whole=False), BUILDAH_FAILED.splitlines()
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


def test_an_engine_that_is_not_there_or_does_not_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="docker is not installed"):
        engine.require()
    (tmp_path / "docker").write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2; exit 1\n")
    (tmp_path / "docker").chmod(0o755)
    with pytest.raises(InputError, match="does not answer: Cannot connect to the Docker daemon"):
        engine.require()


def test_an_engine_that_is_too_old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    script = '#!/bin/sh\ncase "$*" in "version"*) echo 20.10;; "buildx version") echo "buildx v0.9.1 x";; esac\n'
    (tmp_path / "docker").write_text(script)
    (tmp_path / "docker").chmod(0o755)
    with pytest.raises(InputError, match=r"buildx 0\.9\.1 is too old"):
        engine.require()
