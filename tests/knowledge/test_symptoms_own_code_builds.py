"""Errors of sources and of their tests, and commits that were found, name no cause; what is near to them does."""

from __future__ import annotations

import pytest

from doctor.knowledge.symptoms import shared
from tests.knowledge.texts import keys, names, names_not, raised

EXAMPLES = [
    ("user-error-sources-refused", "attention.cuh:88: error: static assertion failed due to requirement 'N == 64'"),
    ("user-error-sources-refused", "7 errors generated when compiling for gfx90a."),
    ("user-error-sources-refused", "note: in instantiation of function template specialization 'scan<float>' here"),
    ("user-error-own-symbol", "ld.lld: error: undefined reference to 'Solver::Grid<Host>::Grid(int)'"),
    (
        "user-error-include-missing",
        "src/h.h:3:1: note: 'std::uint8_t' is defined in header '<cstdint>'; did you forget to '#include <cstdint>'?",
    ),
    (
        "user-error-include-missing",
        "src/a.h:9:1: note: 'std::optional' is defined in header '<optional>'; this is probably fixable by adding",
    ),
    ("user-error-include-missing", "h.h:9:1: note: this is probably fixable by adding '#include <array>'"),
    ("user-error-cmake-policies-removed", "  Compatibility with CMake < 3.5 has been removed from CMake."),
    ("user-error-test-fails", "[  FAILED  ] Gemm.Batched/fp16_TN_96_64_128 (3 ms)"),
    ("user-error-test-fails", "97% tests passed, 3 tests failed out of 118"),
    ("user-error-test-fails", "FAILED tests/ops/test_softmax.py::test_backward[bf16]"),
    ("user-error-test-fails", "FAIL: test_einsum_corner (__main__.TestLinalg)"),
    ("user-error-test-fails", "AssertionError: Loss mismatch at step 4: baseline=7.1, imported=7.4"),
    ("user-error-launch-refused", "RuntimeError: Triton Error [HIP]:  Code: 1, Messsage: invalid argument"),
    ("user-error-launch-refused", "RuntimeError: Triton Error [CUDA]: invalid argument"),
    ("user-error-release-not-downloaded", "Last error: HTTP error 404 for URL: https://example.org/server-b99.zip"),
    ("user-error-release-not-downloaded", "E: 404  Not Found [IP: 192.0.2.7 443]"),
    ("user-error-commit-found", "bisected to 9af3c01d, the change of the batch splitter"),
    ("user-error-commit-found", "runs again without #4711"),
    ("all-works-told-of-first-start", "cold Triton cache: five minutes until it is ready"),
    ("user-error-build-takes-long-told", "pip install flash-attn is still compiling after three hours"),
    ("user-error-build-takes-long-told", "building the wheel of xformers took 90 minutes"),
    ("user-error-build-takes-long-told", "the build is really slow, one core is busy"),
]
NEAR = [
    "/usr/local/cuda/include/x.h:3:1: note: 'std::pair' is defined in header '<utility>'; did you forget to",
    "fatal error: cuda_runtime.h: No such file or directory",
    "  Compatibility with CMake < 3.10 will be removed from a future version of CMake.",
    "undefined reference to 'std::__throw_bad_array_new_length()'",
    "undefined reference to 'c10::Error::Error(std::string)'",
    "undefined reference to `hipGetDeviceCount'",
    "undefined reference to `migraphx::program::eval(int)'",
    "Triton Error [CUDA]: device kernel image is invalid",
    "ERROR 404: llama-rocm-gfx1103-x64.zip",
    "bisected the kernel to 9af3c01d, amdgpu",
    "the kernel works again since #4711 was reverted",
    "3 tests passed",
    "the build of flash-attn hangs, still compiling after three hours",
    "flash-attn: still compiling after 20 min, then nvcc was killed",
    "the JIT build takes 2 hours at every start",
    "torch is very slow since the build of yesterday",
    "1 error generated when linking",
]


@pytest.mark.parametrize(("key", "text"), EXAMPLES)
def test_the_line_shows_the_symptom_and_points_to_nothing(key: str, text: str) -> None:
    assert key in keys(text)
    assert shared().signatures[key].points_to == ()


