"""Who speaks in a text: people write sentences, tools print rows, comments, help and the same line again and again."""

from __future__ import annotations

import re

import pytest

from doctor.intake import manuals, read_text
from doctor.intake.speech import SAID_AT_LEAST
from doctor.intake.words import Words
from doctor.knowledge.wording import HEALTHY
from tests.intake.test_fieldlab import index
from tests.paths import FIELDLAB

WRITTEN = "environment_report|rocprof-sysinfo/log"
"""A report with headings, and logs that speak in whole sentences."""


def said(text: str) -> int:
    words = Words()
    list(words.through(enumerate(text.splitlines(), 1)))
    return words.speech.said


@pytest.mark.parametrize(
    "text",
    [
        "Whisper server falls back to CPU\nnvidia-smi works on host\ndocker-compose.yml has no deploy section\n",
        "### What happens\n",
        "Observed: cuInit fails\nExpected: no error\nTried: without container, still wrong\nSeen: device missing\n",
        "The job hangs after a while.\nIt works with one GPU.\nWe see nothing in the log.\n",
    ],
)
def test_people(text: str) -> None:
    assert said(text) >= SAID_AT_LEAST


@pytest.mark.parametrize(
    "text",
    [
        "Detected 1 CUDA Capable device(s)\nTotal number of registers available per block: 65536\n",
        "".join(f"Interrupt: pin A routed to IRQ {n}\n" for n in range(140, 160)),
        "# If you change this file, run it again\n# The first line is of the tool\n# This is not a sentence of yours\n",
        "Jan 06 14:17:18 host kernel: this is not a fault of the driver\n" * 3,
    ],
)
def test_tools(text: str) -> None:
    assert said(text) < SAID_AT_LEAST


def test_nothing_is_suspected_of_a_document_of_a_tool() -> None:
    topology = (
        "<!-- The switch is behind the socket.\nThis has 2 groups of GPUs.\nIt is read by NCCL with a file. -->\n"
    )
    assert (
        read_text([f"{topology}<system><pci link_speed='16 GT/s' link_width='8'/></system>".encode()]).resembles == ()
    )


def test_help_is_left_out_and_what_follows_it_is_not() -> None:
    text = [
        "NVIDIA System Management Interface -- v595.80",
        "-c 0/DEFAULT, 1/EXCLUSIVE_THREAD",
        "$ nvidia-smi -L",
        "GPU 0",
    ]
    assert [line for _, line in manuals.without(enumerate(text, 1))] == ["", "", "$ nvidia-smi -L", "GPU 0"]
    assert [number for number, _ in manuals.without(enumerate(text, 1))] == [1, 2, 3, 4]
    machine = read_text(["\n".join([*text[:2], "Typically useful if a double bit ECC error has", "```"]).encode()])
    assert machine.symptoms == ()


def test_a_help_without_an_end_hides_no_more_than_help_is_long() -> None:
    lines = ["usage: rocm-smi [-h]", *["text"] * manuals.MOST, "hipErrorNoBinaryForGpu"]
    assert list(manuals.without(enumerate(lines, 1)))[-1][1] == "hipErrorNoBinaryForGpu"


@pytest.mark.parametrize("row", index(), ids=lambda row: str(row["machine"]))
def test_no_output_of_a_tool_is_suspected_of_anything(row: dict[str, object]) -> None:
    for file in row["files"]:  # type: ignore[attr-defined]
        path = FIELDLAB / str(row["machine"]) / file["path"]
        if path.is_file() and path.suffix not in (".gz", ".bz2") and not re.search(WRITTEN, str(path)):
            words = Words()
            list(words.through(manuals.without(enumerate(path.read_text(errors="replace").splitlines(), 1))))
            assert words.resembles() == (), path.name


