"""A running process as a machine: real processes, and those that are none any more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.errors import InputError
from doctor.system.process import ProcessSystem


def test_a_process_is_read_by_what_it_has(tmp_path: Path) -> None:
    told = {"PATH": "/usr/bin", "HSA_XNACK": "1"}
    with subprocess.Popen([sys.executable, "-c", "print(flush=True);input()"], env=told, stdin=-1, stdout=-1) as child:
        assert child.stdout
        child.stdout.readline()
        system = ProcessSystem(child.pid)
        assert dict(system.environ().value or {}).items() >= told.items()
        assert (system.account().value or {})["uid"] == os.getuid()
        assert "input()" in (system.read_text("proc/self/cmdline").value or "")
        child.kill()


def test_a_zombie_is_told_from_a_number_that_nobody_has() -> None:
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {})
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    try:
        with pytest.raises(InputError, match="has ended"):
            ProcessSystem(child)
    finally:
        os.waitpid(child, 0)
    with pytest.raises(InputError, match="no such process"):
        ProcessSystem(child)


def test_a_thread_of_the_kernel_is_no_process_to_judge() -> None:
    second = Path("/proc/2/comm")
    if not second.exists() or second.read_text().strip() != "kthreadd":
        pytest.skip("the kernel's threads are not seen in this PID namespace")
    with pytest.raises(InputError, match=r"thread of the kernel|Permission denied"):
        ProcessSystem(2)
