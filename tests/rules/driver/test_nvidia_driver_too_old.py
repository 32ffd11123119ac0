"""nvidia-driver-too-old: the floor of the CUDA major decides."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.intake import read_text
from doctor.rules.driver import nvidia_driver_too_old as rule
from tests.knowledge.texts import raised
from tests.rules import machines
from tests.rules.driver.asked import found, told

OLD = {"nvidia_driver.version": "470.256.02", "nvidia_driver.cuda_version": "11.4"}


def test_a_driver_below_the_floor() -> None:
    (finding,) = found(rule, machines.h100_host(OLD))
    assert finding.summary == "CUDA 12.8 needs NVIDIA driver 525.60.13 or newer; 470.256.02 is loaded."
    assert finding.fixes[0].command == ("apt-get", "install", "--yes", "nvidia-driver-580-open")
    assert finding.fixes[-1].where == "environment"


def test_cuda_13_on_575() -> None:
    machine = machines.h100_host({"torch.cuda": "13.0", "torch.version": "2.12.0"})
    expected = "CUDA 13.0 needs NVIDIA driver 580.65.06 or newer; 575.57.08 is loaded."
    assert told(rule, machine) == [("error", "nvidia", expected)]
    instead = found(rule, machine)[0].fixes[-1]
    assert instead.text == "Or keep the driver: torch 2.14.1+cu126 runs on it."
    assert (instead.command or ())[-2:] == ("https://download.pytorch.org/whl/cu126", "torch==2.14.1")


def test_an_image_that_asks_for_a_newer_cuda() -> None:
    edits = OLD | {"torch.cuda": None, "environment": {"NVIDIA_REQUIRE_CUDA": "cuda>=12.4 brand=tesla,driver>=470"}}
    assert len(found(rule, machines.h100_container(edits))) == 1
    edits["environment"] = {"NVIDIA_REQUIRE_CUDA": "cuda>=12.4", "NVIDIA_DISABLE_REQUIRE": "1"}
    assert found(rule, machines.h100_container(edits)) == []


def test_minor_version_compatibility_and_forward_compatibility_are_no_fault() -> None:
    minor = {"nvidia_driver.version": "535.54.03", "nvidia_driver.cuda_version": "12.2"}
    compat = OLD | {"environment": {"LD_LIBRARY_PATH": "/usr/local/cuda/compat"}}
    for edits in (minor, compat, {}):
        assert found(rule, machines.h100_host(edits)) == []


def test_unknown_versions() -> None:
    assert found(rule, machines.h100_host({"nvidia_driver.version": None, "nvidia_driver.cuda_version": None})) == []
    assert found(rule, machines.h100_host(OLD | {"torch.cuda": None})) == []


BLIND = "GPU: NVIDIA GeForce RTX 3080\nDriver: {}\nPyTorch version: {}\ntorch.cuda.is_available(): {}"


def test_the_wheel_that_pypi_gives_of_a_release_that_sees_no_gpu() -> None:
    (finding,) = found(rule, read_text([BLIND.format("550.120", "2.12.0", "False").encode()]))
    assert finding.severity.value == "warning"
    assert finding.summary == "PyPI's torch 2.12.0 is built for CUDA 13.0, which needs driver 580.65.06."


def test_a_release_whose_wheel_the_driver_serves_or_that_sees_the_gpu_or_names_its_build() -> None:
    for text in (
        BLIND.format("550.120", "2.6.0", "False"),
        BLIND.format("580.95.05", "2.12.0", "False"),
        BLIND.format("550.120", "2.12.0", "True"),
        BLIND.format("550.120", "2.12.0+cpu", "False"),
        "OS: Windows 11\n" + BLIND.format("550.120", "2.12.0", "False"),
        BLIND.format("550.120", "9.9.9", "False"),
    ):
        assert found(rule, read_text([text.encode()])) == []


ASKED = "conda install pytorch torchvision cudatoolkit=10.2 -c pytorch\nGPU available: False\n"


def test_a_command_that_asks_for_a_cuda_which_the_driver_does_not_serve() -> None:
    machine = read_text([f"{ASKED}NVIDIA driver version: 418.67\n".encode()])
    expected = "The installation command asks for CUDA 10.2, which needs driver 440.33."
    assert [row[::2] for row in told(rule, machine)] == [("warning", expected)]


def test_a_command_whose_cuda_the_driver_serves_or_beside_a_known_build_is_no_fault() -> None:
    for text in (f"{ASKED}NVIDIA driver version: 535.54.03\n", f"{ASKED}torch==1.8.0+cu101\nDriver Version: 418.67\n"):
        assert found(rule, read_text([text.encode()])) == []


def test_before_cuda_11_each_minor_release_has_its_own_floor() -> None:
    old = {"torch.cuda": "10.2", "torch.version": "1.8.0+cu102"}
    told_less = old | {"nvidia_driver.version": "418.67", "nvidia_driver.cuda_version": "10.1"}
    assert len(found(rule, machines.h100_host(told_less))) == 1
    assert (
        found(rule, machines.h100_host(old | {"nvidia_driver.version": None, "nvidia_driver.cuda_version": "10.2"}))
        == []
    )


SEES = "Driver Version: 470.161.03\nPyTorch version: 2.4.0+cu121\nIs CUDA available: {}\n{}"


def test_a_torch_that_has_its_gpu_is_served() -> None:
    assert found(rule, read_text([SEES.format("True", "").encode()])) == []
    assert len(found(rule, read_text([SEES.format("False", "").encode()]))) == 1
    newer = "Package Version\n------- -------\nvllm 0.19.1+cu130\n"
    (finding,) = found(rule, read_text([SEES.format("True", newer).encode()]))
    assert finding.summary.startswith("CUDA 13.0 needs")


def test_conda_s_package_of_the_runtime_tells_the_cuda_and_its_floor() -> None:
    def machine(name: str, version: str) -> Snapshot:
        held = [{"name": name, "version": version}]
        build = {"torch.cuda": None, "torch.version": None, "torch.build": None, "torch.available": None}
        return machines.h100_host(OLD | build | {"packages": held})

    ((severity, _, summary),) = told(rule, machine("cudatoolkit", "12.1.1"))
    assert (severity, summary) == ("warning", "CUDA 12.1 needs NVIDIA driver 525.60.13 or newer; 470.256.02 is loaded.")
    assert found(rule, machine("cudatoolkit", "11.8.0")) == []
    assert found(rule, machine("cuda-version", "12.8")) == []


_R570 = "driver version: 570.133.20\nGPU: {}\ntorch 2.9.1+cu130\n"
_BROUGHT = """NVIDIA_REQUIRE_CUDA=cuda>=13.0 brand=unknown,driver>=550,driver<551 brand=tesla,driver>=570,driver<571
VLLM_ENABLE_CUDA_COMPATIBILITY=1
"""


@pytest.mark.parametrize(
    ("text", "old"),
    [
        (_R570.format("8x NVIDIA H100 80GB HBM3") + _BROUGHT, False),
        (_R570.format("8x NVIDIA H100 80GB HBM3"), True),
        (_R570.format("8x NVIDIA H100 80GB HBM3") + _BROUGHT + "torch.cuda.is_available() is False", True),
        (_R570.format("2x NVIDIA GeForce RTX 4090") + _BROUGHT, True),
        (_R570.format("8x NVIDIA H100 80GB HBM3") + _BROUGHT.replace("570,driver<571", "535,driver<536"), True),
    ],
)
def test_forward_compatibility_that_an_image_brings(text: str, old: bool) -> None:
    assert (rule.RULE.id in raised(text)) is old


def test_a_loose_runtime_beside_a_torch_that_has_its_gpu_is_no_need() -> None:
    text = "Nvidia driver version: 515.65.01\nPyTorch version: 2.0.1+cu118\nIs CUDA available: {}\n"
    text += "[pip3] nvidia-cuda-runtime-cu12==12.1.105"
    assert rule.RULE.id not in raised(text.format("True"))
    assert rule.RULE.id in raised(text.format("False").replace("2.0.1+cu118", "2.1.0+cu121"))


@pytest.mark.parametrize(
    ("branch", "cuda", "old"), [("470", "12.4", True), ("535", "13.0", True), ("580", "13.0", False)]
)
def test_a_branch_is_too_old_only_where_all_its_releases_are(branch: str, cuda: str, old: bool) -> None:
    build = "cu" + cuda.replace(".", "")
    text = f"torch.cuda.is_available(): False\ntorch==2.9.0+{build}\nNVIDIA driver version: {branch}\n"
    assert bool(found(rule, read_text([text.encode()]))) is old


def test_what_a_program_is_said_to_be_built_with() -> None:
    text = "the server falls back to CPU\nthe binary is built with CUDA 13.1\nNVIDIA driver version: "
    expected = "What runs is of CUDA 13.1, which needs driver 580.65.06."
    assert [row[::2] for row in told(rule, read_text([f"{text}535.247.01\n".encode()]))] == [("warning", expected)]
    assert found(rule, read_text([f"{text}580.95.05\n".encode()])) == []
    works = text.replace("falls back to CPU", "runs")
    assert found(rule, read_text([f"{works}535.247.01\n".encode()])) == []
