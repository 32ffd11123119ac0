"""Real ssh is stood in for by a program of that name, ansible by itself where it is installed."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from doctor.errors import InputError
from doctor.fleet.answers import of_folder
from doctor.fleet.gather import by_ansible, by_ssh
from tests.fleet.test_answers import REPORT

SSH = """#!/bin/sh
# ssh -o … -o … HOST COMMAND
case $5 in
  dead) echo "ssh: connect to host dead port 22: No route to host" >&2; exit 255 ;;
  *) printf '%s' "$6" >"$0.$5"; cat "$0.report" ;;
esac
"""


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(SSH)
    program.chmod(0o755)
    (program.parent / "ssh.report").write_text(json.dumps(REPORT))
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return program


def test_ssh_gives_a_file_a_host_and_its_own_words_for_one_that_is_not_there(ssh: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    done = by_ssh(folder, doctor="/opt/doctor", hosts=["n1", "dead", "n2", "n1"], timeout_s=10, at_once=2)
    assert done.expected == ["n1", "dead", "n2"]
    told = {a.node: (a.report is not None, a.fault) for a in of_folder(folder)}
    assert told == {
        "n1": (True, None),
        "n2": (True, None),
        "dead": (False, "ssh: connect to host dead port 22: No route to host"),
    }
    assert Path(f"{ssh}.n1").read_text() == "timeout 10 /opt/doctor check --format jsonl --fail-on never"


@pytest.mark.parametrize("host", ["-oProxyCommand=id", "n1;id", "n1\nn2", ""])
def test_a_host_that_ssh_would_take_for_an_option_is_refused(host: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no host name"):
        by_ssh(tmp_path, doctor="doctor", hosts=[host], timeout_s=10, at_once=2)


@pytest.mark.parametrize("doctor", ["doctor; id", "$(id)", "a b"])
def test_a_doctor_that_the_other_shell_would_read_otherwise_is_refused(doctor: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--doctor"):
        by_ssh(tmp_path, doctor=doctor, hosts=["n1"], timeout_s=10, at_once=2)


def test_an_engine_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="ansible: not found"):
        by_ansible(tmp_path, doctor="doctor", inventory=tmp_path, pattern="all", timeout_s=10, at_once=2)


@pytest.mark.engine
@pytest.mark.skipif(not shutil.which("ansible"), reason="ansible is not installed")
def test_ansible_asks_the_inventory(tmp_path: Path) -> None:
    program = tmp_path / "doctor"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m doctor "$@"\n')
    program.chmod(0o755)
    inventory = tmp_path / "hosts"
    here = f"ansible_connection=local ansible_python_interpreter={sys.executable}"
    inventory.write_text(f"n1 {here}\nn2 {here}\ngone ansible_connection=ssh ansible_host=192.0.2.1\n")
    folder = tmp_path / "reports"
    folder.mkdir()
    done = by_ansible(folder, doctor=str(program), inventory=inventory, pattern="all", timeout_s=30, at_once=3)
    assert sorted(done.expected) == ["gone", "n1", "n2"]
    told = {a.node: a for a in of_folder(folder)}
    assert told["n1"].report
    assert told["n2"].report
    assert not told["gone"].report
    assert told["gone"].fault
