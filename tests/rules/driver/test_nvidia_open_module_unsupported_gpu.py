"""nvidia-open-module-unsupported-gpu: older than Turing."""

from __future__ import annotations

from doctor.rules.driver import nvidia_open_module_unsupported_gpu as rule
from tests.rules import machines
from tests.rules.driver.asked import found
from tests.rules.remedies import argvs

GPU = f"gpus[{machines.RTX4090}]"
VOLTA = {
    f"{GPU}.name": "Tesla V100",
    f"{GPU}.pci_id": "10de:1db4",
    f"{GPU}.arch": "sm_70",
    "nvidia_driver.flavour": "open",
}


def test_volta_with_the_open_modules() -> None:
    (finding,) = found(rule, machines.rtx4090_desktop(VOLTA))
    assert finding.summary == (
        "Tesla V100 (0000:01:00.0) is too old for the open NVIDIA kernel modules, which are loaded."
    )
    assert ("dnf", "install", "--assumeyes", "--allowerasing", "cuda-drivers") in argvs(finding)


def test_near_misses_and_unknown() -> None:
    assert found(rule, machines.h100_host()) == []
    assert found(rule, machines.rtx4090_desktop(VOLTA | {"nvidia_driver.flavour": "proprietary"})) == []
    assert found(rule, machines.rtx4090_desktop(VOLTA | {"nvidia_driver.flavour": None})) == []
    assert (
        found(
            rule,
            machines.rtx4090_desktop(
                VOLTA | {f"{GPU}.pci_id": None, f"{GPU}.arch": None, f"{GPU}.name": "NVIDIA Graphics Device"}
            ),
        )
        == []
    )
