"""What pip, uv and pip show print of packages."""

from __future__ import annotations

import pytest

from doctor.errors import ParserError
from doctor.parsers.python import install_output, torch_prints
from doctor.parsers.text.env_lines import read as env_lines
from doctor.triage.read import read_text
from tests.each import each


def _versions(text: str) -> dict[str, str]:
    return {row["name"]: row["version"] for row in install_output.read(text).get("packages")}


def test_pip_tells_what_it_installed() -> None:
    assert _versions("Successfully installed Flash_Attn-2.7.4.post1 nvidia-cudnn-cu12-9.1.0.70 torch-2.6.0") == {
        "flash-attn": "2.7.4.post1",
        "nvidia-cudnn-cu12": "9.1.0.70",
        "torch": "2.6.0",
    }


def test_pip_tells_what_was_there() -> None:
    line = "Requirement already satisfied: {} in /home/x/venv/lib/python3.13/site-packages {}"
    assert _versions(line.format("torch", "(2.7.1)")) == {"torch": "2.7.1"}
    assert _versions(line.format("filelock", "(from torch) (3.18.0)")) == {"filelock": "3.18.0"}


def test_what_uv_removed_is_gone() -> None:
    assert _versions(" - torch==2.5.1\n - numpy==1.26.4\n + torch==2.6.0+cu124\n") == {"torch": "2.6.0+cu124"}


def test_pip_show_of_two() -> None:
    shown = "Name: torch\nVersion: 2.4.0+cu121\nSummary: T\n---\nName: torchvision\nVersion: 0.20.1+cu124\n"
    assert _versions(shown) == {"torch": "2.4.0+cu121", "torchvision": "0.20.1+cu124"}


@pytest.mark.parametrize(
    "text",
    [
        "Collecting torch==2.6.0",
        "Found existing installation: torch 2.5.1",
        "Name: ens3\nSpeed: 100",
        "Version: 2.4.0",
        "a + b == c",
        "Attempting uninstall: torch",
    ],
)
def test_what_is_only_asked_for_is_not_there(text: str) -> None:
    with pytest.raises(ParserError):
        install_output.read(text)


@each(
    "text, fact, value",
    [
        (">>> torch.__version__, torch.cuda.is_available()\n('2.6.0', False)", "torch.available", False),
        (">>> print(torch.__version__)\n2.5.1+rocm6.2\n>>> torch.version.hip\n'6.2.41133'", "torch.build", "rocm"),
        (
            "python -c 'import torch; print(torch.__version__, torch.version.cuda)'\n2.4.1+cu121 12.1",
            "torch.cuda",
            "12.1",
        ),
        ("torch.cuda.get_device_name(0) -> 'NVIDIA A100-SXM4-40GB'", "gpus[#0].name", "NVIDIA A100-SXM4-40GB"),
        (">>> torch.cuda.get_device_name(0)\n'AMD Radeon RX 9070'", "torch.available", True),
        ("print(torch.version.cuda)     # 12.4", "torch.cuda", "12.4"),
        (">>> torch.cuda.get_arch_list()\n['sm_75', 'compute_90']", "torch.arch_list", ["sm_75", "compute_90"]),
        ("torch.cuda.is_available()\n\nTrue", "torch.available", True),
        ("`torch.cuda.is_available()` always returns `False`.", "torch.available", False),
        ("print(torch.cuda.is_available())\n\nreturn False", "torch.available", False),
        ("torch.version.hip is None, torch.version.cuda is 12.4.", "torch.build", "cuda"),
        ("torch.version.cuda: None, `torch.version.hip`: 6.1.40091", "torch.rocm", "6.1.40091"),
        ("torch.__version__ = 2.12.0+cu130", "torch.version", "2.12.0+cu130"),
    ],
)
def test_what_torch_printed(text: str, fact: str, value: object) -> None:
    assert torch_prints.read(text).get(fact) == value


def test_what_a_command_asked_of_torch() -> None:
    asked = '$ python3 -c "import torch; print(torch.__version__, torch.cuda.get_device_name())"\n'
    machine = read_text([f"{asked}2.8.0 Orin\n".encode()])
    assert machine.torch.available is True
    assert machine.torch.version == "2.8.0"
    assert read_text([f"{asked}RuntimeError: Found no NVIDIA driver\n".encode()]).torch.available is None
    unasked = "$ python3 main.py torch.cuda.is_available()\nTrue\n"
    assert read_text([unasked.encode()]).torch.available is None


@each(
    "text",
    [
        "if torch.cuda.is_available():\n    model.cuda()",
        "If torch.cuda.is_available() returns False, install the driver.",
        "print(torch.__version__)\nTraceback (most recent call last):",
        "torch.version.cuda\nNone",
        "if torch.version.hip is None and torch.version.cuda is None:",
        "torch.version.cuda should be 12.4",
        "on the other machine torch.version.cuda is 12.4",
        "torch.version.hip is None",
        "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')  # the default",
    ],
)
def test_code_without_an_answer_says_nothing(text: str) -> None:
    with pytest.raises(ParserError):
        torch_prints.read(text)


def test_variables_that_mpirun_hands_on() -> None:
    line = "mpirun -np 2 -H a,b -x NCCL_SOCKET_IFNAME=enp4s0 -x NCCL_DEBUG=INFO ./build/all_reduce_perf"
    assert env_lines(line).get("environment[NCCL_SOCKET_IFNAME]") == "enp4s0"


def test_a_paste_with_an_install_tells_the_release() -> None:
    machine = read_text([b"I ran uv:\n - torch==2.5.1\n + torch==2.6.0+cu124\nand it fails\n"])
    assert machine.torch.version == "2.6.0+cu124"
