"""nvidia-open-module-required: Blackwell and Grace Hopper."""

from __future__ import annotations

from doctor.rules.driver import nvidia_open_module_required as rule
from tests.rules import machines
from tests.rules.driver.asked import found
from tests.rules.remedies import argvs

GPU = f"gpus[{machines.RTX4090}]"
BLACKWELL = {f"{GPU}.name": "NVIDIA GeForce RTX 5090", f"{GPU}.pci_id": "10de:2b85", f"{GPU}.arch": "sm_120"}


def test_blackwell_with_the_proprietary_modules() -> None:
    (finding,) = found(rule, machines.rtx4090_desktop(BLACKWELL))
    assert finding.summary == (
        "NVIDIA GeForce RTX 5090 (0000:01:00.0) needs the open NVIDIA kernel modules, "
        "but the proprietary ones are installed."
    )
    assert ("dnf", "install", "--assumeyes", "--allowerasing", "nvidia-open") in argvs(finding)


def test_the_kernel_log_says_so() -> None:
    edits = {"nvidia_driver.flavour": None} | machines.event("nvidia-open-module-required", machines.RTX4090)
    assert len(found(rule, machines.rtx4090_desktop(edits))) == 1


def test_near_misses_and_unknown() -> None:
    assert found(rule, machines.rtx4090_desktop()) == []
    assert found(rule, machines.rtx4090_desktop(BLACKWELL | {"nvidia_driver.flavour": "open"})) == []
    assert found(rule, machines.rtx4090_desktop(BLACKWELL | {"nvidia_driver.flavour": None})) == []
