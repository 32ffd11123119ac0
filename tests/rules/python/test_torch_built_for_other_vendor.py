"""torch-built-for-other-vendor: CUDA on AMD."""

from __future__ import annotations

from doctor.rules.python import torch_built_for_other_vendor as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told


def test_cuda_build_on_amd() -> None:
    (finding,) = found(rule, machines.mi300x_host({"torch.build": "cuda", "torch.version": "2.7.0+cu128"}))
    assert finding.summary == "torch 2.7.0+cu128 is a CUDA build; this machine has only AMD GPUs."
    assert finding.subject.id == "torch"
    assert (finding.remedies[0].steps[0].command or ())[-2:] == (
        "https://download.pytorch.org/whl/rocm6.3",
        "torch==2.7.0",
    )


def test_nvidia_driver_is_loaded_and_unknown() -> None:
    assert told(rule, machines.mi300x_host({"torch.build": "cuda", "nvidia_driver.loaded": True})) == []
    assert told(rule, machines.mi300x_host({"torch.build": None})) == []
