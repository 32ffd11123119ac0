"""Texts whose error is a program's own, beside what is in most environments: near to faults of the stack, and none."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, names_not, raised

SMI = "$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 3090\n\n"
OWN = "KeyError: 'labels'\n"
COLUMN = 'ValueError: the dataset has no column named "text"\n'
LIST = "$ pip list\nPackage    Version\n---------- -------\n"
ONNX = LIST + "onnxruntime 1.19.2\nonnxruntime-gpu 1.19.2\n"
CPU_TORCH = LIST + "torch 2.3.1+cpu\n"
OLD_NVCC = (
    "PyTorch version: 2.9.1+cu130\nCUDA used to build PyTorch: 13.0\n"
    "GCC version: (Ubuntu 13.3.0-6ubuntu2) 13.3.0\nCUDA runtime version: 12.0.140\n"
)
NO_CUDART = (
    "W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic library "
    "'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file: No such file or directory\n"
)
SEES = "PyTorch version: 1.11.0+cu113\nIs CUDA available: {}\n"
NO_DRIVERS = "cudart_stub.cc:32] Could not find cuda drivers on your machine, GPU will not be used.\n"
HIDDEN = "$ env\nCUDA_VISIBLE_DEVICES=-1\n\n"
NO_DEVICE = "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n"
OPENIB = "No OpenFabrics connection schemes reported that they were able to be used on a specific port.\n"
UCX = "parser.c:2036 UCX  WARN  unused environment variable: UCX_MEMTYPE_REG_WHOLE_ALLOC_TYPES\n"
RENDER = "failed to open /dev/dri/renderD128: Permission denied\n"
FLASH = (
    "`flash-attention` package not found, consider installing for better performance: No module named 'flash_attn'.\n"
)
AITER = "[aiter] WARNING: NUMA balancing is enabled, which may cause errors.\n"
NO_HOME = " [WARNING]  CUDA_HOME does not exist, unable to compile CUDA op(s)\n"
THC = "a.cu:3:10: fatal error: THC/THC.h: No such file or directory\nninja: build stopped: subcommand failed.\n"
MADE = "gpu_device.cc:1928] Created device /device:GPU:0 with 5838 MB memory:  -> device: 0, name: NVIDIA GeForce\n"
TF = LIST + "tensorflow 2.16.1\n\n$ nvcc --version\nCuda compilation tools, release 11.5, V11.5.119\n"


@pytest.mark.parametrize(
    "text",
    [
        SMI + ONNX + OWN,
        SMI + OLD_NVCC + "INFO: building the index of 10,240,311 samples\n" + COLUMN,
        SMI + CPU_TORCH + OWN,
        SMI + SEES.format("True") + NO_CUDART + OWN,
        SMI + HIDDEN + NO_DEVICE + COLUMN,
        OPENIB + UCX + "ERROR: Restart file read_restart: bad magic number (../read_restart.cpp:612)\n",
        SMI + "libEGL warning: " + RENDER + OWN,
        SMI + FLASH + NO_HOME + OWN,
        SMI + MADE + TF + OWN,
    ],
)
def test_own_error_beside_what_is_harmless(text: str) -> None:
    assert raised(text) == []


test_the_same_without_an_own_error_is_named = names(
    (
        (SMI + ONNX, "onnxruntime-gpu-mismatch"),
        (SMI + ONNX + "ValueError: CUDAExecutionProvider is no provider of onnxruntime\n", "onnxruntime-gpu-mismatch"),
        (SMI + OLD_NVCC + "error: building the extension failed: nvcc\n", "toolkit-torch-mismatch"),
        (SMI + CPU_TORCH + "AssertionError: Torch not compiled with CUDA enabled\n", "torch-cpu-only-build"),
        (SMI + CPU_TORCH, "torch-cpu-only-build"),
        (SMI + SEES.format("False") + NO_CUDART, "gpu-libs-not-found"),
        (SMI + LIST + "tensorflow 2.13.0\n\n" + NO_DRIVERS, "tensorflow-gpu-mismatch"),
        (OPENIB, "collective-flag-misconfigured"),
        (UCX, "env-flag-unknown-or-renamed"),
        (RENDER, "device-node-permission"),
        (NO_HOME, "toolkit-torch-mismatch"),
        ("ModuleNotFoundError: No module named 'flash_attn'\n", "companion-kernel-lib-outdated"),
        (SMI + TF, "tensorflow-gpu-mismatch"),
    )
)
test_one_line_is_of_one_thing = names_not(((AITER, "companion-kernel-lib-outdated"), (THC, "system-library-missing")))


@pytest.mark.parametrize(
    "line",
    [
        "ValueError: no kernel for gfx906",
        "AttributeError: module 'numpy' has no attribute 'bool'",
        "TypeError: this driver version is too old",
        "AssertionError: only equal chunks",
        "ImportError: cannot import name 'x'",
        "RuntimeError: something",
        "KeyError: 'rocm'",
    ],
)
def test_what_may_be_of_the_stack_is_no_own_error(line: str) -> None:
    assert "plain-exception-told" not in keys(line)


def test_builds_are_read_as_builds() -> None:
    for line in ("Building wheel for flash-attn (setup.py) ... error", "building 'fused' extension"):
        assert "build-command-failed" in keys(line)
    assert "build-command-failed" not in keys("INFO: building the index of 10 samples")
