"""On a Mac no cause of CUDA or ROCm is told, unless the text is of another machine."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.facts import Snapshot
from doctor.findings import Report
from doctor.intake.read import read_text
from doctor.knowledge import Knowledge

BLIND = "AssertionError: Torch not compiled with CUDA enabled"
HERE = "os-without-cuda-or-rocm"


def read(text: str) -> Snapshot:
    return read_text([text.encode()])


def report(text: str) -> Report:
    return judge(read(text), Knowledge(), source="issue.md")


def loud(text: str) -> list[str]:
    return [f.rule for f in report(text).counted() if f.severity.value != "info"]


COLLECT_ENV = """PyTorch version: 2.4.0
Is debug build: False
CUDA used to build PyTorch: None
ROCM used to build PyTorch: N/A

OS: macOS 14.5 (arm64)
Python platform: macOS-14.5-arm64-arm-64bit
Is CUDA available: False
"""


@pytest.mark.parametrize(
    "text",
    [
        f"I'm on a MacBook Pro with an M2. {BLIND}",
        f"Apple silicon, trying to run whisper with --device cuda, and pip cannot find libcudart.so.\n{BLIND}",
        f'  File "/Users/jane/sd/lib/python3.10/site-packages/torch/__init__.py", line 239, in _lazy_init\n{BLIND}',
        "nvidia-smi on my mac says: command not found\nRuntimeError: Found no NVIDIA driver on your system.",
        f"{COLLECT_ENV}\nRuntimeError: Found no NVIDIA driver on your system.",
        f"python 3.12 of /opt/homebrew/bin/python3\n{BLIND}",
    ],
)
def test_what_asks_for_cuda_on_a_mac_is_told_that_there_is_none(text: str) -> None:
    said = report(text)
    assert [f.rule for f in said.counted() if f.severity.value != "info"] == [HERE]
    told = " ".join(word for f in said.findings for fix in f.fixes for word in (fix.text, *(fix.command or ())))
    assert "whl/cu" not in told
    assert "mps" in told


@pytest.mark.parametrize(
    "text",
    [
        f"From my MacBook I ssh into the training node, and there: {BLIND}",
        f"It works fine on my MacBook, but on the GPU machine: {BLIND}",
        f"My Mac sits beside an Ubuntu 22.04 PC. On the PC: {BLIND}",
        f"README: runs on Linux, macOS and Windows\n\n{BLIND}",
        f"I develop on a Mac and train in Colab: {BLIND}",
        f"On my Mac all is well.\n+---+\nNVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03\n{BLIND}",
        f"C:\\Users\\jane\\venv\\Lib\\site-packages\\torch\n{BLIND}",
        BLIND,
    ],
)
def test_a_text_of_another_machine_is_judged_as_that(text: str) -> None:
    assert read(text).os.id != "macos"
    assert HERE not in [f.rule for f in report(text).findings]
    assert "torch-cpu-only-build" in loud(text)


def test_a_report_of_the_mac_at_hand_does_not_speak_for_the_server() -> None:
    text = f"This is of my laptop:\n{COLLECT_ENV}\nand on the server I get: {BLIND}"
    assert read(text).os.id is None
    assert HERE not in [f.rule for f in report(text).findings]


def test_what_is_wrong_on_any_system_is_told_on_a_mac_too() -> None:
    text = "On my Mac mini: A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.1 as it may crash."
    assert loud(text) == ["numpy-abi-mismatch"]


def test_a_mac_that_asks_for_nothing_of_cuda_is_a_remark() -> None:
    assert loud(COLLECT_ENV) == []
    assert loud("On my MacBook: RuntimeError: MPS backend out of memory (MPS allocated: 9.05 GB)") == []
