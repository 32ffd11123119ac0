"""nvidia-driver-too-old: the floor of the CUDA major decides."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.knowledge import Knowledge
from doctor.rules.driver import nvidia_driver_too_old as rule
from doctor.triage.read import read_text
from tests.knowledge.texts import raised
from tests.rules import machines
from tests.rules.driver.asked import found, told
from tests.rules.remedies import argvs

OLD = {"nvidia_driver.version": "470.256.02", "nvidia_driver.cuda_version": "11.4"}


def test_a_driver_below_the_floor() -> None:
    (finding,) = found(rule, machines.h100_host(OLD))
    assert finding.summary == "The NVIDIA driver (470.256.02) is too old for CUDA 12.8, which needs 525.60.13 or newer."
    assert argvs(finding)[1] == ("apt-get", "install", "--yes", "nvidia-driver-580-server-open")
    assert finding.remedies[-1].scope.value == "environment"


def test_each_distribution_gets_the_branch_that_is_asked_for() -> None:
    """Debian 12's own driver is 535; without a stream or a lock dnf takes the newest, which drops Volta."""
    edits = {"torch.cuda": "13.0", "torch.version": "2.12.0", "os.name": "Linux"}
    of_volta = {"arch": "sm_70", "pci_id": "10de:1db6", "name": "Tesla V100-PCIE-32GB"}
    volta = {f"gpus[{address}].{name}": value for address in machines.H100 for name, value in of_volta.items()}
    debian = found(rule, machines.h100_host(edits | {"os.id": "debian", "os.version": "12"}))[0]
    assert [a[-1] for a in argvs(debian)[:6]] == [
        "linux-headers-5.15.0-141-generic",
        "https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb",
        "cuda-keyring_1.1-1_all.deb", "update", "nvidia-driver-pinning-580", "nvidia-open",
    ]  # fmt: skip
    assert "Debian 12 itself carries 535.261.03" in debian.remedies[0].title
    rhel = {"os.id": "rhel", "os.version": "9.6", "os.id_like": "fedora"}
    told_rhel = argvs(found(rule, machines.h100_host(edits | volta | rhel))[0])
    assert told_rhel[1][-1] == "https://dl.fedoraproject.org/pub/epel/epel-release-latest-9.noarch.rpm"
    assert [a[-1] for a in told_rhel[4:6]] == ["nvidia-driver:580-dkms", "cuda-drivers"]
    fedora = argvs(found(rule, machines.h100_host(edits | {"os.id": "fedora", "os.version": "44"}))[0])
    assert ("dnf", "versionlock", "add", "*nvidia*580*") in fedora
    assert "upgrade" not in {words[1] for words in fedora}
    of_branch = {"os.id": "fedora", "os.version": "44", "nvidia_driver.version": "580.40.01"}
    within = [words[1] for words in argvs(found(rule, machines.h100_host(edits | of_branch))[0]) if words[0] == "dnf"]
    assert within.index("upgrade") < within.index("versionlock")  # a lock takes the version that is installed


def test_cuda_13_on_575() -> None:
    machine = machines.h100_host({"torch.cuda": "13.0", "torch.version": "2.12.0"})
    expected = "The NVIDIA driver (575.57.08) is too old for CUDA 13.0, which needs 580.65.06 or newer."
    assert told(rule, machine) == [("error", "nvidia", expected)]
    instead = found(rule, machine)[0].remedies[-1]
    assert instead.title == "Keep the driver and install torch 2.12.0+cu126, which runs on it."
    assert (instead.steps[0].command or ())[-2:] == ("https://download.pytorch.org/whl/cu126", "torch==2.12.0")


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
    assert finding.summary.startswith("The NVIDIA driver (470.161.03) is too old for CUDA 13.0")


def test_conda_s_package_of_the_runtime_tells_the_cuda_and_its_floor() -> None:
    def machine(name: str, version: str) -> Snapshot:
        held = [{"name": name, "version": version}]
        build = {"torch.cuda": None, "torch.version": None, "torch.build": None, "torch.available": None}
        return machines.h100_host(OLD | build | {"packages": held})

    ((severity, _, summary),) = told(rule, machine("cudatoolkit", "12.1.1"))
    assert (severity, summary) == (
        "warning",
        "The NVIDIA driver (470.256.02) is too old for CUDA 12.1, which needs 525.60.13 or newer.",
    )
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


def test_an_error_text_about_a_pascal_card_gets_the_proprietary_modules() -> None:
    machine = read_text([b'Tesla P40, source=cuda_compat.go:66 msg="NVIDIA driver too old" driver=535\n'])
    titles = [remedy.title for remedy in rule.advice(machine, Knowledge())]
    assert titles[0] == "Install the NVIDIA driver (branch 580, proprietary kernel modules)."


def test_a_driver_that_is_too_new_for_the_gpu_is_not_too_old() -> None:
    gpu = {"arch": "sm_61", "driver": "none", "name": "NVIDIA GeForce GTX 1080", "pci_id": "10de:1b80", "uuid": None}
    edits = {f"gpus[{address}].{name}": value for address in machines.H100 for name, value in gpu.items()}
    assert found(rule, machines.h100_host(edits | {"nvidia_driver.version": "590.44.01", "torch": None})) == []
