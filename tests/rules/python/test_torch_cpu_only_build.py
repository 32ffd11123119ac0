"""torch-cpu-only-build: no GPU support beside a GPU."""

from __future__ import annotations

from doctor.findings import Severity
from doctor.intake import read_text
from doctor.knowledge import Knowledge
from doctor.rules.python import torch_cpu_only_build as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told

CPU = {"torch.build": "cpu", "torch.version": "2.7.0+cpu"}


def test_beside_an_nvidia_gpu() -> None:
    (finding,) = found(rule, machines.h100_host(CPU))
    assert finding.summary == "torch 2.7.0+cpu is a CPU-only build on a machine with an NVIDIA GPU."
    assert finding.subject.id == "torch"
    assert (finding.fixes[0].command or ())[-2:] == ("https://download.pytorch.org/whl/cu126", "torch==2.14.1")


def test_without_a_gpu_and_unknown() -> None:
    assert told(rule, machines.no_gpu_host(CPU)) == []
    assert told(rule, machines.h100_host({"torch.build": None})) == []


def test_where_the_error_is_of_numpy() -> None:
    text = "RuntimeError: Numpy is not available\nPyTorch version: 2.2.2+cpu\nGPU 0: NVIDIA GeForce RTX 3060\n"
    (finding,) = rule.check(read_text([text.encode()]), Knowledge(), None)
    assert finding.severity is Severity.INFO
    (finding,) = rule.check(read_text([f"{text}Torch not compiled with CUDA enabled\n".encode()]), Knowledge(), None)
    assert finding.severity is Severity.ERROR


def test_a_build_for_a_gpu_ends_the_matter_without_a_gpu_in_sight() -> None:
    assert rule.decides(machines.build({"torch.build": "cuda", "torch.version": "2.12.0+cu130"}), Knowledge())
    assert not rule.decides(machines.build({"torch.build": "cpu", "torch.version": "2.12.0+cpu"}), Knowledge())


def test_a_text_that_shows_no_gpu_and_misses_one() -> None:
    text = (
        "PyTorch version: 2.3.0a0+git1234567\nCUDA used to build PyTorch: N/A\nROCM used to build PyTorch: 0.0.0\n"
        "Is CUDA available: False\n"
    )
    missed = read_text([f"PyTorch does not find the AMD GPU\n{text}".encode()])
    (finding,) = rule.check(missed, Knowledge(), None)
    assert finding.severity is Severity.WARNING
    assert not list(rule.check(read_text([f"a sum is wrong\n{text}".encode()]), Knowledge(), None))


def test_a_build_without_gpu_that_a_runner_for_tests_asks_for() -> None:
    text = (
        "pip install torch --index-url https://download.pytorch.org/whl/cpu\nPyTorch version: 2.8.0+cpu\n"
        "SKIPPED [48] tests/test_sum.py:19: CUDA not available\n"
    )
    fails = text + "FAILED tests/test_sum.py::test_sum - AssertionError: Tensor-likes are not close!\n"
    assert rule.excludes(read_text([fails.encode()]))
    assert not rule.excludes(read_text([text.encode()]))
    assert not rule.excludes(read_text([f"{fails}GPU: NVIDIA GeForce RTX 3090\n".encode()]))
