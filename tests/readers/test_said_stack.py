"""What sentences say of a GPU and of what runs on it."""

from __future__ import annotations

import pytest

from doctor.errors import ReaderError
from doctor.intake import read_text
from doctor.readers import said_stack


@pytest.mark.parametrize(
    ("line", "fact", "value"),
    [
        ("use on RTX5090", "gpus[#0].name", "RTX5090"),
        ("my Radeon 780M gfx1103 hangs (ROCm 7.2)", "gpus[#0].arch", "gfx1103"),
        ("my Radeon 780M gfx1103 hangs (ROCm 7.2)", "rocm[shown].version", "7.2"),
        ("the version of torch is 2.0.1", "torch.version", "2.0.1"),
        ("PyTorch 2.5.1+rocm6.2 on ROCm 6.2.4, RX 7900 XTX", "torch.build", "rocm"),
        ("nvidia-smi shows NVIDIA GH200 480GB, driver 560.35.03", "nvidia_driver.version", "560.35.03"),
        ("it hangs on H100 GPUs, the same code runs on A100", "gpus[#0].name", "H100"),
        ("Tensorflow 2.12, Ubuntu 22.04, python 3.10", "interpreter.version", "3.10"),
        ("DGX Spark\nits GB10 is idle", "gpus[#0].name", "DGX Spark"),
        ("2x A40 in the node", "gpus[#0].name", "A40"),
    ],
)
def test_facts_of_a_sentence(line: str, fact: str, value: str) -> None:
    assert said_stack.read(line).get(fact) == value


@pytest.mark.parametrize(
    "line",
    [
        "torch 2.7.0 fails since the upgrade, works with torch 2.6.0",
        "it works on an RTX 3090 but not on a V100",
        "please upgrade to torch 2.9.1",
        "requires torch>=2.6.0 and a driver newer than 550.54",
        "pip install torch==2.5.1",
        "flash-attn was built for torch 2.4.0",
        "see https://github.com/x/y torch 2.5.1",
    ],
)
def test_a_sentence_of_what_would_work_or_of_another_machine_says_nothing(line: str) -> None:
    with pytest.raises(ReaderError):
        said_stack.read(line)


def test_two_gpus_or_two_versions_are_neither() -> None:
    text = "an RTX 4090 here\nand a Tesla V100 there\ntorch 2.5.1+cu124\ntorch 2.6.0+cu124\nUbuntu 22.04"
    sheet = said_stack.read(text)
    assert (sheet.get("gpus[#0].name"), sheet.get("torch.version"), sheet.get("os.id")) == (None, None, "ubuntu")


def test_two_ways_to_write_one_gpu_are_one() -> None:
    assert said_stack.read("RTX 5090\nan NVIDIA GeForce RTX 5090").get("gpus[#0].name") == "RTX 5090"


def test_a_tool_is_believed_before_a_sentence() -> None:
    listed = b"GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0b5e1f0c-aaaa-bbbb-cccc-0123456789ab)"
    text = b"my old RTX 2080 box\n```\n" + listed + b"\n```\n"
    machine = read_text([text])
    assert [gpu.name for gpu in machine.gpus or ()] == ["NVIDIA H100 80GB HBM3"]


def test_sentences_apart_that_disagree_say_nothing_of_it() -> None:
    text = b"I have an RTX 4090\n```\nlog\n```\nand torch 2.6.0\n```\nlog\n```\nthe GPU is an RTX 3060\n"
    machine = read_text([text])
    assert (machine.gpus, machine.torch.version) == (None, "2.6.0")
