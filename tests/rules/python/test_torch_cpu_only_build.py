"""torch-cpu-only-build: no GPU support beside a GPU."""

from __future__ import annotations

from doctor.findings import Severity
from doctor.knowledge import Knowledge
from doctor.rules.python import torch_cpu_only_build as rule
from doctor.triage.read import read_text
from tests.rules import machines
from tests.rules.driver.asked import found, told

CPU = {"torch.build": "cpu", "torch.version": "2.7.0+cpu"}


def test_beside_an_nvidia_gpu() -> None:
    (finding,) = found(rule, machines.h100_host(CPU))
    assert finding.summary == "torch 2.7.0+cpu is a CPU-only build on a machine with an NVIDIA GPU."
    assert finding.subject.id == "torch"
    assert (finding.remedies[0].steps[0].command or ())[-2:] == (
        "https://download.pytorch.org/whl/cu126",
        "torch==2.7.0",
    )
    assert finding.remedies[0].keeps == ("torch 2.7.0",)
    assert (finding.remedies[0].undo[0].command or ())[-2:] == (
        "https://download.pytorch.org/whl/cpu",
        "torch==2.7.0+cpu",
    )


def test_the_release_that_is_installed_is_kept_where_it_has_a_build() -> None:
    machine = machines.h100_host({"torch.build": "cpu", "torch.version": "2.13.0+cpu"})
    assert (found(rule, machine)[0].remedies[0].steps[0].command or ())[-1] == "torch==2.13.0"


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


def test_on_a_jetson_torch_without_a_gpu_needs_nvidias_own_build() -> None:
    text = "I have a Jetson AGX Orin.\n\n>>> torch.cuda.is_available()\nFalse\n"
    (finding,) = found(rule, read_text([text.encode()]))
    assert finding.summary == "torch sees no GPU on this Jetson: PyTorch's wheels do not support it, NVIDIA's do."
    assert "--index-url" not in str(finding.remedies)
    assert found(rule, read_text([text.replace("Jetson AGX Orin", "RTX A6000").encode()])) == []
