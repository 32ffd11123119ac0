from __future__ import annotations

from pathlib import Path

import pytest

from doctor.errors import InputError
from doctor.images import engine
from doctor.images.engine import Request, Step, _failure, _took

FAILED = """\
#7 [os 2/2] RUN --mount=type=bind,source=apt,target=/run/apt     sh /run/apt/install.sh runtime.txt
#7 0.812 Reading package lists...
#7 1.204 E: Unable to locate package nothing
#7 ERROR: process "/bin/sh -c sh /run/apt/install.sh" did not complete successfully: exit code: 100
------
ERROR: failed to solve: process "/bin/sh -c sh" did not complete successfully: exit code: 100
"""


def replayed(text: str) -> tuple[dict[str, Step], list[str]]:
    steps: dict[str, Step] = {}
    for line in text.splitlines():
        _took(steps, line)
    return steps, text.splitlines()


def test_steps_begin_end_and_come_from_the_cache() -> None:
    steps, _ = replayed("#5 [os 1/2] FROM x\n#5 CACHED\n#6 [os 2/2] RUN y\n#6 0.1 said\n#6 DONE 2.5s\n")
    assert [(s.name, s.seconds, s.cached) for s in steps.values()] == [
        ("[os 1/2] FROM x", 0.0, True),
        ("[os 2/2] RUN y", 2.5, False),
    ]


def test_a_failing_step_is_one_line_with_its_name_and_last_lines() -> None:
    error = str(_failure(["docker"], 1, *replayed(FAILED)))
    assert error.startswith("step [os 2/2] RUN")
    assert error.endswith("Reading package lists... | E: Unable to locate package nothing")
    assert "\n" not in error


def test_a_full_disk_is_told_as_that() -> None:
    text = FAILED.replace("Unable to locate package nothing", "write /x: no space left on device")
    assert str(_failure(["docker"], 1, *replayed(text))) == engine.FULL


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
