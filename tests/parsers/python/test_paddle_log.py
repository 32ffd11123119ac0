"""What PaddlePaddle tells of the GPU that it starts on."""

from __future__ import annotations

import pytest

from doctor.errors import ParserError
from doctor.parsers.python import paddle_log

NOTE = "W0819 context.cc:404] Please NOTE: device: 1, GPU Compute Capability: 7.5, Driver API Version: 11.3, Runtime"


def test_the_gpu_and_the_drivers_cuda() -> None:
    sheet = paddle_log.read(NOTE)
    assert {entry.name: entry.value for entry in sheet} == {
        "gpus[#1].vendor": "nvidia",
        "gpus[#1].arch": "sm_75",
        "nvidia_driver.loaded": True,
        "nvidia_driver.cuda_version": "11.3",
    }


@pytest.mark.parametrize("text", ["", "GPU Compute Capability: 7.5", "Please NOTE: device: x, GPU Compute"])
def test_another_line_is_an_error(text: str) -> None:
    with pytest.raises(ParserError):
        paddle_log.read(text)
