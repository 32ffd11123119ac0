"""Texts whose error names one cause and whose facts show the one behind it: that one is named first."""

from __future__ import annotations

import pytest

from doctor.triage.read import read_text
from tests.knowledge.texts import told

NO_CUDA = "RuntimeError: No CUDA GPUs are available\n"


def test_what_a_line_says_of_two_things_is_read_as_two() -> None:
    machine = read_text([b"OS: Arch Linux, kernel 6.16.10-arch1-1\nROCm version: 7.0.1\n"])
    assert (machine.kernel.release, machine.os.name, machine.os.version) == ("6.16.10-arch1-1", "Arch Linux", None)
    assert read_text([b"OS: Ubuntu 22.04, kernel unknown\n"]).kernel.release is None


def test_what_a_setting_is_said_to_let_is_no_value_of_it() -> None:
    told_of = read_text([b"NCCL_P2P_DISABLE=1 lets it run, slowly\n"]).environment or {}
    assert "NCCL_P2P_DISABLE" not in told_of
    assert (read_text([b"NCCL_P2P_DISABLE=1\n"]).environment or {})["NCCL_P2P_DISABLE"] == "1"


def test_nvml_needs_no_node_of_uvm() -> None:
    node = "crw-rw-rw- 1 root root 195, {} Dec 20 17:02 /dev/nvidia{}\n"
    inside = "running inside a container: yes\n" + node.format(0, 0) + node.format(255, "ctl")
    assert "nvidia-uvm-missing" in told(inside + NO_CUDA)
    assert "nvidia-uvm-missing" not in told("Failed to initialize NVML: Unknown Error\n" + inside + NO_CUDA)


@pytest.mark.parametrize(
    ("command", "output", "version"),
    [
        ("cat /sys/module/amdgpu/version", "6.12.12", "6.12.12"),
        ("modinfo -F version amdgpu", "6.12.12", "6.12.12"),
        ("cat /sys/module/amdgpu/version", "cat: /sys/module/amdgpu/version: No such file or directory", None),
        ("cat /sys/module/amdgpu/srcversion", "6.12.12", None),
    ],
)
def test_a_module_that_is_asked_for_its_version(command: str, output: str, version: str | None) -> None:
    assert read_text([f"$ {command}\n{output}\n".encode()]).amdgpu_driver.version == version
