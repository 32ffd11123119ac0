"""Releases with a known fault, each in a text where it shows and in one like it where it doesn't."""

from __future__ import annotations

import pytest

from doctor.engine.judge import judge
from doctor.findings import Severity
from doctor.knowledge.faults import Fault, faults
from doctor.triage.read import read_text
from tests.each import each
from tests.knowledge.texts import KB, told
from tests.rules.machines import build

INVALID = (
    "RuntimeError: CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasGemmEx( handle, opa, opb, m, n, k`\n"
)
H100 = "GPU 0: NVIDIA H100 80GB HBM3\n"
MI300X = "GPU 0: AMD Instinct MI300X (gfx942)\n"


def loud(text: str) -> list[str]:
    """Subjects of what is an error or a warning."""
    findings = judge(read_text([text.encode()]), KB).findings
    return [f.subject.id for f in findings if f.severity is not Severity.INFO and not f.explained_by]


def pip(*packages: str) -> str:
    return "".join(f"[pip3] {package}\n" for package in packages)


SHOWN = {
    "cublas-12.8-torch-2.10": (
        INVALID + H100 + pip("nvidia-cublas-cu12==12.8.4.1", "torch==2.10.0"),
        INVALID + H100 + pip("nvidia-cublas-cu12==12.9.1.4", "torch==2.10.0"),
    ),
    "rocm-10.0-gfx1103": (
        "ComfyUI: Segmentation fault (core dumped)\nROCm version: 10.0.0\nGPU 0: Radeon 780M (gfx1103)\n",
        "blender: Segmentation fault (core dumped)\nROCm version: 10.0.0\nGPU 0: Radeon 780M (gfx1103)\n",
    ),
    "aiter-0.1.12.post1-imports": (
        "ImportError: cannot import name 'flash_attn_varlen_func' from 'aiter' (/venv/aiter/__init__.py)\n"
        + MI300X
        + "amd-aiter==0.1.12.post1\n",
        "ImportError: cannot import name 'flash_attn_varlen_func' from 'aiter' (/venv/aiter/__init__.py)\n"
        + MI300X
        + "amd-aiter==0.1.12\n",
    ),
}


@each("row", SHOWN)
def test_a_release_is_named_where_its_fault_shows(row: str) -> None:
    assert row in loud(SHOWN[row][0])


@each("row", SHOWN)
def test_it_is_not_named_beside_another_release_or_trouble(row: str) -> None:
    assert row not in loud(SHOWN[row][1])


@each("row", SHOWN)
def test_a_machine_with_the_release_and_without_the_trouble_is_well(row: str) -> None:
    lines = SHOWN[row][0].splitlines()
    facts = [line for line in lines if line.startswith(("GPU 0", "[pip3]", "PyTorch", "ROCm", "ii ", "$ ", "| "))]
    kernels = [line for line in lines if line.startswith(("6.", "7."))]
    assert row not in loud("\n".join([*facts, *kernels, "Everything works."]))


UNBUILT = {row.id: row for row in faults() if row.nvidia}
GONE = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"


def running(row: Fault) -> str:
    """The first kernel of the row as `uname -r` prints it."""
    first = row.kernel[0] if row.kernel else ""
    return first if first.count(".") == 2 else f"{first}.9"


def dkms(release: str, kernel: str) -> str:
    return f"$ uname -r\n{kernel}-generic\n$ dkms status\nnvidia/{release}: added\n{GONE}"


@each("row", UNBUILT.values())
def test_a_driver_that_does_not_build_for_the_kernel_is_named(row: Fault) -> None:
    assert row.nvidia
    assert told(dkms(row.nvidia[1], running(row)))[:1] == ["nvidia-kernel-incompatible"]


@each("row", UNBUILT.values())
def test_it_is_not_where_it_runs_or_was_built(row: Fault) -> None:
    assert row.nvidia
    release, kernel = row.nvidia[1], running(row)
    shown = f"| NVIDIA-SMI {release}    Driver Version: {release}    CUDA Version: 12.9 |\nGPU 0: NVIDIA L4\n"
    assert "nvidia-kernel-incompatible" not in told(f"$ uname -r\n{kernel}-generic\n{shown}It all works.\n")
    built = (
        f"$ uname -r\n{kernel}-generic\n$ dkms status\nnvidia/{release}, {kernel}-generic, x86_64: installed\n{GONE}"
    )
    assert "nvidia-kernel-incompatible" not in told(built)


@pytest.mark.parametrize(
    ("release", "kernel"),
    [("575.64.03", "6.15.4"), ("570.153.02", "6.14.9"), ("535.183.08", "6.7.4"), ("580.159.04", "7.1.2")],
)
def test_releases_and_kernels_beside_the_range_are_not_meant(release: str, kernel: str) -> None:
    assert "nvidia-kernel-incompatible" not in told(dkms(release, kernel))


def test_the_row_of_a_machine_itself_asks_that_the_module_is_absent() -> None:
    facts = {
        "kernel.release": "6.15.0",
        "kernel.dkms": [{"key": "nvidia/570.153.02"}],
        "nvidia_driver.loaded": False,
    }
    row = UNBUILT["nvidia-570-6.15"]
    assert row.facts(build(facts)) is not None
    assert row.facts(build(facts | {"nvidia_driver.loaded": True})) is None
    assert row.facts(build(facts | {"container.inside": True})) is None


@pytest.mark.parametrize(("kernel", "named"), [("6.18.7", True), ("6.19.12", False)])
def test_firmware_of_krackan_point_under_older_kernels(kernel: str, named: bool) -> None:
    text = (
        f"$ uname -r\n{kernel}-arch1-1\nMES feature version: 1, firmware version: 0x00000082\nRadeon 860M (gfx1152)\n"
    )
    hang = "amdgpu 0000:04:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=3\n"
    assert ("amdgpu-firmware-bad" in told(text + hang)) is named
    assert "amdgpu-firmware-bad" not in told(text + "It all works.\n")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Building DKMS module 'nvidia-580.142' for kernel-7.1.0_1... FAILED!\n", True),
        ("Building DKMS module: nvidia-535.154.05... FAILED!\n", True),
        ("Building DKMS module 'nvidia-580.142' for kernel-7.1.0_1... done\n", False),
    ],
)
def test_a_build_of_nvidias_module_that_failed(text: str, named: bool) -> None:
    assert ("nvidia-kernel-incompatible" in told(text)) is named
