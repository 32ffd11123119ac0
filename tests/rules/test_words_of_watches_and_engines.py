"""A cause that words alone would raise, beside what a watch, an engine or a system says of itself: and near to it."""

from __future__ import annotations

import pytest

from doctor.diagnosis.registry import checks
from doctor.intake import read_text
from tests.knowledge.texts import SYMPTOMS, keys, names_not, told

CHECKS = {check.rule.id: check for check in checks()}
WAITS = 'level=WARN source=sched.go:646 msg="gpu VRAM usage didn\'t recover within timeout"\n'
CODE = "AcceleratedHardwareReady=False Reason:DCGMHealthCode71\n"
NODE = "[E:onnxruntime:] Non-zero status code returned while running {} node. Name:'n1' Status Message: {}\n"
REUSED = "Shape mismatch attempting to re-use buffer. {1,4} != {2,4}."
ADAPTERS = "bbswitch: Found integrated VGA device 0000:00:02.0: \\_SB_.PCI0.GFX0\n"
WHISPER = "GPU 0: Quadro M2200\nwhisper_model_load:    CUDA0 total size =   147.37 MB\n"
NO_CODE = "CUDA error: no kernel image is available for execution on the device\n"
WINDOWS = "OS: Windows 11\nGPU 0: NVIDIA GeForce GTX 1080\n"
LINUX = "OS: Ubuntu 22.04\nGPU 0: NVIDIA GeForce GTX 1080\n"
CRASH = "Segmentation fault (core dumped)\n"
HEADER = "<kernel>:13:10: fatal error: '{}' file not found\n"
COMPOSE = "$ docker compose up chat-cuda\nno such service: chat-cuda\n"
RETRIED = "NCCL INFO NET/FastSocket : Connected after 17 retries.\n"
NO_XLA = "I tensorflow/compiler/jit/xla_cpu_device.cc:41] Not creating XLA devices, tf_xla_enable_xla_devices not set\n"
MEASURED = (
    "[Warning] [gpu.foundation.plugin] Detected IOMMU is enabled. Running CUDA peer-to-peer validation.\n"
    "[Warning] [gpu.foundation.plugin] CUDA peer-to-peer observed bandwidth: {} GB/s.\n"
)
LACT = "ERROR lact_daemon::server::handler: could not apply settings: io error: Permission denied (os error 13)\n"
MADE = '$ nvidia-ctk cdi generate\nlevel=info msg="Selecting /dev/nvidia0 as /dev/nvidia0"\n'
ASTRAY = "CudaAPIError: [700] Call to cuCtxSynchronize results in UNKNOWN_CUDA_ERROR\n"
NOT_OPENED = "librocm_smi64.so: cannot open shared object file: No such file or directory\n"
BTOP = "INFO: Failed to load librocm_smi64.so, AMD GPUs will not be detected: " + NOT_OPENED