ROWS = "  4096 Jan  1 00:00 | 0x7f\n" * 20
SENTENCE = "NCCL hangs as soon as the loader has more than four workers, docker without shm-size\n"


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE,
        SENTENCE + ROWS,
        ROWS + "and then i just installed the new docker and it fails\n",
        ROWS + "[Usage]: docker and shm-size, hangs\n",
        ROWS + "Is shm-size missing for docker here?\n",
        "docker 容器里训练卡住,日志停在初始化之后,没有输出\n" + ROWS,
    ],
)
def test_one_line_of_somebody_is_enough(text: str) -> None:
    assert read_text([text.encode()]).resembles


def test_who_complains_of_nothing_is_suspected_of_nothing() -> None:
    shown = "This is my docker compose file with shm_size for the loader.\n"
    assert read_text([(shown + "It hangs.\n").encode()]).resembles
    assert not read_text([shown.encode()]).resembles


def test_an_error_text_alone_is_nobodys() -> None:
    torch = "CUDA out of memory. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF.\n"
    assert not read_text([torch.encode()]).spoken
    assert read_text([(torch + "Since I set the option it is refused.\n").encode()]).spoken


@pytest.mark.parametrize(
    "text",
    [
        ROWS + SENTENCE,
        "docker info,显示 docker 的信息,/var/lib/docker/containers/log.txt,Show what docker runs on\n" + ROWS,
        "6,3973,22799,-;docker shm:127 ERROR detected invalid size, skipping further processing\n" * 3,
        "2024-05-01 I tensorflow/core/docker.cc:28] Could not find shm-size of docker\n" + ROWS,
        ROWS + "RuntimeError: DataLoader worker is killed by signal: Bus error\n",
    ],
)
def test_a_line_that_a_tool_may_have_printed_is_not(text: str) -> None:
    assert not read_text([text.encode()]).resembles


def test_one_who_says_a_word_beside_few_lines_complains() -> None:
    """What is only suspected is a warning to who asks, and a remark on a tool's output."""
    told = "both GPUs are used although I chose one\nexport HIP_VISBLE_DEVICES=0\n"
    silent = "HIP_VISBLE_DEVICES=0\nLANG=C\n"
    assert read_text([told.encode()]).spoken
    assert not read_text([silent.encode()]).spoken


def test_one_who_fills_in_labels_asks() -> None:
    filled = "GPU: Strix Halo\nKernel: 6.14.0-generic\n"
    printed = "".join(f"Module {n}: amdgpu\n" for n in ("a", "b", "c", "d", "e", "f", "g"))
    assert read_text([filled.encode()]).spoken
    assert not read_text([printed.encode()]).spoken


FIELDS = "GCC version: (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0\nClang version: Could not collect\nCMake version: 3.30\n"


def test_fields_of_a_form_make_no_cause_likelier() -> None:
    def share(text: str) -> float:
        words = Words()
        list(words.through(enumerate(text.splitlines(), 1)))
        return max((like.share for like in words.resembles() if like.cause == "host-compiler-unsupported"), default=0.0)

    asked = "My extension does not build, the compiler fails. What can I do?\n"
    assert share(asked + FIELDS) <= share(asked)
    assert share(asked + FIELDS.replace(" version:", "")) > share(asked + FIELDS)


def test_a_kernel_command_line_speaks_for_no_cause() -> None:
    def causes(line: str) -> set[str]:
        words = Words()
        list(words.through([(1, "My program gives a wrong result. What can I do?"), (2, line)]))
        return {like.cause for like in words.resembles() if like.share > 0.3}

    assert "apu-memory-pool-misconfigured" in causes(
        "the amdgpu.gttsize= and ttm.pages_limit= that I found are too small"
    )
    assert "apu-memory-pool-misconfigured" not in causes("ro quiet amdgpu.gttsize=126976 ttm.pages_limit=32505856")


WHEELS = "nvidia-cusparse-cu12{0}12.1.0.106\nnvidia-nvjitlink-cu12{0}12.1.105\nnvidia-cudnn-cu12{0}8.9.2.26\n"


