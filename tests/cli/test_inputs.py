"""What is no file ends a command at once; what a shell hands over as a pipe is read."""

# ruff: noqa: E501 -- tables
from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from doctor.cli.main import run
from doctor.errors import InputError
from doctor.system.given import open_given


def _late(*_: object) -> None:
    pytest.fail("the command waits")  # no OSError, which a command reports as wrong input


def test_a_fifo_is_waited_for_by_no_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fifo, folder = tmp_path / "fifo", tmp_path / "reports"
    os.mkfifo(fifo)
    folder.mkdir()
    lines = [["triage", str(fifo)], ["env", str(fifo)], ["fleet", "report", str(folder), "--nodes", f"@{fifo}"],
             ["fleet", "report", str(folder), "--gres", str(fifo)], ["check", "--from", str(fifo)], ["diff", str(fifo), str(fifo)],
             ["check", "--allow", str(fifo)], ["bundle", "scan", str(fifo)], ["image", "lint", str(fifo)],
             ["solve", "--requirements", str(fifo)]]  # fmt: skip
    before = signal.signal(signal.SIGALRM, _late)
    try:
        for words in lines:
            signal.alarm(20)
            code = run(words)
            assert (words, code, capsys.readouterr().err.count("\n")) == (words, 2, 1)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_a_device_is_not_opened() -> None:
    for device in ("/dev/zero", "/dev/tty"):
        with pytest.raises(InputError, match="a device and no file"):
            open_given(Path(device))


def test_what_a_shell_hands_over_as_a_pipe_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"said")
    os.close(writing)
    with open_given(Path(f"/dev/fd/{reading}")) as held:
        assert held.read() == b"said"
    os.close(reading)


def test_a_host_that_begins_like_an_option_is_refused() -> None:
    lines = [["fleet", "check", "--ssh=-oProxyCommand=x"], ["fleet", "check", "--slurm", "--nodes=-w"],
             ["fleet", "check", "--slurm", "--nodes=n1,-w"], ["fleet", "check", "--ansible", "/tmp", "--hosts=-x"],
             ["run", "--gpus", "none", "--print", "--", "-v"], ["run", "--gpus", "none", "--print", "-v", "-x:/y", "img"],
             ["run", "--gpus", "none", "--print", "-v=-x", "img"]]  # fmt: skip
    assert not [words for words in lines if run(words) != 2]
