"""macOS: loud where CUDA is asked for, and never beside a GPU's stack."""

from __future__ import annotations

from doctor.findings import Severity
from doctor.rules.driver import os_without_cuda_or_rocm
from doctor.rules.macos import holds
from tests.rules import machines
from tests.rules.driver.asked import found

MAC = {"os.id": "macos", "os.name": "macOS 14.5 (arm64)"}
ASKED = {"symptoms": {"torch-not-compiled-with-cuda": "Torch not compiled with CUDA enabled"}}


def test_an_error_text_of_cuda_makes_it_the_cause() -> None:
    (one,) = found(os_without_cuda_or_rocm, machines.build(MAC | ASKED))
    assert one.severity is Severity.ERROR
    assert one.evidence[0].text == "os.id = macos"


def test_a_sentence_that_asks_is_a_warning() -> None:
    (one,) = found(os_without_cuda_or_rocm, machines.build(MAC | {"symptoms": {"gpu-not-seen-said": "no NVIDIA GPU"}}))
    assert one.severity is Severity.WARNING


def test_a_program_that_was_told_to_take_metal_is_a_warning() -> None:
    asked = {
        "symptoms": {"torch-not-compiled-with-cuda": "Torch not compiled", "metal-device-asked-told": "--device mps"}
    }
    (one,) = found(os_without_cuda_or_rocm, machines.build(MAC | asked))
    assert one.severity is Severity.WARNING


def test_a_mac_alone_is_a_remark() -> None:
    (one,) = found(os_without_cuda_or_rocm, machines.build(MAC))
    assert one.severity is Severity.INFO


def test_another_system_or_a_gpu_s_stack_is_none() -> None:
    assert found(os_without_cuda_or_rocm, machines.h100_host(ASKED)) == []
    assert found(os_without_cuda_or_rocm, machines.h100_host(MAC | ASKED)) == []
    assert found(os_without_cuda_or_rocm, machines.build(MAC | ASKED | {"nvidia_driver.version": "535.54.03"})) == []


def test_what_is_not_known_is_no_mac() -> None:
    machine = machines.build(ASKED)
    assert found(os_without_cuda_or_rocm, machine) == []
    assert holds("torch-cpu-only-build", machine)
    assert not holds("torch-cpu-only-build", machines.build(MAC))


def test_what_every_mac_prints_asks_for_nothing() -> None:
    for line in (">>> torch.cuda.is_available()  False", "cuDNN version: No CUDA", "CUDA used to build PyTorch: None"):
        (one,) = found(os_without_cuda_or_rocm, machines.build(MAC | {"symptoms": {"torch-reports-no-gpu": line}}))
        assert one.severity is Severity.INFO, line


def test_what_a_program_reports_and_goes_on_after_asks_for_nothing() -> None:
    notices = {
        "torch-not-compiled-with-cuda": "caught exception 'Torch not compiled with CUDA enabled', monitor disabled",
        "bitsandbytes-binary-missing": "bitsandbytes was compiled without GPU support",
        "triton-module-missing": "No module named 'triton'",
        "onnxruntime-provider-not-available": "UserWarning: 'CUDAExecutionProvider' is not available",
    }  # fmt: skip
    for key, line in notices.items():
        (one,) = found(os_without_cuda_or_rocm, machines.build(MAC | {"symptoms": {key: line}}))
        assert one.severity is Severity.INFO, line
    for key, line in {
        "torch-not-compiled-with-cuda": "AssertionError: Torch not compiled with CUDA enabled",
        "triton-module-missing": "ModuleNotFoundError: No module named 'triton'",
    }.items():
        (one,) = found(os_without_cuda_or_rocm, machines.build(MAC | {"symptoms": {key: line}}))
        assert one.severity is Severity.ERROR, line
