"""Words alone: where a framework took its GPU, or a program tells what it used, they accuse nothing of it."""

from __future__ import annotations

from types import ModuleType

import pytest

from doctor.intake import read_text
from doctor.rules.driver import amdgpu_kernel_or_os_unsupported
from doctor.rules.host import gpu_memory_exhausted, integrated_gpu_conflict
from doctor.rules.python import (
    extension_abi_mismatch,
    gpu_libs_not_found,
    known_bad_library_version,
    library_missing_gpu_arch,
    onnxruntime_gpu_mismatch,
    rocm_path_broken,
    tensorflow_gpu_mismatch,
    triton_mismatch,
)
from tests.knowledge.texts import raised

MADE = "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 23996 MB memory:  -> device: 0, name: {}"
BOTH = (
    "Device 0: AMD Radeon RX 7600 XT, gfx1102 (0x1102), VMM: no, Wave Size: 32\n"
    "Device 1: AMD Radeon Graphics, gfx1036 (0x1036), VMM: no, Wave Size: 32\n"
)
LISTED = "GPU:\nGPU 0: AMD Radeon RX 6800\nGPU 1: AMD Radeon(TM) Graphics\n\n"
DIRECTML = "$ pip list\nPackage    Version\n---------- -------\nonnxruntime-directml 1.18.0\n"
CARDS = '[W:onnxruntime:Default, device_discovery.cc:164] GPU device discovery failed: "/sys/class/drm/card0"\n'
NODES = "[W:onnxruntime:, transformer_memcpy.cc:74] 2 Memcpy nodes are added to the graph g for CUDAExecutionProvider."
XFORMERS = "A matching Triton is not available, some optimizations will not be enabled\n"
POOL = "MemoryError: std::bad_alloc: Maximum pool size exceeded (failed to allocate 2.0 GiB)\n"
RENDERS = "AMD Ryzen 7 8845HS with Radeon 780M Graphics\nNVIDIA GeForce RTX 4060 Laptop GPU\n"
TRTEXEC = "[I] Selected Device: Xavier\n[I] Compute Capability: 7.2\n"
NO_KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
CASES: list[tuple[ModuleType, str, str]] = [
    (tensorflow_gpu_mismatch, MADE.format("Tesla T4"), "\nCould not load library libcudnn_ops.so.9, Aborted"),
    (tensorflow_gpu_mismatch, "Num GPUs Available:  1", "\nRuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED"),
    (tensorflow_gpu_mismatch, "ptxas warning : Registers are spilled to local memory in function 'f'", "\nSIGSEGV"),
    (onnxruntime_gpu_mismatch, NODES, "\nRuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED"),
    (onnxruntime_gpu_mismatch, f"{CARDS}['CUDAExecutionProvider', 'CPUExecutionProvider']", "\nSegmentation fault"),
    (triton_mismatch, XFORMERS, "RuntimeError: Cannot find a working triton installation"),
    (integrated_gpu_conflict, f"{BOTH}using ROCm0 backend\n", "Segmentation fault (core dumped)"),
    (integrated_gpu_conflict, MADE.format("Radeon RX 7900 XTX"), "\nSegmentation fault (core dumped)"),
    (integrated_gpu_conflict, LISTED + DIRECTML, "\nSegmentation fault (core dumped)"),
    (
        integrated_gpu_conflict,
        LISTED + "Device: cuda:0 AMD Radeon RX 6800 : native\n",
        "Segmentation fault (core dumped)",
    ),
    (integrated_gpu_conflict, RENDERS + "using OPTIX: NVIDIA GeForce RTX 4060\n", "Segmentation fault (core dumped)"),
    (library_missing_gpu_arch, TRTEXEC + "[E] Failed to parse onnx file", f"\n{NO_KERNEL}"),
    (gpu_libs_not_found, "CUDA SETUP: CUDA runtime path found: /opt/lib/libcudart.so.11.0", "\nSegmentation fault"),
]
NEAR: list[tuple[ModuleType, str]] = [
    (tensorflow_gpu_mismatch, "Num GPUs Available:  0"),
    (onnxruntime_gpu_mismatch, CARDS),
    (onnxruntime_gpu_mismatch, f"{CARDS}['CPUExecutionProvider']"),
    (onnxruntime_gpu_mismatch, "['CUDAExecutionProvider', 'CPUExecutionProvider']"),
    (integrated_gpu_conflict, BOTH),
    (integrated_gpu_conflict, LISTED),
    (integrated_gpu_conflict, MADE.format("AMD Radeon Graphics")),
    (integrated_gpu_conflict, LISTED + "Device: cuda:1 AMD Radeon(TM) Graphics : native\n"),
    (integrated_gpu_conflict, RENDERS + "using HIP: AMD Radeon(TM) Graphics\n"),
    (library_missing_gpu_arch, TRTEXEC),
    (gpu_memory_exhausted, POOL),
    (gpu_memory_exhausted, "rmm.reinitialize(maximum_pool_size=2**32)"),
    (rocm_path_broken, "hipcc PATH                   : None"),
    (extension_abi_mismatch, "    device=cuda (supported: {'cuda'})"),
    (known_bad_library_version, "Results do not match the reference. This is likely a bug/unexpected loss"),
]


@pytest.mark.parametrize(("rule", "text", "fails"), CASES)
def test_what_took_its_gpu_was_not_kept_from_it(rule: ModuleType, text: str, fails: str) -> None:
    assert rule.unheard(read_text([text.encode()]))
    assert not rule.unheard(read_text([f"{text}{fails}".encode()]))


@pytest.mark.parametrize(("rule", "text"), NEAR)
def test_words_are_heard_where_less_is_told(rule: ModuleType, text: str) -> None:
    assert not rule.unheard(read_text([text.encode()]))


def test_a_pool_with_a_bound_of_the_programs_own() -> None:
    assert gpu_memory_exhausted.unheard(read_text([f"rmm.reinitialize(maximum_pool_size=2**32)\n{POOL}".encode()]))


def test_a_compiler_that_was_found() -> None:
    assert rocm_path_broken.unheard(read_text([b"hipcc PATH                   : /opt/rocm/bin/hipcc"]))


def test_parts_of_rocm_that_julia_found() -> None:
    row = "│     {}     │ HIP              │ 6.0.32831 │ {:<41} │\n"
    assert rocm_path_broken.unheard(read_text([row.format("+", "/opt/rocm/lib/libamdhip64.so").encode()]))
    assert not rocm_path_broken.unheard(read_text([row.format("-", "-").encode()]))


def test_tensors_on_the_cpu() -> None:
    given = "    device=cpu (supported: {'cuda'})"
    assert extension_abi_mismatch.unheard(read_text([given.encode()]))
    assert not extension_abi_mismatch.unheard(read_text([f"PyTorch version: 2.5.1+cpu\n{given}".encode()]))


def test_a_kernel_that_was_dropped() -> None:
    line = "Results do not match the reference. This is likely a bug/unexpected loss of precision.\n"
    assert known_bad_library_version.unheard(read_text([f"{line}inference works\n".encode()]))


def test_a_system_that_is_not_listed_where_a_gpu_is_taken() -> None:
    machine = "OS: Ubuntu 20.04.6 LTS\nROCm version: 6.4.1\nAgent 2\n  Name:                    gfx906\n"
    asked = f"{machine}TensorFlow fails after a while, rocminfo is fine.\n"
    rule = amdgpu_kernel_or_os_unsupported.RULE.id
    assert rule in raised(asked)
    assert rule not in raised(f"{asked}    Device 0 Compute Capability  : 90\n")