UNHEARD = (
    ("amdgpu-gpu-hang", WAITS),
    ("library-missing-gpu-arch", CODE),
    ("library-missing-gpu-arch", WHISPER + CRASH),
    ("onnxruntime-gpu-mismatch", NODE.format("Add", REUSED)),
    ("integrated-gpu-conflict", ADAPTERS),
    ("integrated-gpu-conflict", CRASH),
    ("memlock-limit-too-low", "Jetson AGX Orin\nFailed to allocate memory\n"),
    ("host-libstdcxx-dev-missing", HEADER.format("inc_types.h")),
    ("container-missing-gpu-passthrough", COMPOSE),
    ("collective-flag-misconfigured", RETRIED),
    ("tensorflow-gpu-mismatch", NO_XLA),
    ("iommu-not-passthrough", MEASURED.format("9.9")),
    ("device-node-permission", LACT),
    ("mig-misconfigured", "MIG is on: unsupported character in float while parsing\n"),
    ("library-missing-gpu-arch", "Tesla K80\nFailed to collect metrics: nvml: Not Supported\n"),
    ("wsl-gpu-misconfigured", "Radeon RX 580\nnot detected on Linux, and works in Windows 10\n"),
    ("gpu-libs-not-found", BTOP + "btop with a GeForce GTX 1080\n"),
    ("cdi-spec-missing-or-stale", MADE + "WARN Could not locate nvidia_layers.json: pattern not found\n"),
    ("container-engine-no-gpu-support", "btop is installed from snap and shows no GPU\n"),
    ("nvidia-fabricmanager-not-running", ASTRAY),
    ("nvidia-fabricmanager-not-running", "OS: Windows 11\nCUDA initialization: unknown error\n"),
    ("library-missing-gpu-arch", "Jetson AGX Thor\njtop: JetPack: MISSING\n"),
    ("library-missing-gpu-arch", "Exception: Error invoking kernel: Invalid error code (700)\n"),
    ("library-missing-gpu-arch", "CUDA Error [ 700 ]: launching kernel\n"),
    ("library-missing-gpu-arch", "CUDA error at k.cu:9 code=700(cudaErrorIllegalAddress)\n"),
    ("nvidia-open-module-unsupported-gpu", WINDOWS),
    ("nvidia-open-module-required", WINDOWS),
    ("nvidia-uvm-missing", WINDOWS),
    ("nvidia-kernel-incompatible", WINDOWS),
    ("nouveau-loaded", WINDOWS),
)
HEARD = (
    ("amdgpu-gpu-hang", WAITS + "the screen freezes and the machine hangs\n"),
    ("library-missing-gpu-arch", CODE + NO_CODE),
    ("library-missing-gpu-arch", WHISPER + NO_CODE + CRASH),
    ("library-missing-gpu-arch", "GPU 0: Quadro M2200\n" + CRASH),
    ("onnxruntime-gpu-mismatch", NODE.format("FusedConv", "CUDNN failure 3000: CUDNN_STATUS_NOT_SUPPORTED")),
    ("integrated-gpu-conflict", ADAPTERS + CRASH + "Radeon RX 6600\n"),
    ("integrated-gpu-conflict", CRASH + "AMD Radeon RX 7800 XT\n"),
    ("memlock-limit-too-low", "GPU 0: NVIDIA A100-SXM4-80GB\nFailed to allocate memory\n"),
    ("memlock-limit-too-low", "Jetson AGX Orin\nibv_reg_mr failed: Cannot allocate memory\n"),
    ("host-libstdcxx-dev-missing", HEADER.format("cmath")),
    ("host-libstdcxx-dev-missing", HEADER.format("stdlib.h")),
    ("host-libstdcxx-dev-missing", HEADER.format("bits/c++config.h")),
    ("container-missing-gpu-passthrough", COMPOSE + "RuntimeError: Found no NVIDIA driver on your system.\n"),
    ("collective-flag-misconfigured", RETRIED + "the job hangs\n"),
    ("tensorflow-gpu-mismatch", NO_XLA + "TensorFlow falls back to the CPU: GPU will not be used\n"),
    ("iommu-not-passthrough", MEASURED.format("0.0")),
    ("gpu-libs-not-found", BTOP + "btop with an RX 7900\n"),
    ("mig-misconfigured", "MIG is on: no CUDA device is found in the pod\n"),
    ("library-missing-gpu-arch", "Tesla K80\nFailed to collect metrics: nvml: Not Supported\n" + NO_CODE),
    ("wsl-gpu-misconfigured", "RX 9070\nlibdxcore.so: not found, no GPU is detected\n"),
    ("wsl-gpu-misconfigured", "Radeon RX 580\nno GPU is detected in WSL 2\n"),
    ("device-node-permission", "Permission denied: the program can not open the render node (os error 13)\n"),
    ("cdi-spec-missing-or-stale", '$ nvidia-ctk cdi generate\nlevel=error msg="failed to create the spec"\n'),
    ("container-engine-no-gpu-support", "docker is installed from snap and shows no GPU\n"),
    ("nvidia-fabricmanager-not-running", ASTRAY + "Error 802: system not yet initialized\n"),
    ("nvidia-fabricmanager-not-running", "OS: Ubuntu 22.04\nCUDA initialization: unknown error\n"),
    ("library-missing-gpu-arch", "Jetson AGX Thor\njtop: JetPack: MISSING\n" + NO_CODE),
    ("iommu-not-passthrough", MEASURED.format("9.9") + "all_reduce hangs on two GPUs\n"),
    ("library-missing-gpu-arch", "Exception: Error invoking kernel: Invalid error code (209)\n"),
    ("nvidia-open-module-unsupported-gpu", LINUX),
    ("nvidia-open-module-required", LINUX),
    ("nvidia-uvm-missing", LINUX),
    ("nvidia-kernel-incompatible", LINUX),
    ("nouveau-loaded", LINUX),
)


