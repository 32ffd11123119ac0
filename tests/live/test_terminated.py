"""A signal ends a check with its children, and without a traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HANGING = """
import sys, time
from doctor.cli import main
from doctor.system.live import LiveSystem
LiveSystem.read_text = LiveSystem.list_dir = LiveSystem.stat = lambda *_, **__: time.sleep(60)
sys.argv = ["doctor", "check"]
main.main()
"""


def children_of(pid: int) -> list[Path]:
    numbers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [Path(f"/proc/{number}") for number in numbers]


def runs(process: Path) -> bool:
    """A killed child that init has not taken note of yet is no longer a process that runs."""
    try:
        return (process / "stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_ended_from_outside(number: signal.Signals) -> None:
    """By its service, by a terminal that was closed, by Ctrl-C."""
    check = subprocess.Popen(
        [sys.executable, "-c", HANGING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # tests that run under nohup ignore one of them
    )
    ends = time.monotonic() + 30
    while len(children_of(check.pid)) < 5 and time.monotonic() < ends:
        time.sleep(0.05)
    children = children_of(check.pid)
    assert len(children) >= 5
    check.send_signal(number)
    out, err = check.communicate(timeout=15)
    assert (check.returncode, out, err) == (130, b"", b"")
    assert [child for child in children if runs(child)] == []