@pytest.mark.parametrize("line", NEAR)
def test_what_is_near_is_none(line: str) -> None:
    assert not [key for key in keys(line) if key in dict(EXAMPLES)]


@pytest.mark.parametrize("text", [text for _, text in EXAMPLES])
def test_nothing_of_the_machine_is_accused(text: str) -> None:
    assert raised(f"We build it for our two MI210 on Ubuntu 22.04, ROCm 6.2.\n{text}\nWhat is wrong?") == []


def test_beside_a_compiler_that_was_killed_words_blame_no_toolkit() -> None:
    card = "$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 5090\n"
    text = f"Killed\nninja: build stopped: subcommand failed.\n{card}MAX_JOBS=32 python setup.py install\n64 GB RAM"
    assert raised(text) == ["host-memory-exhausted"]


ARCH = "library-missing-gpu-arch"
test_named = names(
    [
        (
            "Name: gfx942\nMarketing Name: AMD Instinct MI300X\nno kernels for gfx942: gfx942: not found in the bundle",
            ARCH,
        ),
        (
            "ldd torch: /opt/rocm/lib/libamdhip64.so.6 and torch/lib/libamdhip64.so.7 are both loaded",
            "gpu-libs-conflict",
        ),
        (
            "nvcc, gcc 13: /usr/include/c++/13/chrono: internal compiler error: Segmentation fault",
            "host-compiler-unsupported",
        ),
        ("RuntimeError: This CK kernel is not supported by this build", "companion-kernel-lib-outdated"),
        ("RX 7800 XT, ROCm 7.1\nfaster-whisper does not use the GPU", ARCH),
        ("torch extension: error: use of undeclared identifier 'hipblasLtCreate'", "toolkit-torch-mismatch"),
        ("Radeon VII\nollama: could not find the rocm libraries", "gpu-libs-not-found"),
        ("c++: fatal error: Killed signal terminated program cc1plus\nmake: *** Error 1", "host-memory-exhausted"),
        ("nvcc error   : 'cicc' died due to signal 9 (Kill signal)\nBuilding wheel for apex", "host-memory-exhausted"),
        ("Killed\nninja: build stopped: subcommand failed.", "host-memory-exhausted"),
        ("FAILED: [code=137] attention.cuda.o\nninja: build stopped: subcommand failed.", "host-memory-exhausted"),
    ]
)
test_near = names_not(
    [
        ("sh: 1: gfx1100: not found\nfailed to execute: clang++ --offload-arch=gfx90a;gfx1100", ARCH),
        ("bash: line 2: gfx1100: command not found", ARCH),
        ("the wheel has libamdhip64.so.7, the program looks for libamdhip64.so", "gpu-libs-conflict"),
        ("hipcc of ROCm 6.3 on MI250X\ninternal compiler error in pair.cpp", "host-compiler-unsupported"),
        ("RX 7800 XT\nMemory access fault by GPU node-1 on address 0x7f.\nfaster-whisper crashes", ARCH),
        ("nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)", "host-memory-exhausted"),
        (
            "Killed the old server, then started it anew\nninja: build stopped: subcommand failed.",
            "host-memory-exhausted",
        ),
        ("Killed\nthe job of the queue was over its time", "host-memory-exhausted"),
        ("saxpy.cpp:8:23: error: use of undeclared identifier 'hipLaneWidth'", "toolkit-torch-mismatch"),
        ("MI210\nCould not load CUDA library libcuda.so\nloaded OpenCL library libOpenCL.so.1", "gpu-libs-not-found"),
        (
            "MI325X\nRuntimeError: wrong! device_gemm with the specified compilation parameters does not support it",
            "companion-kernel-lib-outdated",
        ),
        ("MI300X\nHIP error: unspecified launch failure\n--disable-cuda-graph works", "known-bad-library-version"),
        (
            "MI250X\nMemory access fault by GPU node-4 on address 0x1.\nsolver 24.04 works, so it does without #88",
            "known-bad-library-version",
        ),
    ]
)
