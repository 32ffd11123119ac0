"""macOS: loud where CUDA is asked for, and never beside a GPU's stack."""

from __future__ import annotations

from doctor.findings import Severity
from doctor.rules.driver import os_without_cuda_or_rocm
from tests.rules import machines
from tests.rules.driver.asked import found

MAC = {"os.id": "macos", "os.name": "macOS 14.5 (arm64)"}
ASKED = {"symptoms": {"torch-not-compiled-with-cuda": "Torch not compiled with CUDA enabled"}}


def test_an_error_text_of_cuda_makes_it_the_cause() -> None:
    (one,) = found(os_without_cuda_or_rocm, machines.build(MAC | ASKED))
    assert one.severity is Severity.ERROR
    assert one.evidence[0].text == "distribution: macos"


def test_a_mac_alone_is_a_remark() -> None:
    (one,) = found(os_without_cuda_or_rocm, machines.build(MAC))
    assert one.severity is Severity.INFO


def test_what_is_not_known_is_no_mac() -> None:
    machine = machines.build(ASKED)
    assert found(os_without_cuda_or_rocm, machine) == []


def test_what_every_mac_prints_asks_for_nothing() -> None:
    for line in (">>> torch.cuda.is_available()  False", "cuDNN version: No CUDA", "CUDA used to build PyTorch: None"):
        (one,) = found(os_without_cuda_or_rocm, machines.build(MAC | {"symptoms": {"torch-reports-no-gpu": line}}))
        assert one.severity is Severity.INFO, line
