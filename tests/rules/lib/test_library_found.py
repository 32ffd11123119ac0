"""What a program found of a GPU library, beside the wheel that is installed."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import told

PIP = "\n\n$ pip list\nPackage    Version\n---------- -------\n"
JAX = "Found {} version {}, but JAX was built against version {}, which is newer."
NOT_OLDER = [
    (JAX.format("cuBLAS", "120103", "120304"), "nvidia-cublas-cu12 12.1.3.1"),
    (JAX.format("cuBLAS", "120103", "120304"), "nvidia-cudnn-cu12 9.1.0.70"),
    (JAX.format("cuDNN", "90501", "90800"), "nvidia-cudnn-cu12 9.5.1.17"),
]


@pytest.mark.parametrize(("said", "wheel"), NOT_OLDER)
def test_the_wheel_itself_is_no_other_copy(said: str, wheel: str) -> None:
    assert "gpu-libs-conflict" not in told(said + PIP + wheel)
