"""What a program found of a GPU library, beside the wheel that is installed."""

from __future__ import annotations

import pytest

from doctor.rules import library_found
from tests.knowledge.texts import told
from tests.rules.machines import build

PIP = "\n\n$ pip list\nPackage    Version\n---------- -------\n"
JAX = "Found {} version {}, but JAX was built against version {}, which is newer."
OLDER = [
    (JAX.format("cuBLAS", "120103", "120304"), "nvidia-cublas-cu12 12.6.4.1"),
    (JAX.format("cuDNN", "8902", "8907"), "nvidia-cudnn-cu12 9.1.0.70"),
    (JAX.format("cuDNN", "90100", "90501"), "nvidia-cudnn-cu12 9.8.0.87"),
    (JAX.format("cuSPARSE", "12101", "12300"), "nvidia-cusparse-cu12 12.5.1.3"),
]
NOT_OLDER = [
    (JAX.format("cuBLAS", "120103", "120304"), "nvidia-cublas-cu12 12.1.3.1"),
    (JAX.format("cuBLAS", "120103", "120304"), "nvidia-cudnn-cu12 9.1.0.70"),
    (JAX.format("cuDNN", "90501", "90800"), "nvidia-cudnn-cu12 9.5.1.17"),
]


@pytest.mark.parametrize(("said", "wheel"), OLDER)
def test_an_older_library_than_the_wheel_is_another_copy(said: str, wheel: str) -> None:
    assert {"gpu-libs-conflict", "jax-plugin-mismatch"} <= set(told(said + PIP + wheel))


@pytest.mark.parametrize(("said", "wheel"), NOT_OLDER)
def test_the_wheel_itself_is_no_other_copy(said: str, wheel: str) -> None:
    assert "gpu-libs-conflict" not in told(said + PIP + wheel)


MADE = "it was compiled against NCCL 2.18.1"


@pytest.mark.parametrize(
    ("here", "summary"),
    [
        ("NCCL 2.21.5 is loaded", "Built with NCCL 2.18; NCCL 2.21 is on the system."),
        ("NCCL 2.18.5 is loaded", None),
        ("cuDNN 9.1.0 is installed", None),
    ],
)
def test_two_releases_that_a_text_tells_of(here: str, summary: str | None) -> None:
    machine = build({"symptoms": {"library-built-with-told": MADE, "library-on-system-told": here}})
    assert [f.summary for f in library_found.other_release_told(machine)] == ([summary] if summary else [])


def test_silent_where_one_release_alone_is_told() -> None:
    assert list(library_found.other_release_told(build({"symptoms": {"library-built-with-told": MADE}}))) == []
