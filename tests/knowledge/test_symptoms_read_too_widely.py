"""Lines near to those of a symptom that tell of something else: each beside one that shows it."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys

NEAR = [
    (
        "another-version-works-told",
        "x.shape == torch.Size([16384, 1024])  # works",
        "with torch 2.5 the same script works",
    ),
    (
        "another-version-works-told",
        "the server crashes with Vulkan and with ROCm works",
        "the server crashes with ROCm 7.1 and with ROCm 6.3 works",
    ),
    ("another-version-works-told", "Vulkan crashes, the ROCm backend works", "the backend of ROCm 6.3 works"),
    ("eager-mode-cures-told", "no longer works with --enforce-eager", "works with --enforce-eager"),
    ("eager-mode-cures-told", "the same fault in eager mode", "in eager mode it runs"),
    ("eager-mode-cures-told", "CUDA graphs captured, works", "works without CUDA graphs"),
    ("gsp-boot-failed", "NVRM: GFW_BOOT took 4 ms", "NVRM kgspWaitForGfwBootOk_TU102: failed to wait for GFW_BOOT"),
    ("amdgpu-ring-timeout", "GPU core dump failed", "HW Exception by GPU node-1 reason :GPU Hang"),
    (
        "nan-on-gpu-not-on-cpu-told",
        "nan at step 1 on the GPU; on CPU step 1 is fine, nan at step 3",
        "nan at step 1 on the GPU; on CPU it is fine",
    ),
    ("ctranslate2-on-amd-told", "whisperx 3.3.1", "whisperx does not use the GPU"),
    ("ctranslate2-on-amd-told", "faster-whisper==1.1.0", "faster-whisper on my Radeon"),
    ("rank-raised-told", "12: RuntimeError: NCCL error", "12: AssertionError: /scratch/data"),
    ("build-command-failed", "Fra:1 Mem:4410.4M (Peak 5044.1M) | Building BVH", "Building wheel for apex fails"),
    (
        "speed-or-heat-told",
        "Unless you supply more work, your cracking speed will drop.",
        "the clocks drop after a minute",
    ),
    ("crash-in-own-source-told", "#0  f (n=1) at /usr/src/hip.cpp:3", "#0  f (n=1) at csrc/knn.cpp:33"),
    (
        "user-site-in-what-fails-told",
        "bin /home/ada/.local/lib/python3.9/site-packages/bitsandbytes/libbitsandbytes_cuda118.so",
        "OSError: /home/ada/.local/lib/python3.9/site-packages/bitsandbytes/libbitsandbytes_cuda118.so: not found",
    ),
    (
        "crash-in-own-source-told",
        "0x00007f7b80a03f1d in f () from /opt/rocm/lib/libamdhip64.so",
        "0x0000000000403b1c in advect_ (t=...) at ocean.f90:411",
    ),
    ("some-shapes-work-told", "x.shape == torch.Size([4, 1000])  # faults", "torch.Size([4, 1024])  # works"),
    (
        "wheel-libhsa-under-wsl",
        "libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by venv/torch/lib/libhsa-runtime64.so)",
        "venv/torch/lib/libhsa-runtime64.so",
    ),
    ("glibc-asked-for-told", "librocfft.so needs GLIBCXX_3.4.30", "the wheel needs glibc 2.34"),
    (
        "wsl-librocdxg",
        "OSError: GLIBCXX_3.4.32 not found while loading librocdxg.so",
        "OSError: librocdxg.so: cannot open shared object file: No such file or directory",
    ),
    (
        "aotriton-refuses",
        "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1 python serve.py",
        "RuntimeError: AOTriton attention is experimental on this GPU",
    ),
    (
        "system-library-not-found",
        "python3: libpython3.12.so.1.0: cannot open shared object file: Permission denied",
        "python3: libpython3.12.so.1.0: cannot open shared object file: No such file or directory",
    ),
    (
        "some-system-library-missing",
        "ImportError: libsnd.so.1: cannot open shared object file: Permission denied",
        "ImportError: libsnd.so.1: cannot open shared object file: No such file or directory",
    ),
    (
        "gsp-boot-failed",
        "NVRM: GFW_BOOT progress 0xff",
        "NVRM: gpuWaitForGfwBootComplete_TU102: failed to wait for GFW_BOOT: (progress 0x1)",
    ),
    ("user-error-nan-without-gpu-too", "same on CPU: no NaN", "same on Platform Reference: NaN at step 61"),
    ("user-error-nan-without-gpu-too", "NaN on the GPU, the CPU is right", "NaN at step 3, the same on the CPU"),
    ("values-wrong-said", "/usr/lib/libnvidia-ml.so.535.1: wrong ELF class: ELFCLASS32", "the second value is wrong"),
    ("kernel-regression-told", "bf16 GEMM kernel regression since ROCm 7.1", "amdgpu: a kernel regression since 6.17"),
    ("kernel-regression-told", "regression in the attention kernel", "a regression of the new kernel"),
    ("torch-hip-none-printed", "    if torch.version.hip is None:  # CUDA", "torch.version.hip is None here"),
    ("torch-cuda-build-told-on-amd", "    elif torch.version.hip is None:", "torch.version.hip: None"),
    (
        "arch-told-to-have-no-kernels",
        "the nccl library may be corrupted or does not support the current platform Linux-6.8.0-x86_64-with-glibc2.35",
        "fp8 attention is not supported on this platform",
    ),
    (
        "vllm-wheel-of-pypi-told",
        "vllm-0.22.1+rocm722-cp312-cp312-manylinux_2_34_x86_64.whl",
        "Downloading vllm-0.10.2-cp38-abi3-manylinux1_x86_64.whl (413.5 MB)",
    ),
]


@pytest.mark.parametrize(("key", "near", "shows"), NEAR)
def test_a_line_that_is_near(key: str, near: str, shows: str) -> None:
    assert key not in keys(near)
    assert key in keys(shows)
