"""Commands: bounded in time and output, ended with all they started, in an environment of ours."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from doctor.facts.origin import State
from doctor.system import commands, processes
from doctor.system.base import Output, Reading
from doctor.system.live import LiveSystem


def shell(script: str, deadline_s: float = 5.0, limit: int = 1000) -> Reading[Output]:
    return LiveSystem().run(["/bin/sh", "-c", script], deadline_s=deadline_s, limit=limit)


def test_exit_code_and_streams() -> None:
    output = shell("echo out; echo err >&2; exit 3").value
    assert output is not None
    assert (output.code, output.stdout, output.stderr, output.cut) == (3, "out\n", "err\n", False)


def test_stdin_is_empty() -> None:
    output = shell("cat; echo end").value
    assert output is not None
    assert output.stdout == "end\n"


def test_absent_program_and_no_shell() -> None:
    live = LiveSystem()
    assert live.run(["nonesuch-tool", "-L"]).is_absent
    assert live.which("nonesuch-tool").is_absent
    assert live.run(["../bin/sh"]).is_absent
    echoed = live.run(["echo", "$HOME; id"]).value
    assert echoed is not None
    assert echoed.stdout == "$HOME; id\n"


def test_a_group_that_ignores_sigterm_is_killed_with_its_grandchildren(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"trap '' TERM; (trap '' TERM; echo $$ >>{pids}; sleep 60 & echo $! >>{pids}; wait) & sleep 60"
    reading = shell(script, deadline_s=0.5)
    assert reading.state is State.TIMED_OUT
    written = [int(line) for line in pids.read_text().split()]
    assert len(written) == 2
    gone_by = time.monotonic() + 1
    while any(map(processes.is_running, written)) and time.monotonic() < gone_by:
        time.sleep(0.005)
    assert not any(map(processes.is_running, written))


def test_a_daemon_that_keeps_the_output_open_is_not_waited_for() -> None:
    reading = shell("sleep 60 & echo started", deadline_s=5.0)
    assert reading.value is not None
    assert reading.value.stdout == "started\n"
    assert reading.value.seconds < 1


def test_100_mb_of_output_are_drained_and_capped() -> None:
    output = shell("head -c 100000000 /dev/zero; echo end >&2", limit=1000).value
    assert output is not None
    assert (len(output.stdout), output.cut, output.code, output.stderr) == (1000, True, 0, "end\n")


def test_the_environment_is_scrubbed() -> None:
    environ = {"LD_PRELOAD": "x", "PYTHONPATH": "x", "DOCKER_HOST": "tcp://x", "HIP_VISIBLE_DEVICES": "0", "PATH": "/x"}
    assert commands.scrubbed(environ, ["/usr/bin"]) == {"HIP_VISIBLE_DEVICES": "0", "PATH": "/usr/bin", "LC_ALL": "C"}


def test_a_program_that_cannot_be_executed_has_failed(tmp_path: Path) -> None:
    program = tmp_path / "broken"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    reading = commands.execute([str(program)], str(program), {}, 1.0, 100)
    assert (reading.state, reading.detail) == (State.FAILED, "ENOEXEC")


def test_a_stuck_process_is_named_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE_S", 0.02)
    monkeypatch.setattr(processes, "kill_with_descendants", lambda pid: None)
    reading = commands.execute(["sleep", "0.5"], "/bin/sleep", {}, 0.02, 100)
    assert reading.state is State.TIMED_OUT
    assert "cannot be killed (waits in" in (reading.detail or "")
    os.waitpid(int((reading.detail or "").split()[1]), 0)


def test_group_announcements_frame_each_command(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[bool] = []
    monkeypatch.setattr(processes, "watcher", lambda group, began: told.append(began))
    commands.execute([sys.executable, "-V"], sys.executable, {}, 5.0, 100)
    assert told == [True, False]


@pytest.mark.parametrize(
    ("uid_map", "owners"), [("0 0 4294967295\n", {0}), ("0 1000 1\n1 100000 65536\n", {0, 65534}), ("", {0, 65534})]
)
def test_a_rootless_container_trusts_the_files_of_its_host(tmp_path: Path, uid_map: str, owners: set[int]) -> None:
    (tmp_path / "uid_map").write_text(uid_map)
    (tmp_path / "overflow").write_text("65534\n")
    assert commands.trusted_owners(f"{tmp_path}/uid_map", f"{tmp_path}/overflow") == owners
    assert commands.trusted_owners(f"{tmp_path}/missing", f"{tmp_path}/overflow") == {0}
