"""A bundle where no tool answers: it is written all the same, and says what is missing."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from doctor.bundle import wanted

_OTHERS = (
    "docker podman crictl journalctl dmesg getconf ldconfig gcc g++ cc nvcc hipcc hipconfig rocm_agent_enumerator"
    " rocm-smi python python3 conda uname lsmod mokutil ibstat scontrol sinfo"
)
_LIMIT_S = 15
"""On a machine with nothing else to do; a hung bundle takes 600."""


def test_every_tool_hangs_and_the_bundle_is_out(tmp_path: Path) -> None:
    tools = {argv[0] for argv in (*wanted._TOOLS.values(), *wanted._GPU_TOOLS.values())} | set(_OTHERS.split())
    (tmp_path / "bin").mkdir()
    for name in tools:
        path = tmp_path / "bin" / name
        path.write_text("#!/bin/sh\ntrap '' TERM INT HUP\nwhile :; do /bin/sleep 600; done\n")
        path.chmod(0o755)
    environment = {**os.environ, "PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    argv = [sys.executable, "-m", "doctor", "bundle", "-o", str(tmp_path / "b.tar.gz")]
    began = time.monotonic()
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=110, check=False)
    took = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    assert took < _LIMIT_S * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    with tarfile.open(tmp_path / "b.tar.gz") as packed:
        held = packed.extractfile("manifest.json")
        assert held is not None
        assert "command:lspci" in held.read().decode()
    assert not _running(str(tmp_path / "bin"))


def _running(folder: str) -> list[bytes]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_bytes())
    return [words for words in found if folder.encode() in words]
