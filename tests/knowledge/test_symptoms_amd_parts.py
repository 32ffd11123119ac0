"""What parts of an AMD stack say of each other, and near misses of each."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, raised, told


def gpu(arch: str, name: str = "AMD Radeon Graphics") -> str:
    return f"GPU:\n$ rocminfo\n*******\nAgent 2\n*******\n  Name:                    {arch}\n  Marketing Name:          {name}\n  Vendor Name:             AMD\n  Device Type:             GPU\n"


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("ModuleNotFoundError: Unknown rocm library 'rocm_sysdeps_liblzma'", "torch-rocm-version-mismatch"),
        ("KeyError: 'hipsparselt'", "torch-rocm-version-mismatch"),
        ("KeyError: 'rocprofiler-sdk-roctx'", "torch-rocm-version-mismatch"),
        (
            "RuntimeError: The program was compiled against a ROCm version matching '7.11.0*' but the installed ROCm version in this Python environment is 7.10.0a20251204.",
            "torch-rocm-version-mismatch",
        ),
        ("ModuleNotFoundError: Missing required rocm libraries. Please refer to Python setup", "gpu-libs-not-found"),
        ("FileNotFoundError: Could not find rocm library 'miopen' at path '/venv/lib,' no match", "gpu-libs-not-found"),
        ("UnboundLocalError: cannot access local variable 'py_module' where it is not", "gpu-libs-not-found"),
        ("ERROR: Could not load the `rocm[devel]` package, which is required", "gpu-libs-not-found"),
    ],
)
def test_python_packages_of_rocm(line: str, cause: str) -> None:
    assert cause in told(f"Error output:\n{line}\n")


@pytest.mark.parametrize("line", ["KeyError: 'hipster'", "KeyError: 'model'", "Found rocm library 'hipblaslt'"])
def test_other_keys_are_of_no_package(line: str) -> None:
    assert not keys(line) & {"rocm-sdk-names-no-such-library", "rocm-sdk-lacks-library"}


def test_a_release_that_is_only_warned_of() -> None:
    line = "UserWarning: The program was compiled against a ROCm version matching '7.11.0*' but the installed ROCm version is 7.12.0"
    assert "torch-rocm-version-mismatch" not in raised(f"Error output:\n{line}\nhow do I hide it?\n")
    assert "torch-rocm-version-mismatch" in raised(f"Error output:\n{line}\nSegmentation fault (core dumped)\n")


@pytest.mark.parametrize(
    "line",
    [
        "rocminfo of ROCm 5.7 lists the GPU, that of 7.0 does not",
        "the distribution's rocminfo 5.7 lists the GPU",
        "the GPU is found with ROCm 6.2",
        "with ROCm 6.2 the same GPU is found",
        "works under stock ROCm 5.7",
    ],
)
def test_a_rocm_of_another_release_sees_the_gpu(line: str) -> None:
    text = f"Error output:\nno ROCm-capable device is detected\nOther output:\n{line}\n{gpu('gfx942')}"
    assert told(text)[0] == "amdgpu-rocm-version-skew"


@pytest.mark.parametrize(
    "line",
    [
        "Ubuntu 20.04 with ROCm 3.7 can not detect the GPU, only the CPU",
        "rocminfo 6.2 lists no GPU",
        "ROCm 6.2 is installed",
        "torch works with ROCm 6.2",
    ],
)
def test_no_release_is_said_to_see_it(line: str) -> None:
    assert "rocm-of-other-release-sees-gpu-told" not in keys(line)


def test_a_seen_gpu_has_nodes_that_may_be_opened() -> None:
    text = (
        "Error output:\nno ROCm-capable device is detected\nContainer:\n$ docker run --device /dev/kfd --device /dev/dri --group-add video miner:1\n"
        f"Other output:\nrocminfo of ROCm 5.7 lists the GPU\n{gpu('gfx942')}"
    )
    assert "container-render-group-mismatch" not in raised(text)


@pytest.mark.parametrize(
    ("line", "causes"),
    [
        ("the toolbox has no access to /dev/kfd", {"container-missing-gpu-passthrough", "device-node-permission"}),
        ("/dev/kfd cannot be accessed from inside", {"container-missing-gpu-passthrough", "device-node-permission"}),
        ("/dev/kfd is not available in the container", {"container-missing-gpu-passthrough"}),
        ("/dev/kfd and /dev/dri are not passed into the box", {"container-missing-gpu-passthrough"}),
    ],
)
def test_nodes_that_a_container_does_not_reach(line: str, causes: set[str]) -> None:
    assert causes <= set(told(f"Error output:\nclinfo lists no device\nOther output:\n{line}\n"))


@pytest.mark.parametrize("line", ["/dev/kfd is not needed for Vulkan", "the container has access to /dev/kfd"])
def test_nodes_that_are_reached_or_not_needed(line: str) -> None:
    assert not keys(line) & {"gpu-nodes-not-passed-told", "gpu-nodes-out-of-reach-told"}


@pytest.mark.parametrize("line", ["AtomicOpsCtl: ReqEn-", "root port: AtomicOpsCap: Routing- 32bit- 64bit- 128bitCAS-"])
def test_atomics_in_lspci_of_a_gpu_that_stands(line: str) -> None:
    text = (
        f"Error output:\nevery copy to the GPU hangs\nOther output:\n{line}\n{gpu('gfx1100', 'AMD Radeon RX 7900 XTX')}"
    )
    assert "pcie-atomics-missing" in told(text)


def test_atomics_in_lspci_of_a_gpu_that_works() -> None:
    text = f"Error output:\nhow do I lower the fan?\nOther output:\nAtomicOpsCtl: ReqEn-\n{gpu('gfx1100')}"
    assert raised(text) == []


def test_code_that_tensorflow_lacks() -> None:
    packages = "Packages:\n$ pip list\nPackage    Version\n---------- -------\n"
    error = 'Error output:\n"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"\n'
    found = told(error + gpu("gfx1010", "Radeon RX 5700 XT") + packages + "tensorflow-rocm 2.8.0\n")
    assert {"library-missing-gpu-arch", "amd-gpu-unsupported-by-rocm"} <= set(found)
    assert "torch-missing-gpu-arch" not in found
    assert "torch-missing-gpu-arch" in told(error + gpu("gfx1010") + packages + "torch 2.1.0+rocm5.6\n")


def test_a_gpu_newer_than_the_table_is_not_called_unsupported() -> None:
    assert "amd-gpu-unsupported-by-rocm" not in raised(f"Error output:\nhipErrorNoBinaryForGpu\n{gpu('gfx1250')}")


def test_a_card_whose_table_of_parts_is_not_read() -> None:
    text = "Kernel log:\n$ dmesg\namdgpu 0000:05:00.0: amdgpu: get invalid ip discovery binary signature\n"
    assert told(text)[0] == "amdgpu-driver-not-loaded"


def test_a_driver_that_comes_up_under_another_kernel() -> None:
    text = f"Error output:\namdgpu: Fatal error during GPU init\nOther output:\nworks with kernel 5.14.0-570.58.1.el9_6.x86_64\n{gpu('gfx942')}"
    assert "amdgpu-kernel-or-os-unsupported" in told(text)
    hang = f"Error output:\nGPU Hang\nOther output:\nworks with kernel 6.12.4-200.fc41.x86_64\n{gpu('gfx1100')}"
    assert "amdgpu-kernel-or-os-unsupported" not in told(hang)
