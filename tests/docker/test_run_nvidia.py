"""`doctor run` for NVIDIA with a real engine: by nodes and by CDI.

The host's sysfs and /proc/driver are those of a machine with two H100 (a mount namespace puts them there).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docker.conftest import REPO
from tests.docker.gpu_nodes import NVIDIA, SEE, cdi_folder, nvidia_nodes, seen
from tests.probes import amd_trees

pytestmark = pytest.mark.engine
_ = nvidia_nodes, cdi_folder  # fixtures
Doctor = Callable[..., "subprocess.CompletedProcess[str]"]

ENTER = 'mount --bind "$1/sys" /sys && mount --bind "$1/proc/driver" /proc/driver && shift && exec "$@"'
SHARED = {"/dev/nvidiactl": "ENXIO", "/dev/nvidia-uvm": "ENXIO"}
PLAIN = ["--user", "1000:1000"]


@pytest.fixture
def doctor(engine: str, image: str, tmp_path: Path) -> Doctor:
    """`doctor(*argv)` runs `doctor run` on that machine. GPU 0 by its address is minor 1, and the other way about."""
    for bus, minor in ((0x1B, 1), (0x3D, 0)):
        address = f"0000:{bus:02x}:00.0"
        place = f"pci0000:{bus - 1:02x}/0000:{bus - 1:02x}:01.1/{address}"
        names = {"class": "0x030200", "vendor": "0x10de", "device": "0x2330", "numa_node": "0", "revision": "0xa1"}
        amd_trees.pci_device(tmp_path, place, "nvidia", **names)
        text = f"Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-{bus:08x}\nBus Location: \t {address}\n"
        path = f"proc/driver/nvidia/gpus/{address}/information"
        amd_trees.write(tmp_path, {path: f"{text}Device Minor: \t {minor}\n"})
    version = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build  (root@host)\n"
    amd_trees.write(tmp_path, {"proc/driver/nvidia/version": version, "sys/module/nvidia/version": "575.57.08\n"})

    def start(*argv: str) -> subprocess.CompletedProcess[str]:
        words = ["unshare", "-m", "sh", "-c", ENTER, "sh", str(tmp_path), sys.executable, "-m", "doctor", "run", *argv]
        return subprocess.run(words, capture_output=True, text=True, timeout=90, cwd=REPO, check=False)

    return start


def test_docker_by_nodes(doctor: Doctor, nvidia_nodes: None, image: str) -> None:
    done = doctor("--engine", "docker", "--by", "nodes", "--gpus", "3d:00.0", *PLAIN, image, "--", *SEE)
    assert done.returncode == 0, done.stderr
    assert seen(done.stdout) == {"/dev/nvidia0": "ENXIO", **SHARED}
    assert "note: nodes alone bring no libcuda.so" in done.stderr
    every = doctor("--engine", "docker", "--by", "nodes", image, "--", *SEE)
    assert seen(every.stdout) == {f"/dev/{name}": "ENXIO" for name in NVIDIA}


def test_docker_by_cdi_takes_the_device_of_that_address(
    doctor: Doctor, nvidia_nodes: None, cdi_folder: Path, image: str
) -> None:
    """The driver's minor numbers are in another order than the addresses; the spec brings a library's mount too."""
    (cdi_folder / "libcuda.so.575.57.08").write_text("a library")
    mount = {"hostPath": str(cdi_folder / "libcuda.so.575.57.08"), "containerPath": "/usr/lib/libcuda.so.575.57.08"}
    common = {"deviceNodes": [{"path": path} for path in SHARED], "mounts": [{**mount, "options": ["ro", "bind"]}]}
    devices = [
        {"name": name, "containerEdits": {"deviceNodes": [{"path": path} for path in paths]}}
        for name, paths in (
            ("0", ["/dev/nvidia1"]),
            ("1", ["/dev/nvidia0"]),
            ("all", ["/dev/nvidia0", "/dev/nvidia1"]),
        )
    ]
    table = {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "containerEdits": common, "devices": devices}
    (cdi_folder / "nvidia.json").write_text(json.dumps(table))
    look = ["sh", "-c", f"cat /usr/lib/libcuda.so.575.57.08; echo; python3 -c '{SEE[2]}'"]
    done = doctor("--engine", "docker", "--gpus", "0", *PLAIN, image, "--", *look)
    assert done.stdout.splitlines()[0] == "a library", done.stderr
    assert seen(done.stdout) == {"/dev/nvidia1": "ENXIO", **SHARED}
    (cdi_folder / "libcuda.so.575.57.08").unlink()  # as after an update of the driver
    stale = doctor("--engine", "docker", "--by", "cdi", image, "--", "true")
    assert stale.returncode == 2
    assert "is stale: it names /etc/cdi/libcuda.so.575.57.08, which is not there" in stale.stderr


def test_no_toolkit_and_no_spec_is_said_and_nothing_starts(doctor: Doctor, nvidia_nodes: None, image: str) -> None:
    done = doctor("--engine", "docker", image, "--", "echo", "started")
    assert (done.returncode, done.stdout) == (2, "")
    assert "missing: docker has no nvidia runtime and there is no CDI spec" in done.stderr
    assert "Fix: install nvidia-container-toolkit" in done.stderr
