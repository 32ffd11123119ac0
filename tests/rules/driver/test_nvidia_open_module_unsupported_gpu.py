"""nvidia-open-module-unsupported-gpu: older than Turing."""

from __future__ import annotations

from doctor.intake import read_text
from doctor.rules.driver import nvidia_open_module_unsupported_gpu as rule
from tests.rules import machines
from tests.rules.driver.asked import found

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
        "Tesla V100 (0000:01:00.0) is older than the open NVIDIA kernel modules support, and these are loaded."
    )
    assert finding.fixes[0].command == ("dnf", "install", "--assumeyes", "cuda-drivers")


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


def test_words_are_not_heard_where_nvidia_smi_works() -> None:
    assert rule.unheard(read_text([b"GPU 0: Tesla P40\nnvidia-smi works, the program stops"]))
    assert not rule.unheard(read_text([b"GPU 0: Tesla P40\nnvidia-smi: No devices were found"]))
