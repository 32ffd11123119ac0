"""Ollama loads NVIDIA's libraries by itself and prints the code of the call that failed: the library was found."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, names_not, raised

NVML = "Unable to load CUDA management library /usr/lib64/libnvidia-ml.so.550.1: nvml vram init failure: "
CUDART = "Unable to load cudart CUDA management library /tmp/ollama1/runners/cuda_v11/libcudart.so.11.0: cudart "
DRIVER = "Unable to load cudart library /usr/lib64/libcuda.so.550.1: cuda driver library init failure: "
INSIDE = "\n\ncontainer engine: docker\nrunning inside a container: yes\n"

test_each_code_names_its_cause = names(
    [
        (NVML + "9", "nvidia-driver-not-loaded"),
        (NVML + "Driver Not Loaded (9)", "nvidia-driver-not-loaded"),
        (NVML + "18", "nvidia-driver-library-mismatch"),
        (NVML + "999" + INSIDE, "container-lost-devices"),
        (NVML + "Unknown Error (999)" + INSIDE, "container-lost-devices"),
        (CUDART + "init failure: 35", "nvidia-driver-too-old"),
        (CUDART + "vram init failure: 100" + INSIDE, "container-missing-gpu-passthrough"),
        (CUDART + "vram init failure: 999" + INSIDE, "nvidia-uvm-missing"),
        (DRIVER + "999" + INSIDE, "nvidia-uvm-missing"),
    ],
    first=True,
)
test_and_no_other = names_not(
    [
        (NVML + "999", "nvidia-driver-not-loaded"),
        (NVML + "999", "container-lost-devices"),
        (NVML + "999" + INSIDE + "it came after a suspend of the host\n", "container-lost-devices"),
        (CUDART + "init failure: 3", "nvidia-driver-too-old"),
        (DRIVER + "999\nafter suspend and resume" + INSIDE, "nvidia-uvm-missing"),
    ]
)


@pytest.mark.parametrize("code", ["9", "18", "999", "4", "Unknown Error (999)"])
def test_a_library_that_answers_is_there(code: str) -> None:
    assert "gpu-libs-not-found" not in raised(NVML + code)


def test_one_that_is_not_found_is_not() -> None:
    assert "gpu-libraries-not-found-told" in keys("ollama: unable to load CUDA libraries")


WSL = "\n\nOS: Ubuntu 22.04 on WSL2\n"
BLIND = "CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 500: named symbol not found"

test_what_starts_without_a_library_of_the_driver = names(
    [
        (DRIVER + "500" + WSL + INSIDE, "container-toolkit-too-old"),
        (BLIND + WSL + INSIDE, "container-toolkit-too-old"),
        ("cuInit err: 500" + WSL, "wsl-gpu-misconfigured"),
    ],
    first=True,
)
test_and_what_does_not = names_not(
    [
        (DRIVER + "500" + INSIDE, "container-toolkit-too-old"),
        ("CUDA error: named symbol not found" + WSL + INSIDE, "container-toolkit-too-old"),
        (BLIND, "wsl-gpu-misconfigured"),
    ]
)
