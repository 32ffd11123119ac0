"""What `doctor check` touches, by strace: no socket but a local one, no write outside its output."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECK = [sys.executable, "-m", "doctor", "check", "--format", "json"]
WRITING = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")
CHANGING = (
    "unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "chmod", "fchmodat", "chown",
    "fchownat", "truncate", "mknod", "mknodat", "symlink", "symlinkat", "link", "linkat", "mount", "umount2",
    "init_module", "finit_module", "delete_module", "utimensat", "setxattr",
)  # fmt: skip


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    if not shutil.which("strace"):
        if os.environ.get("DOCTOR_REQUIRE_ENGINE"):
            pytest.fail("strace is required here")
        pytest.skip("strace is not installed")
    subprocess.run(CHECK, capture_output=True, check=False)  # compiles what is not compiled yet
    out = tmp_path_factory.mktemp("trace") / "trace"
    calls = ",".join(("socket", "connect", "bind", "open", "openat", "creat", *CHANGING))
    known = "?" + calls.replace(",", ",?")
    argv = ["strace", "-f", "-qq", "-o", str(out), "-e", f"trace={known}", *CHECK]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    return out.read_text(errors="replace").splitlines()


def test_only_local_sockets(trace: list[str]) -> None:
    sockets = [line for line in trace if re.search(r"\bsocket\(", line)]
    assert [line for line in sockets if "AF_UNIX" not in line] == []


def test_nothing_is_opened_for_writing_but_devices(trace: list[str]) -> None:
    """Device nodes are opened to see whether they can be; /dev/null is the standard input of commands."""
    opened = [line for line in trace if re.search(r"\bopen(at)?\(|\bcreat\(", line) and WRITING.search(line)]
    paths = {match[1] for line in opened if (match := re.search(r'"([^"]*)"', line))}
    assert {path for path in paths if not path.startswith("/dev/")} == set()


def test_nothing_is_changed(trace: list[str]) -> None:
    changing = re.compile(rf"\b({'|'.join(CHANGING)})\(")
    assert [line for line in trace if changing.search(line) and "= -1" not in line] == []


def test_no_write_where_it_runs(tmp_path: Path) -> None:
    subprocess.run(CHECK, capture_output=True, check=False, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
