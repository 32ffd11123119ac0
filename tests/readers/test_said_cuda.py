"""What a driver serves and what torch was built for, as statements: whose it is must be said, wishes don't count."""

from __future__ import annotations

import pytest

from doctor.errors import ReaderError
from doctor.intake import read_text
from doctor.readers import said_cuda, torch_arch_list


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("nvidia-smi: CUDA Version: 12.4", "12.4"),
        ("nvidia-smi reports CUDA 11.7", "11.7"),
        ("CUDA Version: 12.2 (nvidia-smi)", "12.2"),
        ("the driver supports CUDA 12.2 at most", "12.2"),
        ("driver CUDA version: 13.0", "13.0"),
        ("torch does not work with the CUDA 12.4 driver", "12.4"),
    ],
)
def test_the_cuda_that_a_driver_serves(line: str, version: str) -> None:
    assert said_cuda.read(line).get("nvidia_driver.cuda_version") == version


@pytest.mark.parametrize(
    "text",
    [
        "it needs a driver that supports CUDA 12.8",
        "after an update nvidia-smi shows CUDA 12.8",
        "nvcc of CUDA 12.8 is installed",
        "nvidia-smi shows CUDA 12.2 here\nnvidia-smi shows CUDA 12.8 there",
    ],
)
def test_wishes_other_times_and_two_answers(text: str) -> None:
    with pytest.raises(ReaderError):
        said_cuda.read(text)


@pytest.mark.parametrize(
    "line",
    [
        "arch list of the build: sm_80 sm_90",
        "torch.cuda.get_arch_list(): ['sm_80', 'sm_90']",
        "get_arch_list() == ['sm_80', 'sm_90']",
        "the PyTorch wheel was built for sm_80 and sm_90",
        "capabilities of the installed torch: sm_80, sm_90",
    ],
)
def test_the_architectures_that_torch_was_built_for(line: str) -> None:
    assert torch_arch_list.read(line).get("torch.arch_list") == ["sm_80", "sm_90"]


@pytest.mark.parametrize(
    "line",
    [
        "flash-attn was built for sm_80 sm_90",
        "TORCH_CUDA_ARCH_LIST: sm_80 sm_90",
        "torch.cuda.get_arch_list() has no sm_61",
        "a torch built for sm_120 is required",
        "torch's arch list: sm_80\nafter all get_arch_list: sm_80 sm_90\ntorch supports sm_70",
    ],
)
def test_lists_of_others_and_of_what_is_missing(line: str) -> None:
    with pytest.raises(ReaderError):
        torch_arch_list.read(line)


def test_a_sentence_that_begins_with_a_tool_is_no_command() -> None:
    machine = read_text([b"Other output:\n```\nnvidia-smi reports CUDA 12.2\n```\n"])
    assert machine.nvidia_driver.cuda_version == "12.2"


def test_a_list_alone_tells_whose_gpus_it_is_for() -> None:
    text = b"GPU 0: NVIDIA GeForce RTX 5080\ncompute capability: sm_120\ntorch's arch list: sm_80 sm_90\n"
    assert read_text([text]).torch.arch_list == ("sm_80", "sm_90")


def test_what_torch_prints_of_itself_is_read_without_its_ptx() -> None:
    line = "The current PyTorch install supports CUDA capabilities sm_37 sm_50 sm_60 compute_37."
    assert torch_arch_list.read(line).get("torch.arch_list") == ["sm_37", "sm_50", "sm_60"]
