"""Texts made of pieces of real formats: no parser raises anything but ParserError, no text breaks the intake."""

from __future__ import annotations

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from doctor import parsers
from doctor.errors import ParserError
from doctor.knowledge.names import gpu_by_name
from doctor.triage import formats
from doctor.triage.read import read_text

PIECES = [
    "Agent 2", "  Name:   gfx90a", "  Device Type:   GPU", "  BDFID:  9728", "GPU[0]\t\t: Card Series: \t\tX", "GPU: 0",
    "    BDF: 0000:c3:00.0", "    VRAM:", "        SIZE: 1 MB", "GPU 0: NVIDIA A100 (UUID: GPU-1)", "OS: Ubuntu 22.04",
    "PyTorch version: 2.6.0+cu124", "CUDA used to build PyTorch: None", "GPU models and configuration: GPU 0: X",
    "uid=1(a) gid=2(b) groups=3(c)", "crw-rw---- 1 root render 226, 128 Apr 18 15:58 /dev/dri/renderD128",
    "01:00.0 VGA compatible controller: NVIDIA Corporation [X] [10de:2684]", "\tLnkSta:\tSpeed 16GT/s, Width x16",
    "export A_B=1", "docker run -e A=b \\", "# Name Version Build Channel", "torch 2.1.0 py3_cuda11.8 x", "numpy==1",
    "release 12.4, V12.4.1 compilation tools", "```", "$ pip list", "> quoted", "| NVIDIA-SMI 1 |",
    "[  1.0] NVRM: Xid 79",
    "compute capability: 9.0", "Driver: 550.54", "ulimit -n: 99999999999999999999",
    "Linux a 6.8.0 #1 SMP x86_64", "\x1b[31m",
    '  File "/a/lib/python3.11/site-packages/torch/x.py"', "nvidia 1234 5", "0  [0x74a1 : 0x00] 1 NPS1, SPX",
    "Environment=A_B=1 'C_D=2 3", "HSA_OVERRIDE_GFX_VERSION: OLLAMA_DEBUG:false", "6.12.12", "license: Dual MIT/GPL",
    "1: lo: <LOOPBACK,UP> mtu 65536", "lo UNKNOWN 127.0.0.1/8", "DMA-FQ", "pod: Limits: cpu 8", "10.3.0", "0",
    "", " ", "\x00",
]  # fmt: skip
COMMANDS = [
    "systemctl show a -p Environment", "systemctl cat a | grep -i environ", "sudo systemctl cat a", "echo $HSA_XNACK",
    'echo "${HSA_XNACK}"', "cat /sys/module/amdgpu/version", "modinfo -F version nvidia", "modinfo -F license nvidia",
    "lsmod | grep -c ^nvidia", "ulimit -l", "print(torch.cuda.is_available())", "nvidia-smi --query-gpu=name", "",
]  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=60)), max_size=25).map("\n".join)
FORMATS = sorted(formats.formats(), key=lambda form: (form.parser, form.call))


@settings(max_examples=3 * settings().max_examples)
@given(TEXTS, st.one_of(st.sampled_from(COMMANDS), st.text(max_size=60)))
def test_a_parser_raises_parser_error_only(text: str, command: str) -> None:
    for form in FORMATS:
        read = getattr(parsers.load(form.parser), form.call)
        more = {"lookup": gpu_by_name} if form.parser == "entities" else {}
        with contextlib.suppress(ParserError):
            read(text, "text", **({"command": command} if form.takes_command else {}), **more)


@given(TEXTS)
def test_the_intake_takes_any_text(text: str) -> None:
    machine = read_text([text.encode("utf-8", "surrogatepass")])
    last = text.count("\n") + 1
    assert all(int(o.source.split(":")[1]) <= last for o in machine.origins.values() if o.source.startswith("text:"))
