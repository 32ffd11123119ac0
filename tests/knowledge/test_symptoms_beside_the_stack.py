"""Notices of programs, and of facts that are true and harm nothing: the text is of another trouble."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, names_not, raised

PROBE = (
    "2024-08-19 09:40: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic library"
    " 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file: No such file or directory\n"
    "2024-08-19 09:40: I tensorflow/stream_executor/cuda/cuda_diagnostics.cc:156] kernel driver does not appear to be"
    " running on this host (nas): /proc/driver/nvidia/version does not exist\n"
)
REMOVED = "ModuleNotFoundError: No module named 'torchvision.transforms.functional_tensor'\n"
PATH = "GPU 0: NVIDIA L4\nLD_LIBRARY_PATH=/usr/local/cuda-11.8/lib64:\ntorch 2.4.1+cu121\n"
CARDS = (
    "GPU 0: NVIDIA GeForce RTX 3060\nGPU 1: Quadro K620\npytorch version: 2.7.0+cu128\n"
    "    Found GPU1 Quadro K620 which is of cuda capability 5.0.\n"
    "    PyTorch no longer supports this GPU because it is too old.\n"
)
TOOLKIT = "GPU 0: NVIDIA L4\nollama: Cannot connect to host 10.0.0.2:11434\ncontainer toolkit version: {}\n"
RADEON = "GPU: AMD Radeon RX 7900 XTX\n"
TUNES = "torch 2.6.0+rocm6.2.4\n$ env\nPYTORCH_TUNABLEOP_ENABLED=1\n"
FAULT = "Memory access fault by GPU node-1 on address 0x7f. Reason: Page not present\n"
MI50 = "ROCm version: 6.3.4\n  Device 0: AMD Radeon Graphics, gfx906:sramecc+:xnack- (0x906), VMM: no\n"
OLDER = "ROCm version: 5.7.1\nOS: Ubuntu 22.04.5\nollama: Cannot connect to host 10.0.0.2:11434\n"
CHAT = "GPU 0: NVIDIA L4\n$ docker run -d -p 3001:3001 {}\nCUDA error: no CUDA-capable device is detected\n"
IMPORTED = (
    '  File "/srv/venv/lib/python3.10/site-packages/abcsr/data.py", line 8, in <module>\n'
    "    from torchvision.transforms.functional_tensor import rgb_to_grayscale\n"
)
VLLM = "DEBUG [__init__.py:85] ROCm platform is not available because: No module named 'amdsmi'\n"
LOADER = (
    "W dso_loader.cc:64] Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open"
    " shared object file: No such file or directory\nI tensorflow/stream_executor/cuda/cudart_stub.cc:29] Ignore\n"
)
TOOLS = "{}\ntorch 2.3.1+cu121, torch.cuda.is_available() True\n"
FP8 = "RuntimeError: Float8_e4m3fn is only supported for gfx950 and gfx12xx\n"
COMPOSE = "GPU 0: NVIDIA L4\nservices:\n  ml:\n    image: example.org/ml:1\n{}no CUDA-capable device is detected\n"

test_it_is_named = names(
    (
        ("GPU 0: NVIDIA L4\n" + PROBE, "nvidia-driver-not-loaded"),
        ("Radeon RX 6800\ntensorflow 2.9.0\n" + PROBE, "tensorflow-gpu-mismatch"),
        (
            "Radeon RX 6800\nImportError: libcudart.so.12: cannot open shared object file",
            "torch-built-for-other-vendor",
        ),
        (REMOVED, "torch-companion-mismatch"),
        (REMOVED + "torchvision 0.15.2\n", "torch-companion-mismatch"),
        (IMPORTED + REMOVED + "torchvision 0.15.2\n", "torch-companion-mismatch"),
        (VLLM, "amdsmi-mismatch"),
        (VLLM + "AMD Instinct MI300X\nAutomatically detected platform cpu\n", "amdsmi-mismatch"),
        ("ThinkPad, Intel UHD Graphics 620\n" + LOADER, "gpu-libs-not-found"),
        ("Intel UHD Graphics 620 only for the display, GeForce MX150\n" + LOADER, "gpu-libs-not-found"),
        (TOOLS.format("nvcc: release 11.8, V11.8.89\nnvcc: error: no input files"), "toolkit-torch-mismatch"),
        (PATH + "Segmentation fault (core dumped)\n", "gpu-libs-conflict"),
        (CARDS, "torch-missing-gpu-arch"),
        (CARDS + "Device: cuda:1 Quadro K620 : native\n", "torch-missing-gpu-arch"),
        (f"{TUNES}{RADEON}{FAULT}", "tunableop-misconfigured"),
        ("fixed by HSA_OVERRIDE_GFX_VERSION=11.0.0", "torch-missing-gpu-arch"),
        ("gfx1201: No supported devices found. gfx1201 not supported", "library-missing-gpu-arch"),
        (CHAT.format("example.org/train:2"), "container-missing-gpu-passthrough"),
        (COMPOSE.format("    shm_size: 1g\n"), "container-missing-gpu-passthrough"),
    )
)

test_it_is_not_named = names_not(
    (
        ("AMD Opteron X3216 APU, Radeon R5\n" + PROBE, "nvidia-driver-not-loaded"),
        ("AMD Opteron X3216 APU, Radeon R5\n" + PROBE, "torch-built-for-other-vendor"),
        ('Radeon R5\nSettings: "Use GPU" off\n' + PROBE, "tensorflow-gpu-mismatch"),
        ('Radeon R5\nSettings: "Use GPU" off\n' + PROBE, "gpu-libs-not-found"),
        ("GPU 0: NVIDIA L4\nuse_gpu=False\n" + PROBE, "nvidia-driver-not-loaded"),
        (REMOVED + "torchvision 0.19.0+cu124\n", "torch-companion-mismatch"),
        (IMPORTED + REMOVED, "torch-companion-mismatch"),
        (VLLM + "DEBUG [__init__.py:58] Confirmed CUDA platform is available.\n", "amdsmi-mismatch"),
        (VLLM + "INFO [__init__.py:243] Automatically detected platform cuda.\n", "amdsmi-mismatch"),
        ("ThinkPad, Intel UHD Graphics 620 only\n" + LOADER, "gpu-libs-not-found"),
        ("The laptop has only an Intel HD Graphics chip\n" + LOADER, "tensorflow-gpu-mismatch"),
        (TOOLS.format("nvcc: release 11.8, V11.8.89"), "toolkit-torch-mismatch"),
        (FP8 + "MI300X\n", "library-missing-gpu-arch"),
        (PATH, "gpu-libs-conflict"),
        (CARDS + "Device: cuda:0 NVIDIA GeForce RTX 3060 : cudaMallocAsync\n", "torch-missing-gpu-arch"),
        (TOOLKIT.format("1.16.2"), "container-toolkit-too-old"),
        (TOOLKIT.format("1.17.4"), "container-toolkit-too-old"),
        (f"{TUNES}{RADEON}TypeError: Cannot handle this data type: (1, 1, 768), |u1\n", "tunableop-misconfigured"),
        ("DEBUG    ROCm: HSA_OVERRIDE_GFX_VERSION=11.0.0 detected in environment", "torch-missing-gpu-arch"),
        (
            '[2025-08-05][INFO] ROCm llama.cpp (Windows): "No supported devices found. gfx1201 not in [gfx1030]"',
            "library-missing-gpu-arch",
        ),
        (MI50 + "load_tensors: offloaded 81/81 layers to GPU\n", "amd-gpu-unsupported-by-rocm"),
        (OLDER + "  Name:                    gfx1030\n", "amdgpu-kernel-or-os-unsupported"),
        (CHAT.format("mintplexlabs/anythingllm"), "container-missing-gpu-passthrough"),
        (
            COMPOSE.format("    extends:\n      file: hwaccel.yml\n      service: cuda\n"),
            "container-missing-gpu-passthrough",
        ),
        (
            "AMD arch: gfx1151\npytorch version: 2.10.0a0+rocm7.11.0a20251217\nROCm version: (7, 2)\n",
            "amd-gpu-unsupported-by-rocm",
        ),
    )
)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("Intel UHD 770 (iGPU, disabled for transcode)", False),
        ("the integrated GPU (disabled in the BIOS) is no matter", False),
        ("since the iGPU got disabled it runs", True),
    ],
)
def test_a_gpu_that_is_off_is_no_remedy(line: str, shown: bool) -> None:
    assert ("igpu-off-helps" in keys(line)) is shown


def test_a_program_told_to_leave_the_gpu_alone_is_left_alone() -> None:
    assert raised('AMD Opteron X3216 APU, Radeon R5\nSettings: "Use GPU" off\n' + PROBE) == []


@pytest.mark.parametrize("line", ["Use GPU: False", "use_gpu=True", "cannot use GPU; offline"])
def test_what_a_program_found_out_is_no_setting(line: str) -> None:
    assert "gpu-use-off-told" not in keys(line)


def test_a_platform_that_was_tried_tells_of_no_gpu() -> None:
    assert not {"amd-gpu-told", "amdgpu-driver-named"} & keys(VLLM.strip())
    assert {"amd-gpu-told", "amdgpu-driver-named"} <= keys("ROCm 6.4 does not see the GPU")


def test_a_program_that_counts_its_gpus_tells_of_no_partition() -> None:
    line = "torch.cuda.device_count() is 1"
    assert "mig-one-device-seen" in keys(f"two MIG instances, {line}")
    assert "mig-one-device-seen" not in keys(f"Attempting to deserialize object on CUDA device 3 but {line}.")
