"""Which toolkit compiles, by the path of the nvcc that a build runs."""

from __future__ import annotations

import pytest

from doctor.errors import ParserError
from doctor.knowledge import Knowledge
from doctor.parsers.nvidia import compile_line
from doctor.parsers.text import labelled_lines
from doctor.rules.python import toolkit_torch_mismatch
from doctor.triage.read import read_text

BUILD = "/opt/cuda-11.8/bin/nvcc -I/venv/include -c ops.cu -o ops.o\nninja: build stopped: subcommand failed.\n"


def found(text: str) -> list[str]:
    return [f.summary for f in toolkit_torch_mismatch.check(read_text([text.encode()]), Knowledge(), None)]


def test_the_toolkit_that_runs_is_read_from_the_command() -> None:
    sheet = compile_line.read("[2/9] /usr/local/cuda-12.4/bin/nvcc -gencode=arch=compute_90,code=sm_90 -c a.cu")
    assert sheet.get("cuda[/usr/local/cuda-12.4].version") == "12.4"
    assert sheet.get("cuda[/usr/local/cuda-12.4].kind") == "ran"


@pytest.mark.parametrize(
    "line",
    [
        "export PATH=/usr/local/cuda-12.4/bin:$PATH",
        "which nvcc -> /usr/local/cuda-12.4/bin/nvcc",
        "/usr/local/cuda/bin/nvcc -c a.cu",
    ],
)
def test_another_line_runs_no_toolkit_of_a_known_release(line: str) -> None:
    with pytest.raises(ParserError):
        compile_line.read(line)


def test_it_compiles_with_another_cuda_than_is_told() -> None:
    assert found(f"CUDA version: 12.1\n{BUILD}")


@pytest.mark.parametrize("told", ["CUDA version: 11.7", "Ubuntu 22.04"], ids=("the same major", "unknown"))
def test_the_same_major_or_none_told_says_nothing(told: str) -> None:
    assert not found(f"{told}\n{BUILD}")


def test_what_runs_counts_before_what_is_installed() -> None:
    assert found(f"torch version: 2.5.1+cu124\nCUDA version: 12.4\n{BUILD}")


def test_the_second_number_of_a_pair_is_cudnns() -> None:
    assert labelled_lines.read("CUDA/cuDNN version: 11.8/8.9.2").get("cuda[shown].version") == "11.8"