@pytest.mark.parametrize(("cause", "text"), UNHEARD)
def test_words_are_not_heard(cause: str, text: str) -> None:
    unheard = CHECKS[cause].unheard
    assert unheard is not None
    assert unheard(read_text([text.encode()]))


@pytest.mark.parametrize(("cause", "text"), HEARD)
def test_near_to_it_they_are(cause: str, text: str) -> None:
    unheard = CHECKS[cause].unheard
    assert unheard is not None
    assert not unheard(read_text([text.encode()]))


ORDINAL = "RuntimeError: CUDA error: invalid device ordinal\n"
GPUS = "$ nvidia-smi -L\n" + "".join(f"GPU {i}: NVIDIA A100-SXM4-40GB\n" for i in range(4))
LISTS = "\n$ env\nCUDA_VISIBLE_DEVICES={}\n\n"
MISSING = 'NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!\n'
LEAK = 'File "/home/ana/.local/lib/python3.10/site-packages/gpustat/nvml.py", line 7, in <module>\nAttributeError: x\n'
UNDER_WSL = "kernel: 5.15.167.4-microsoft-standard-WSL2\n"
NOT_READ = "| N/A   48C    P8     3W /  N/A |    161MiB /  8192MiB |    ERR!      Default |\n"

test_what_speaks_against_it = names_not(
    [
        (GPUS + LISTS.format("0,1,2,3") + ORDINAL, "visible-devices-conflict"),
        (MISSING + "CONFIG_IOMMU_DEFAULT_PASSTHROUGH=y in /boot/config-5.14.0\n", "iommu-not-passthrough"),
        (BTOP + "GPU 0: NVIDIA GeForce RTX 3060\n", "gpu-libs-not-found"),
        (BTOP + "btop with a GeForce GTX 1080\n", "gpu-libs-not-found"),
        (BTOP, "jax-plugin-mismatch"),
        (
            UNDER_WSL + NOT_READ,
            "nvidia-xid-fatal",
        ),
    ]
)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (GPUS + LISTS.format("2,3") + ORDINAL, "visible-devices-conflict"),
        (GPUS + LISTS.format("4,5,6,7") + ORDINAL, "visible-devices-conflict"),
        (GPUS + ORDINAL, "visible-devices-conflict"),
        (MISSING + "CONFIG_IOMMU_DEFAULT_DMA_LAZY=y in /boot/config-5.14.0\n", "iommu-not-passthrough"),
        (MISSING + "# CONFIG_IOMMU_DEFAULT_PASSTHROUGH is not set\n", "iommu-not-passthrough"),
        (BTOP, "gpu-libs-not-found"),
        ("OSError: librocm_smi64.so.7: cannot open shared object file: No such file\n", "gpu-libs-not-found"),
        (NOT_READ, "nvidia-xid-fatal"),
    ],
)
def test_and_where_nothing_does(text: str, cause: str) -> None:
    assert cause in told(text)


def test_an_engine_that_finds_the_memory_too_small_has_found_the_gpu() -> None:
    assert "framework-falls-back-to-cpu" not in keys("not enough vram available, falling back to CPU only")
    assert "framework-falls-back-to-cpu" not in keys("insufficient GPU memory, falling back to CPU")
    assert "framework-falls-back-to-cpu" in keys("no CUDA device found, falling back to CPU only")


def test_a_program_of_the_users_own_folder_shadows_no_environment() -> None:
    program = 'File "/home/ana/.local/bin/gpustat", line 5, in <module>\n'
    for text, leaks in ((LEAK, True), (program + LEAK, False)):
        machine = read_text([text.encode()])
        causes = {cause.rule for cause in SYMPTOMS.causes("user-site-packages-in-traceback", machine)}
        assert ("python-user-site-leak" in causes) is leaks
