"""nvidia-driver-not-loaded: host against container, and who else owns the GPU."""

from __future__ import annotations

from doctor.rules.driver import nvidia_driver_not_loaded as rule
from doctor.triage.read import read_text
from tests.rules import machines
from tests.rules.driver.asked import found, told
from tests.rules.remedies import argvs, titles

UNLOADED = {"nvidia_driver.loaded": False, "nvidia_driver.version": None, "nvidia_driver.flavour": None}
UNBOUND = (
    UNLOADED
    | {f"gpus[{a}].driver": "none" for a in machines.H100}
    | {f"pci[{a}].driver": "none" for a in machines.H100}
)


def test_a_host_with_the_module_on_disk_is_told_to_load_it() -> None:
    (finding,) = found(rule, machines.h100_host(UNBOUND))
    assert finding.summary == "The NVIDIA kernel module is not loaded for 8 NVIDIA GPUs."
    assert (finding.subject.kind, finding.subject.id) == ("driver", "nvidia")
    assert argvs(finding)[0] == ("modprobe", "nvidia")


def test_a_host_without_the_module_installs_the_driver_of_its_distribution() -> None:
    (finding,) = found(rule, machines.h100_host(UNBOUND | {"nvidia_driver.module_on_disk": None}))
    assert argvs(finding)[1] == ("apt-get", "install", "--yes", "nvidia-driver-580-server-open")
    assert argvs(finding)[-1] == ("systemctl", "reboot")


def test_inside_a_container_the_host_is_at_fault_and_no_command_of_the_container_is_given() -> None:
    (finding,) = found(rule, machines.h100_container(UNBOUND))
    assert (
        finding.summary
        == "The NVIDIA kernel module is not loaded on the host of this container (8 NVIDIA GPUs on its bus)."
    )
    assert argvs(finding) == [("systemctl", "reboot")]
    assert "on the host of this container" in titles(finding)[0]


def test_one_gpu_left_out_is_a_warning_on_that_gpu() -> None:
    machine = machines.h100_host({f"gpus[{machines.H100[0]}].driver": "none"})
    expected = "The NVIDIA module is loaded but does not drive NVIDIA H100 80GB HBM3 (0000:1b:00.0)."
    assert told(rule, machine) == [("warning", machines.H100[0], expected)]


def test_near_misses() -> None:
    passed = UNLOADED | {f"gpus[{a}].driver": "vfio-pci" for a in machines.H100}
    for machine in (
        machines.h100_host(),
        machines.h100_host(passed),
        machines.h100_host(UNBOUND | {"host.wsl": True}),
        machines.h100_host(UNLOADED),  # the bus says that nvidia owns the GPUs
        machines.h100_container({"nodes": []}),
        machines.no_gpu_host(),
        machines.mi300x_host(),
    ):
        assert found(rule, machine) == []


def test_unknown_gpus_or_module_accuse_nobody() -> None:
    assert found(rule, machines.h100_host(UNBOUND | {"gpus": None, "pci": None})) == []


def test_a_gpu_that_the_branch_of_the_driver_no_longer_drives() -> None:
    for text, branch in (
        ("GPU: GeForce GTX 780 Ti\nDriver: 550.120\nnvidia-smi: No devices were found", 470),
        ("GPU: Tesla M2090\nDriver: 470.256.02\nnvidia-smi: No devices were found", 390),
        ("GPU: Tesla P100-PCIE-16GB\nDriver: 590.48.01\nnvidia-smi: No devices were found", 580),
    ):
        (finding,) = found(rule, read_text([text.encode()]))
        assert f"{branch} is the last branch" in finding.summary


def test_a_gpu_that_the_branch_still_drives_and_one_that_is_seen() -> None:
    for text in (
        "GPU: GeForce GTX 780 Ti\nDriver: 470.256.02\nnvidia-smi: No devices were found",
        "GPU: GeForce GTX 750 Ti\nDriver: 550.120\nnvidia-smi: No devices were found",
        "GPU: NVIDIA GeForce RTX 4070\nDriver: 590.48.01\nnvidia-smi: No devices were found",
        "GPU: Quadro P4000\nDriver: 581.57\nnvidia-smi: No devices were found",  # Windows' numbers of branch 580
        "GPU: GeForce GTX 780 Ti\nDriver: 475.14\nnvidia-smi: No devices were found",
        "GPU: GeForce GTX 780 Ti\nDriver: 550.120",
        "GPU: GeForce GTX 780 Ti\nnvidia-smi: No devices were found",
    ):
        assert found(rule, read_text([text.encode()])) == []
