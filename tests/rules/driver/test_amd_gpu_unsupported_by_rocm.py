"""A GPU that no ROCm release lists, where a program on it crashes."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.facts.drivers import Install
from doctor.facts.gpu import Gpu
from doctor.findings import Severity
from doctor.knowledge import Knowledge
from doctor.rules.driver import amd_gpu_unsupported_by_rocm
from doctor.triage.read import read_text

KB = Knowledge()


def found(text: str) -> list[str]:
    return [f.summary for f in amd_gpu_unsupported_by_rocm.check(read_text([text.encode()]), KB, None)]


@pytest.mark.parametrize(
    "text",
    [
        "I installed ROCm and PyTorch for my RX 7900 XTX.\nAny matmul ends in a segmentation fault.",
        "I installed ROCm and PyTorch for my RX 6650 XT (gfx1032).\nIt does what I want and I am glad of it.",
        "The game on my RX 6650 XT ends in a crash.\nIs my power supply too small?",
        "export HSA_OVERRIDE_GFX_VERSION=10.3.0\nROCm on my RX 6650 XT (gfx1032) ends in a segmentation fault.",
        "I installed ROCm and PyTorch.\nAny matmul ends in a segmentation fault, and I do not know why.",
    ],
    ids=("listed", "no crash", "no ROCm", "overridden", "GPU unknown"),
)
def test_nothing_is_said_of_others(text: str) -> None:
    assert not found(text)


def test_a_mention_makes_a_known_release_no_less_sure() -> None:
    text = (
        "docker run -it --device=/dev/kfd rocm/pytorch:rocm6.0_ubuntu20.04_py3.9_pytorch_2.1.1\nRadeon 780M (gfx1103)"
    )
    (finding,) = amd_gpu_unsupported_by_rocm.check(read_text([text.encode()]), KB, None)
    assert finding.severity is Severity.WARNING


def test_rocblas_without_a_file_for_a_gpu_that_the_release_does_not_list() -> None:
    text = (
        "ROCm version: 6.3.2\nrocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: "
        "No such file or directory for GPU arch : {}\n"
        "\n$ rocminfo\n*******\nAgent 2\n*******\n  Name:                    {}\n  Vendor Name:             AMD\n"
        "  Device Type:             GPU\n"
    )
    check = amd_gpu_unsupported_by_rocm.check
    (finding,) = check(read_text([text.format("gfx1035", "gfx1035").encode()]), KB, None)
    assert finding.severity is Severity.INFO  # what rocBLAS lacks is told beside it
    assert not list(check(read_text([text.format("gfx1100", "gfx1100").encode()]), KB, None))


def test_what_dies_at_the_first_kernel_was_not_known_to_work() -> None:
    text = (
        "ROCm version: 5.4.2\nIs CUDA available: True\n{}\n"
        "\n$ rocminfo\n*******\nAgent 2\n*******\n  Name: gfx1100\n  Vendor Name: AMD\n  Device Type: GPU\n"
    )
    torch = "PyTorch version: 2.0.1+rocm5.4.2\n"
    assert found(torch + text.format("Segmentation fault (core dumped)"))
    assert not found(torch + text.format("slower than I hoped"))


@pytest.mark.parametrize(("arch", "offered"), [("gfx1201", True), ("gfx1031", False)], ids=("listed later", "never"))
def test_a_newer_rocm_that_lists_the_gpu_is_offered(arch: str, offered: bool) -> None:
    rocm = Install(key="/opt/rocm", path="/opt/rocm", version="6.2.0")
    machine = Snapshot(gpus=(Gpu(key="#0", vendor="amd", arch=arch),), rocm=(rocm,))
    (finding,) = amd_gpu_unsupported_by_rocm.check(machine, KB, None)
    assert (finding.remedies[0].title == "Upgrade ROCm to 6.4.1 or newer, the first that lists gfx1201.") is offered
