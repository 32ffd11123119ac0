"""`doctor solve` fills what is not said with this machine's facts, and writes what it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.cli import solve as command
from doctor.cli.main import run
from doctor.facts import Snapshot
from doctor.knowledge import Knowledge
from doctor.resolve import Target, described, from_snapshot

KB = Knowledge()
HERE = {
    "gpus": [{"key": "0000:01:00.0", "vendor": "nvidia", "arch": "sm_90", "name": "NVIDIA H100"}],
    "nvidia_driver": {"version": "570.124.06"},
    "os": {"id": "ubuntu", "version": "22.04"},
    "interpreter": {"path": "/opt/env/bin/python", "version": "3.11.9"},
    "packages": [{"name": "torch", "version": "2.13.0", "location": "/opt/env/lib"}],
}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    def probed(kb: Knowledge, from_: Path | None) -> tuple[Snapshot, Target]:
        machine = Snapshot.model_validate(HERE)
        return machine, from_snapshot(kb, machine)

    monkeypatch.setattr(command, "_probed", probed)


@pytest.mark.usefixtures("here")
def test_a_driver_alone_is_that_of_this_machine() -> None:
    target = command._merged(KB, described(KB, driver="580.95.05"), None)
    assert (target.arch, target.driver, target.python, target.os) == ("sm_90", "580.95.05", "3.11", "ubuntu")
    assert target.interpreter == "/opt/env/bin/python"
    assert target.installed == (("torch", "2.13.0"),)


@pytest.mark.usefixtures("here")
def test_another_python_has_other_packages() -> None:
    target = command._merged(KB, described(KB, driver="580.95.05", python="3.13"), None)
    assert (target.python, target.interpreter, target.installed) == ("3.13", None, ())


@pytest.mark.usefixtures("here")
def test_the_other_vendor_s_driver_is_of_another_machine(capsys: pytest.CaptureFixture[str]) -> None:
    target = command._merged(KB, described(KB, driver="30.10"), None)
    assert (target.vendor, target.arch) == ("amd", None)
    assert "of this machine is NVIDIA's" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_this_machine_keeps_the_release_that_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    """Its build is for CUDA 13.0, which this driver does not serve: the same release, built for CUDA 12.6."""
    assert run(["solve", "torch", "--offline"]) == 0
    out = capsys.readouterr().out
    assert "pip install torch==2.13.0+cu126 --index-url https://download.pytorch.org/whl/cu126" in out
    assert "keeps" not in out
    assert run(["solve", "torch", "--offline", "--driver", "580.95.05"]) == 0
    assert "keeps torch 2.13.0, as installed" in capsys.readouterr().out


def test_a_lock_without_a_connection_is_refused_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["solve", "torch", "--offline", "--gpu", "H100", "--lock", str(tmp_path / "lock.txt")]
    assert run(asked) == 2
    assert "it is made by uv, with a connection" in capsys.readouterr().err
    assert not (tmp_path / "lock.txt").exists()


def test_a_format_that_there_is_not_names_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["solve", "torch", "--offline", "--gpu", "H100", "--format", "yaml"]) == 2
    assert "choose from text, json, requirements, uv, dockerfile" in capsys.readouterr().err
