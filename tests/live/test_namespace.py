"""A mount namespace in which another machine's sysfs stands over ours, so that the live code reads it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.live.trees import lay_out, machines
from tests.probes.amd_trees import mi300x

REPO = Path(__file__).resolve().parents[2]
CPX = "amd-mi300x-8gpu-cpx-kfd"


def refuse(why: str) -> None:
    if os.environ.get("DOCTOR_REQUIRE_ENGINE"):
        pytest.fail(f"{why}, and it is required here")
    pytest.skip(why)


def live(root: Path) -> dict[str, Any]:
    """The JSON report of `doctor check` with root/sys over /sys, cgroups kept."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        refuse("a mount namespace needs root and unshare")
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        refuse("no mount namespace may be made here")
    enter = 'mount --bind "$1/sys" /sys && exec "$2" -m doctor check --format json'
    argv = ["unshare", "-m", "sh", "-c", enter, "sh", str(root), sys.executable]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, cwd=REPO)
    assert done.returncode in (0, 1), done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_two_mi300x_over_sysfs(tmp_path: Path) -> None:
    mi300x(tmp_path, 0x05, 0xC1)
    machine = live(tmp_path)["snapshot"]
    assert [(g["pci_address"], g["arch"]) for g in machine["gpus"]] == [
        ("0000:05:00.0", "gfx942"),
        ("0000:c1:00.0", "gfx942"),
    ]
    assert machine["amdgpu_driver"]["loaded"] is True


@pytest.mark.skipif(CPX not in machines(), reason="the shared captures of other machines are not here")
def test_eight_mi300x_in_63_partitions_over_sysfs(tmp_path: Path) -> None:
    machine = live(lay_out(CPX, tmp_path))["snapshot"]
    assert len(machine["gpus"]) == 8
    assert sum(len(g["partitions"]) for g in machine["gpus"]) == 63
