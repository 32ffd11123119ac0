"""torch-built-for-other-vendor: CUDA on AMD."""

from __future__ import annotations

from doctor.intake import read_text
from doctor.rules.python import torch_built_for_other_vendor as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told


def test_cuda_build_on_amd() -> None:
    (finding,) = found(rule, machines.mi300x_host({"torch.build": "cuda", "torch.version": "2.7.0+cu128"}))
    assert finding.summary == "torch 2.7.0+cu128 is a CUDA build; this machine has AMD GPUs only."
    assert finding.subject.id == "torch"
    assert (finding.fixes[0].command or ())[-2:] == ("https://download.pytorch.org/whl/rocm7.2", "torch==2.14.1")


def test_nvidia_driver_is_loaded_and_unknown() -> None:
    assert told(rule, machines.mi300x_host({"torch.build": "cuda", "nvidia_driver.loaded": True})) == []
    assert told(rule, machines.mi300x_host({"torch.build": None})) == []


def test_words_are_not_heard_where_nothing_of_amd_is_named() -> None:
    asks = b"RuntimeError: Found no NVIDIA driver on your system."
    assert rule.unheard(read_text([asks]))
    assert not rule.unheard(read_text([asks + b"\nMIOPEN_FIND_MODE=2"]))
    assert not rule.unheard(read_text([b"AssertionError: Torch not compiled with CUDA enabled"]))


def test_zluda_runs_builds_for_cuda() -> None:
    cuda = {"torch.build": "cuda", "torch.version": "2.3.1+cu118"}
    assert found(rule, machines.mi300x_host(cuda | {"symptoms": {"zluda-in-use-told": "Using ZLUDA in D:\\sd"}})) == []
    assert found(rule, machines.mi300x_host(cuda | {"symptoms": {"rocminfo-lists-gpu": "gfx942"}})) != []
