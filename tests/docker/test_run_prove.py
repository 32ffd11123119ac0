"""`doctor run --prove` with a real engine, container and nodes: each exit code, with what it says.

No GPU is here: nodes have the numbers of /dev/null, and where the driver's tool and torch are to answer, stand-ins do.
The script, the engine's API, the permissions and the codes are real.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docker.conftest import run
from tests.docker.gpu_nodes import AMD, amd_nodes, null_nodes, podman
from tests.docker.test_run import PLAIN, Doctor, doctor

pytestmark = pytest.mark.engine
_ = amd_nodes, null_nodes, podman, doctor  # fixtures

ROCMINFO = "#!/bin/sh\nfor n in 1 2; do echo '  Device Type:             GPU'; done\n"
TORCH = """
__version__ = "2.9.1"
class cuda:
    @staticmethod
    def device_count():
        return 2
class Matrix:
    def __matmul__(self, other):
        return self
    def sum(self):
        return self
    def item(self):
        return {total}
def ones(*shape, device):
    return Matrix()
"""


@pytest.fixture
def stack(tmp_path: Path) -> Callable[[int], list[str]]:
    """Options that mount a stand-in of rocminfo and of torch, whose products sum up to `total`."""

    def made(total: int) -> list[str]:
        for name in ("bin", "python"):
            (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / "bin/rocminfo").write_text(ROCMINFO)
        (tmp_path / "bin/rocminfo").chmod(0o755)
        (tmp_path / "python/torch.py").write_text(TORCH.replace("{total}", str(total)))
        for folder in (tmp_path, *tmp_path.parents):
            if str(folder).startswith("/tmp/"):
                folder.chmod(folder.stat().st_mode | 0o055)
        mounts = ["-v", f"{tmp_path}/bin:/opt/rocm/bin:ro", "-v", f"{tmp_path}/python:/python:ro"]
        return [*mounts, "-e", "PYTHONPATH=/python"]

    return made


def left() -> list[str]:
    """Containers of a proof, by the mark in their script: tests beside these start others."""
    lines = run("docker", "ps", "-a", "--no-trunc", "--format", "{{.ID}} {{.Command}}").stdout.splitlines()
    return [line.partition(" ")[0] for line in lines if "doctor-prove" in line]


def test_0_every_layer_works(doctor: Doctor, null_nodes: None, slim: str, stack: Callable[[int], list[str]]) -> None:
    done = doctor("--engine", "docker", "--prove", *PLAIN, *stack(256**3), slim)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [
        *[f"node    ok         /dev/{name} opens" for name in AMD],
        "driver  ok         rocminfo lists 2 of 2 GPUs",
        "kernel  ok         torch 2.9.1 multiplied matrices on 2 GPU(s)",
        "Proven: the GPUs work in this container",
    ]
    assert left() == []


def test_an_env_file_reaches_the_proof(
    doctor: Doctor, null_nodes: None, slim: str, stack: Callable[[int], list[str]], tmp_path: Path
) -> None:
    """torch is found by the file's PYTHONPATH alone."""
    mounts = stack(256**3)[:-2]
    (tmp_path / "a.env").write_text("# where torch is\nPYTHONPATH=/python\n")
    done = doctor("--engine", "docker", "--prove", *PLAIN, *mounts, "--env-file", str(tmp_path / "a.env"), slim)
    assert done.returncode == 0, done.stdout + done.stderr
    without = doctor("--engine", "docker", "--prove", *PLAIN, *mounts, slim)
    assert without.returncode == 4, without.stdout + without.stderr


def test_1_the_kernel_layer_fails(
    doctor: Doctor, null_nodes: None, slim: str, stack: Callable[[int], list[str]]
) -> None:
    done = doctor("--engine", "docker", "--prove", *PLAIN, *stack(7), slim)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        1,
        "The kernel layer failed: GPU 0 computed 7 and not 16777216",
    )


def test_1_a_node_does_not_open(doctor: Doctor, amd_nodes: None, slim: str) -> None:
    """A node without a driver behind it, as after a reset."""
    done = doctor("--engine", "docker", "--gpus", "1", "--prove", *PLAIN, slim)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == ("The node layer failed: /dev/kfd does not open: No such device or address")


def test_4_the_image_has_nothing_to_try_with(doctor: Doctor, null_nodes: None, slim: str) -> None:
    done = doctor("--engine", "docker", "--prove", *PLAIN, slim)
    assert done.returncode == 4, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "Nothing failed; not tried: driver, kernel"


def test_125_the_engine_refuses(doctor: Doctor, amd_nodes: None, slim: str) -> None:
    gone = ["--with", "rdma"] if not Path("/dev/infiniband").exists() else []
    done = doctor("--engine", "docker", "--prove", "--force", "--network", "no-such-network", *gone, slim)
    assert done.returncode == 125, done.stdout + done.stderr
    assert "no-such-network not found" in done.stdout.splitlines()[-1]
    assert left() == []


def test_125_something_is_missing(doctor: Doctor, slim: str) -> None:
    done = doctor("--engine", "docker", "--prove", slim)
    assert (done.returncode, done.stdout) == (125, "Not started: /dev/kfd is not there\n")
    forced = doctor("--engine", "docker", "--prove", "--force", slim)
    assert forced.returncode == 125
    assert "/dev/kfd" in forced.stdout


def test_125_a_profile_s_image_is_not_looked_for_in_a_registry(doctor: Doctor, null_nodes: None) -> None:
    done = doctor("--engine", "docker", "--prove", "doctor/no-such-profile")
    assert done.returncode == 125, done.stderr
    assert done.stdout.startswith("Not started: doctor/no-such-profile: no image of that profile is here")


def test_podman_says_the_same(doctor: Doctor, null_nodes: None, podman: dict[str, str], image: str) -> None:
    done = doctor("--engine", "podman", "--prove", "-e", "PATH=/usr/bin:/bin", *PLAIN, f"docker.io/{image}", env=podman)
    assert done.returncode == 1, done.stdout + done.stderr  # rocminfo is there, and finds no driver
    assert [line for line in done.stdout.splitlines() if line.startswith("node")] == [
        f"node    ok         /dev/{name} opens" for name in AMD
    ]
    assert "The driver layer failed: " in done.stdout
