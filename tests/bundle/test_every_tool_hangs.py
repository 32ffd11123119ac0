"""A bundle where no tool answers: it is written all the same, and says what is missing."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import pytest

from doctor.bundle import wanted
from doctor.bundle.open import open_bundle
from tests.fakenode import Machine, Node, Support, support
from tests.fakenode.machine import Command

pytestmark = pytest.mark.fakenode
_OTHERS = (
    "docker podman crictl dmesg getconf ldconfig gcc g++ cc nvcc hipcc hipconfig rocm_agent_enumerator"
    " python python3 conda uname lsmod mokutil ibstat scontrol sinfo"
)
_LIMIT_S = 15
"""On a machine with nothing else to do; a hung bundle takes 600."""


def every_tool_hangs(machine: Machine) -> None:
    tools = {argv[0] for argv in (*wanted._TOOLS.values(), *wanted._GPU_TOOLS.values())} | set(_OTHERS.split())
    machine.commands |= {name: Command({}, hangs=True) for name in (*tools, "journalctl")}


def running_in(root: Path) -> list[Path]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found += [process] if (process / "root").readlink() == root.resolve() else []
    return found


def test_every_tool_hangs_and_the_bundle_is_out() -> None:
    if support() is Support.NONE:
        pytest.skip("neither root nor a user namespace may make a mount namespace here")
    with Node("h100", 2, faults=(every_tool_hangs,)).laid_out() as machine:
        began = time.monotonic()
        done = machine.run(["doctor", "bundle", "-o", "/tmp/b.tar.gz"], timeout_s=110)
        took = time.monotonic() - began
        assert done.code == 0, done.stderr
        assert took < _LIMIT_S * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        assert not running_in(machine.root)
        bundle = open_bundle(machine.root / "tmp/b.tar.gz")
    reasons = {row["origin"]: row["why"] for row in bundle.manifest["left_out"]}
    for tool in ("lscpu", "lspci -nnk", "dkms status", "nvidia-smi -q", "journalctl -k -b --no-pager -o short-iso"):
        assert reasons[f"command:{tool}"].startswith("no answer ")
    assert "report.html" in bundle.files
    assert b"numa_balancing" in bundle.files["capture.json"]
