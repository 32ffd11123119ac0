"""Which GPU, driver or container it is, is often written above what fails. It is no proof that anything works: an error
text keeps its cause beside it."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.intake import read_text
from doctor.knowledge import Knowledge
from tests.knowledge.texts import raised

AGENT = """
GPU:
$ rocminfo
*******
Agent 2
*******
  Name:                    gfx1100
  Marketing Name:          AMD Radeon RX 7900 XTX
  Vendor Name:             AMD
  Device Type:             GPU
"""
WHOLE = AGENT.replace("gfx1100\n", "gfx1100\n  Uuid:                    GPU-5fe1f4dc8a3c2b11\n")
NAMED = "\n$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 3090\n"
VERSION = "\nSystem:\nNVIDIA driver version: 570.133.07\n"
BUILD = "Error! Bad return status for module build on kernel: 6.17.0-6-generic (x86_64)\n"
BUILD += "Consult /var/lib/dkms/amdgpu/6.12.12-2202139.24.04/build/make.log for more information.\n"
INSIDE = "\nContainer:\nrunning inside a container: yes\ncontainer engine: docker\n"

KEPT = [
    ("amdgpu-driver-not-loaded", "cat: /sys/module/amdgpu/initstate: No such file or directory\n" + AGENT),
    ("amdgpu-driver-not-loaded", "ROCk module is NOT loaded, possibly no GPU devices\n" + AGENT),
    ("amdgpu-driver-not-loaded", "ROCk module is NOT loaded, possibly no GPU devices\n" + INSIDE),
    ("amdgpu-kernel-or-os-unsupported", "Building module amdgpu for 6.17.0-6 failed\n" + BUILD + AGENT),
    ("secure-boot-blocks-module", "SecureBoot enabled\nmodprobe nvidia: Operation not permitted\n" + NAMED),
    ("nvidia-driver-not-loaded", "torch finds no GPU\nthe nvidia module is blacklisted\n" + VERSION),
    ("nvidia-driver-not-loaded", "no display since the update\ndkms autoinstall failed for nvidia\n" + VERSION),
]


@pytest.mark.parametrize(("cause", "text"), KEPT)
def test_an_error_keeps_its_cause_beside_a_name(cause: str, text: str) -> None:
    assert cause in raised(text)


def test_a_driver_that_is_missed_beside_a_list_of_names_is_no_error() -> None:
    text = "ROCk module is NOT loaded, possibly no GPU devices\n$ lsmod | grep amdgpu\n$ uname -r\n6.8.0-60-generic\n"
    findings = judge(read_text([(text + AGENT).encode()]), Knowledge()).findings
    (finding,) = [f for f in findings if f.rule == "amdgpu-driver-not-loaded"]
    assert finding.severity == "warning"


def test_what_the_runtime_alone_knows_is_a_proof() -> None:
    assert raised("cat: /sys/module/amdgpu/initstate: No such file or directory\n" + WHOLE) == []


def test_a_program_that_misses_the_driver_and_a_version_that_was_seen() -> None:
    missed = "RuntimeError: Found no NVIDIA driver on your system.\n" + NAMED
    assert raised(missed) == ["nvidia-driver-not-loaded"]
    assert raised(missed + VERSION + INSIDE) != ["nvidia-driver-not-loaded"]


def test_a_virtual_machine_of_an_engine_has_a_kernel_of_its_own() -> None:
    text = "ROCk module is NOT loaded, possibly no GPU devices\n" + INSIDE
    assert "amdgpu-driver-not-loaded" not in raised(text.replace("engine: docker", "engine: Docker Desktop"))
