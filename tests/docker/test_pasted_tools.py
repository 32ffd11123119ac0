"""What Debian's own rocminfo, rocm-smi and nvidia-smi print where there is no GPU, pasted into `doctor triage`."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.triage.read import read_text
from tests.docker.conftest import run

pytestmark = pytest.mark.engine
_UNPACK = """
echo 'deb http://deb.debian.org/debian bookworm contrib non-free' > /etc/apt/sources.list.d/non-free.list
apt-get update -q && cd /tmp && apt-get download -q nvidia-smi libnvidia-ml1 || exit 77
for package in *.deb; do dpkg -x "$package" /unpacked; done
"""
"""nvidia-smi with its library, without the driver that its package asks for."""


def pasted(image: str, command: str, before: str = "true") -> Snapshot:
    """`$ command` in a fence, and all that it wrote, as people paste it."""
    done = run("docker", "run", "--rm", image, "sh", "-c", f"({before}) >/dev/null 2>&1 || exit 77; {command} 2>&1")
    if done.returncode == 77:
        pytest.skip("Debian's packages can't be downloaded here")
    return read_text([f"```\n$ {command}\n{done.stdout}```\n".encode()])


def test_rocminfo_says_that_the_module_is_not_loaded(image: str) -> None:
    machine = pasted(image, "rocminfo")
    assert machine.amdgpu_driver.loaded is False
    assert machine.gpus is None  # nothing is said of GPUs, which is not that there are none
    assert machine.origins["amdgpu_driver.loaded"].source.startswith("text:")


@pytest.mark.parametrize("options", ["", " --showtopo", " -a"])
def test_rocm_smi_says_that_the_driver_is_not_there(image: str, options: str) -> None:
    machine = pasted(image, f"rocm-smi{options}")
    assert machine.amdgpu_driver.loaded is False
    assert machine.gpus is None


@pytest.mark.parametrize("options", ["", " -L", " -q"])
def test_nvidia_smi_says_that_nvml_does_not_start(image: str, options: str) -> None:
    library = "LD_LIBRARY_PATH=/unpacked/usr/lib/x86_64-linux-gnu/nvidia/current"
    machine = pasted(image, f"{library} /unpacked/usr/lib/nvidia/current/nvidia-smi{options}", before=_UNPACK)
    said = str(machine.nvidia_driver.smi_error)
    assert said.startswith(("Failed to initialize NVML", "NVIDIA-SMI has failed"))
    assert machine.nvidia_driver.version is None
    assert machine.gpus is None
