"""torch-missing-gpu-arch: no code for the GPU."""

from __future__ import annotations

from doctor.knowledge import Knowledge
from doctor.rules.python import library_missing_gpu_arch as library
from doctor.rules.python import torch_missing_gpu_arch as rule
from doctor.triage.read import read_text
from tests.rules import machines
from tests.rules.driver.asked import found, told


def test_no_code_for_hopper() -> None:
    (finding,) = found(rule, machines.h100_host({"torch.arch_list": ["sm_75", "sm_80", "sm_86"]}))
    assert finding.summary == "torch 2.7.0+cu128 has no code for sm_90 (NVIDIA H100 80GB HBM3)."
    assert (finding.severity.value, finding.subject.id) == ("error", machines.H100[0])
    assert (finding.remedies[0].steps[0].command or ())[-2:] == (
        "https://download.pytorch.org/whl/cu126",
        "torch==2.7.0",
    )


def test_ptx_serves_and_the_unknown() -> None:
    assert told(rule, machines.h100_host({"torch.arch_list": ["sm_80", "compute_80"]})) == []
    unknown = {"torch.arch_list": None, "torch.version": "2.7.0a0+nv25.3"}
    assert told(rule, machines.h100_host(unknown)) == []


def test_radeon_without_code() -> None:
    assert [s for s, *_ in told(rule, machines.rx7900_desktop({"torch.arch_list": ["gfx942"]}))] == ["error"]


def test_a_list_alone_tells_its_vendor_and_the_library_beside_it() -> None:
    gpu = "GPU 0: NVIDIA GeForce RTX 5080\ncompute capability: sm_120\n"
    (finding,) = rule.check(read_text([f"{gpu}torch's arch list: sm_80 sm_90\n".encode()]), Knowledge(), None)
    assert finding.summary == "torch has no code for sm_120 (NVIDIA GeForce RTX 5080)."
    text = f"no kernel image is available for execution on the device\n{gpu}torch's arch list: sm_90 sm_120\n"
    served = read_text([text.encode()])
    assert list(rule.check(served, Knowledge(), None)) == []
    assert [f.severity for f in library.check(served, Knowledge(), None)] == ["warning"]


GPU = "GPU:\n```\n$ nvidia-smi -L\nGPU 0: NVIDIA {name}\ncompute capability: {arch}\n```\n"
LIST = "Packages:\n```\n$ pip list\nPackage    Version\n---------- -------\ntorch {version}\n```\n"


def _of_text(name: str, arch: str, version: str) -> list[str]:
    text = GPU.format(name=name, arch=arch) + LIST.format(version=version)
    return [f"{f.severity.value} {f.summary}" for f in rule.check(read_text([text.encode()]), Knowledge(), None)]


def test_a_wheel_of_a_cuda_that_does_not_know_the_gpu() -> None:
    (said,) = _of_text("GeForce RTX 5070", "sm_120", "2.6.0+cu126")
    assert said == "warning torch 2.6.0+cu126 is built with a CUDA too old for sm_120 (NVIDIA GeForce RTX 5070)."
    assert _of_text("B200", "sm_100", "2.9.1+cu126") != []
    assert _of_text("GB10", "sm_121", "2.7.1+cu118") != []


def test_a_cuda_that_dropped_the_gpu() -> None:
    (said,) = _of_text("GeForce GTX 1080", "sm_61", "2.9.1+cu130")
    assert said == "warning torch 2.9.1+cu130 is built with CUDA 13.0, which dropped sm_61 (NVIDIA GeForce GTX 1080)."
    assert _of_text("GeForce GTX 1080", "sm_61", "2.7.1+cu126") == []


def test_code_of_the_same_major_may_serve_and_so_may_a_newer_cuda() -> None:
    assert _of_text("L4", "sm_89", "2.7.1+cu118") == []
    assert _of_text("GB10", "sm_121", "2.9.1+cu128") == []
    assert _of_text("GeForce RTX 5070", "sm_120", "2.6.0a0+df5bbc09d1.nv24.12") == []
    assert _of_text("GeForce RTX 5070", "sm_120", "2.9.1+cpu") == []
