"""What a driver serves and what torch was built for, as statements: whose it is must be said, wishes don't count."""

from __future__ import annotations

import pytest

from doctor.errors import ReaderError
from doctor.intake import read_text
from doctor.readers import said_cuda, torch_arch_list
from tests.knowledge.texts import told


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


@pytest.mark.parametrize(
    ("line", "archs"),
    [
        (
            "RTX 4060 (sm_89) is not supported by this PyTorch build. Supported architectures: sm_75, sm_86. "
            "Try the nightly wheel",
            ["sm_75", "sm_86"],
        ),
        ("sm_89 is missed: this install's PyTorch only has kernels for sm_75 sm_86", ["sm_75", "sm_86"]),
        ("GPU sm_61 not in torch arch list: sm_75 sm_86", ["sm_75", "sm_86"]),
        ("this torch build does not include sm_120 (built for: sm_75, sm_86)", ["sm_75", "sm_86"]),
        ("the torch wheel has no kernels for gfx1103 (has gfx90a gfx1100)", ["gfx90a", "gfx1100"]),
    ],
)
def test_a_list_of_torch_follows_what_was_denied_of_a_gpu(line: str, archs: list[str]) -> None:
    assert torch_arch_list.read(line).get("torch.arch_list") == archs


@pytest.mark.parametrize(
    "line",
    [
        "torch: unsupported architectures: sm_50 sm_52",
        "torch no longer supports Pascal (sm_60, sm_61)",
        "torch 2.8 dropped sm_50 sm_60",
        "flash-attn beside torch 2.6: sm_75 is not supported. Supported architectures: sm_80 sm_90",
        "torch has code for sm_120 (it needs sm_120 sm_121)",
    ],
)
def test_what_is_denied_or_of_another_is_no_list_of_torch(line: str) -> None:
    with pytest.raises(ReaderError):
        torch_arch_list.read(line)


@pytest.mark.parametrize(("gpu", "served"), [("NVIDIA GeForce RTX 4060", True), ("NVIDIA GeForce RTX 5070", False)])
def test_an_application_that_compares_names_only_is_held_against_what_code_runs_where(gpu: str, served: bool) -> None:
    """Code for 8.6 runs on 8.9."""
    line = f"{gpu} is not supported by this PyTorch build. Supported architectures: sm_75, sm_80, sm_86"
    found = told(f"{line}\n\n$ nvidia-smi -L\nGPU 0: {gpu}\n")
    assert ("torch-missing-gpu-arch" in found) is not served
    assert "library-missing-gpu-arch" not in found


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("       virtual packages : __archspec=1=zen3\n                          __cuda=12.4=0", "12.4"),
        ("__cuda 12.8 0", "12.8"),
        ("conda info lists the __cuda virtual package", None),
    ],
)
def test_conda_asks_the_driver(text: str, version: str | None) -> None:
    sheet = said_cuda.read(text)
    assert (sheet.get("nvidia_driver.loaded"), sheet.get("nvidia_driver.cuda_version")) == (True, version)


@pytest.mark.parametrize(
    "text",
    [
        "CONDA_OVERRIDE_CUDA=12.4\n  __cuda=12.4=0",
        "nothing provides __cuda needed by pytorch-2.5.1-cuda126",
        "- __cuda >=12.4",
        "conda info shows no __cuda",
    ],
)
def test_conda_without_a_driver(text: str) -> None:
    with pytest.raises(ReaderError):
        said_cuda.read(text)


def test_no_toolkit_of_conda_and_no_command_in_a_sentence() -> None:
    """The label is of the virtual package; what a tool's own word lists is told, not typed."""
    machine = read_text([b"torch 2.5.1\n\n__cuda=12.4=0\n__glibc=2.35=0\n"])
    assert (machine.cuda, machine.nvidia_driver.cuda_version) == (None, "12.4")
    assert read_text([b"```\nconda info lists the __cuda virtual package\n```\n"]).nvidia_driver.loaded is True
    assert read_text([b"```\nconda info --json\n```\n"]).nvidia_driver.loaded is None
