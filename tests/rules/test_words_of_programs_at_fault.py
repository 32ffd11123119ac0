"""A cause that words alone would raise, beside lines of programs that speak against it: and where they do not."""

from __future__ import annotations

import pytest

from doctor.diagnosis.registry import checks
from doctor.intake import read_text

CHECKS = {check.rule.id: check for check in checks()}
LLAMA = (
    "ROCm version: 6.3.4\n  Device 0: AMD Radeon Graphics, gfx906:sramecc+:xnack- (0x906), VMM: no\n"
    "  Device 1: AMD Radeon Graphics, {}, VMM: no\n"
)
OFFLOADED = "load_tensors: offloaded 81/81 layers to GPU\n"
NODES = (
    "uid=959(serve) gid=959(serve) groups=959(serve),{}\ncrw-rw---- 1 root render 234,   0 Sep 24 09:11 /dev/kfd\n"
    "/dev/dri:\ncrw-rw---- 1 root render 226, 128 Sep 24 09:11 renderD128\n"
)
INSTALLED = "uv pip install torch==2.7.0 --index-url https://download.pytorch.org/whl/cu128\nGPU 0: NVIDIA L4\n"
SEGMENTS = "GPU 0: NVIDIA L4\nOS: Ubuntu 22.04\ntorch {}\nPYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"
HOST = "RuntimeError: DefaultCPUAllocator: not enough memory: you tried to allocate 10485760 bytes.\n"
CODEC = "GPU 0: NVIDIA T400\n[hevc_nvenc @ 0x5] Loaded Nvenc version 12.2\n"
RENDER = "image: example.org/video:1\n{}devices:\n  - /dev/dri/renderD128:/dev/dri/renderD128\nAMD Radeon RX 6400\n"
COMPOSE = "services:\n  chat:\n    image: {}\n    shm_size: 1g\nGPU 0: NVIDIA L4\n"
PATH = "GPU 0: NVIDIA L4\nLD_LIBRARY_PATH=/usr/local/cuda-{}/lib64:\ntorch 2.4.1+cu121\n"
BUILD = "ModuleNotFoundError: No module named 'pkg_resources'\n"
REMOVED = "No module named 'torchvision.transforms.functional_tensor'\ntorchvision {}\n"
CARDS = (
    "GPU 0: NVIDIA GeForce RTX 3060\nGPU 1: Quadro K620\n    Found GPU1 Quadro K620 which is of cuda capability 5.0.\n"
)
OLLAMA = 'level=INFO source=amd_linux.go:325 msg="unsupported Radeon iGPU detected skipping" id=1\n'
TAKEN = 'level=INFO source=amd_linux.go:402 msg="amdgpu is supported" gpu=GPU-5 gpu_type=gfx1101\n'
PLATFORM = "ROCm platform is not available because: No module named 'amdsmi'\n"
ORDINAL = "torch.AcceleratorError: HIP error: invalid device ordinal\n"
NODES_OF_MODEL = (
    "[W:onnxruntime:] Some nodes were not assigned to the preferred execution providers which may or may not\n"
)

UNHEARD = (
    ("library-missing-gpu-arch", OLLAMA + TAKEN),
    ("amd-gpu-unsupported-by-rocm", OLLAMA + TAKEN),
    ("amdsmi-mismatch", PLATFORM + "Confirmed CUDA platform is available.\n"),
    ("torch-missing-gpu-arch", ORDINAL),
    ("onnxruntime-gpu-mismatch", NODES_OF_MODEL),
    ("integrated-gpu-conflict", LLAMA.format("gfx906:sramecc+") + OFFLOADED),
    ("device-node-permission", NODES.format("486(render)")),
    ("torch-cpu-only-build", INSTALLED),
    ("allocator-flag-unsupported", SEGMENTS.format("2.4.1+cu121")),
    ("gpu-memory-exhausted", HOST),
    ("container-missing-gpu-passthrough", CODEC),
    ("container-missing-gpu-passthrough", "libva info: va_openDriver() returns 0\n"),
    ("container-missing-gpu-passthrough", RENDER.format("privileged: true\n")),
    ("container-missing-gpu-passthrough", COMPOSE.format("mintplexlabs/anythingllm")),
    ("container-missing-gpu-passthrough", COMPOSE.format("ghcr.io/open-webui/open-webui:main")),
    ("library-missing-gpu-arch", 'msg="client connection closed before server finished loading, aborting load"\n'),
    ("gpu-libs-conflict", PATH.format("11.8")),
    ("python-version-unsupported", BUILD),
    ("torch-companion-mismatch", REMOVED.format("0.19.0+cu124")),
    ("torch-missing-gpu-arch", CARDS + "Device: cuda:0 NVIDIA GeForce RTX 3060 : cudaMallocAsync\n"),
)
HEARD = (
    ("library-missing-gpu-arch", OLLAMA),
    ("library-missing-gpu-arch", OLLAMA + TAKEN + "Segmentation fault (core dumped)\n"),
    ("amd-gpu-unsupported-by-rocm", OLLAMA),
    ("amdsmi-mismatch", PLATFORM),
    ("torch-missing-gpu-arch", ORDINAL + "HIP error: invalid device function\n"),
    ("onnxruntime-gpu-mismatch", NODES_OF_MODEL + "libcudnn.so.9: cannot open shared object file\n"),
    ("integrated-gpu-conflict", LLAMA.format("gfx1036") + OFFLOADED),
    ("integrated-gpu-conflict", LLAMA.format("gfx906:sramecc+")),
    ("device-node-permission", NODES.format("485(video)")),
    ("torch-cpu-only-build", INSTALLED + "Torch not compiled with CUDA enabled\n"),
    ("allocator-flag-unsupported", SEGMENTS.format("2.0.1+cu118")),
    ("gpu-memory-exhausted", HOST + "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"),
    ("container-missing-gpu-passthrough", "libva info: va_openDriver() returns -1\n"),
    ("container-missing-gpu-passthrough", CODEC + "CUDA error: no CUDA-capable device is detected\n"),
    ("container-missing-gpu-passthrough", RENDER.format("")),
    ("container-missing-gpu-passthrough", COMPOSE.format("ghcr.io/open-webui/open-webui:ollama")),
    ("container-missing-gpu-passthrough", COMPOSE.format("ghcr.io/open-webui/open-webui:cuda")),
    ("gpu-libs-conflict", PATH.format("11.8") + "Segmentation fault (core dumped)\n"),
    ("gpu-libs-conflict", PATH.format("12.4")),
    ("python-version-unsupported", "Python version: 3.12.3\n" + BUILD),
    ("torch-companion-mismatch", REMOVED.format("0.15.2")),
    ("torch-missing-gpu-arch", CARDS + "Device: cuda:1 Quadro K620 : native\n"),
)


def _unheard(cause: str, text: str) -> bool:
    rule = CHECKS[cause].unheard
    assert rule is not None
    return rule(read_text([text.encode()]))


@pytest.mark.parametrize(("cause", "text"), UNHEARD)
def test_words_say_nothing_of_it(cause: str, text: str) -> None:
    assert _unheard(cause, text)


@pytest.mark.parametrize(("cause", "text"), HEARD)
def test_words_are_heard(cause: str, text: str) -> None:
    assert not _unheard(cause, text)