@pytest.mark.parametrize(
    "rows",
    [
        WHEELS.format("=="),
        WHEELS.format("   "),
        "NCCL_SOCKET_IFNAME=eno1\nexport NCCL_IB_DISABLE=1\n",
        '  File "/opt/conda/lib/python3.11/site-packages/aiter/ops/flash_attn.py", line 3, in fwd\n',
    ],
)
def test_lists_and_frames_make_no_cause_likelier(rows: str) -> None:
    def shares(text: str) -> dict[str, float]:
        words = Words()
        list(words.through(enumerate(text.splitlines(), 1)))
        return {like.cause: like.share for like in words.resembles() if like.cause != HEALTHY}

    asked = "My program ends with a ValueError. What can I do?\n"
    before = shares(asked)
    assert all(share <= before.get(cause, 0.0) for cause, share in shares(asked + rows).items())
    told = shares(asked + re.sub(r"(?m)^(?=.)", "I see this: ", rows))
    assert any(share > before.get(cause, 0.0) for cause, share in told.items())


def _share(cause: str, text: str) -> float:
    words = Words()
    list(words.through(enumerate(text.splitlines(), 1)))
    return max((like.share for like in words.resembles() if like.cause == cause), default=0.0)


@pytest.mark.parametrize(
    ("cause", "frame", "message"),
    [
        ("torch-missing-gpu-arch", "torch.AcceleratorError", ": stopped"),
        ("collective-flag-misconfigured", "terminate called after throwing an instance of", " 'abc::exception'"),
        (
            "library-missing-gpu-arch",
            "time=2026-01-02T10:00:00Z level=INFO source=amd_linux.go:402 msg=",
            '"amdgpu"',
        ),
        ("python-version-unsupported", "Fatal Python error", ": Bus error"),
    ],
)
def test_what_stands_around_every_message_makes_no_cause_likelier(cause: str, frame: str, message: str) -> None:
    asked = "My program gives a wrong result. What can I do?\n"
    assert _share(cause, asked + frame + message) <= _share(cause, asked + message)


@pytest.mark.parametrize(
    ("cause", "line"),
    [
        (
            "companion-kernel-lib-outdated",
            "[aiter] shape is M:16, N:5120, not found tuned config in /tmp/a.csv, will use default config! using torch",
        ),
        (
            "companion-kernel-lib-outdated",
            "UserWarning: Flash Efficient attention on Current AMD GPU is still experimental. Enable it with",
        ),
        (
            "toolkit-torch-mismatch",
            "The detected CUDA version (12.6) has a minor version mismatch with the version that was used to compile"
            " PyTorch (12.4). Most likely this shouldn't be a problem.",
        ),
    ],
)
def test_a_note_that_says_itself_that_all_goes_on_speaks_for_no_cause(cause: str, line: str) -> None:
    asked = "My program gives a wrong result. What can I do?\n"
    assert _share(cause, asked + line) <= _share(cause, asked)
    told = line.replace(", not found tuned", ", no tuned").replace("still experimental", "too old")
    told = told.replace("Most likely this shouldn't be a problem.", "")
    assert _share(cause, asked + told) > _share(cause, asked + line)


@pytest.mark.parametrize(
    ("cause", "line", "said"),
    [
        (
            "amd-gpu-unsupported-by-rocm",
            "CUDA kernel errors might be asynchronously reported at some other API call,so the stacktrace below might",
            "kernel errors are reported at some other API call",
        ),
        (
            "debug-flag-left-on",
            "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.",
            "we run with CUDA_LAUNCH_BLOCKING=1",
        ),
        (
            "gpu-libs-not-found",
            "n1:7:7 [0] NCCL INFO NET/Plugin : Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: cannot open"
            " shared object file: No such file or directory",
            "libabc.so: cannot open shared object file: No such file or directory",
        ),
    ],
)
def test_what_is_printed_at_every_error_or_start_speaks_for_no_cause(cause: str, line: str, said: str) -> None:
    asked = "My program gives a wrong result. What can I do?\n"
    assert _share(cause, asked + line) <= _share(cause, asked)
    assert _share(cause, asked + said) > _share(cause, asked)
