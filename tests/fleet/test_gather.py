"""ssh is stood in for by a program of that name; the real one, and ansible, are in tests/docker/test_fleet_ssh.py."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from doctor.errors import InputError
from doctor.fleet.answers import of_folder
from doctor.fleet.gather import _run, by_ansible, by_ssh
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


HANGS = """#!/bin/sh
sleep 300 &
echo "$!" >"$0.child"
wait
"""


def lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_an_engine_that_does_not_end_is_stopped_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "sinfo"
    program.write_text(HANGS)
    program.chmod(0o755)
    done = _run([str(program)], 1)
    assert done.returncode == 124
    child = int(Path(f"{program}.child").read_text())
    for _ in range(100):  # it was killed, and dies in its own time
        if not lives(child):
            return
        time.sleep(0.1)
    raise AssertionError("its child lives")


def test_an_engine_has_no_terminal_to_ask_on(tmp_path: Path) -> None:
    done = _run(["sh", "-c", "exec 3</dev/tty"], 10)
    assert done.returncode
    assert "/dev/tty" in done.stderr
