"""What is told in a few words of parts that come twice, are absent or stop answering, and what nearly says it."""

from __future__ import annotations

from tests.knowledge.texts import names, names_not

POD = "Container:\n```\nrunning inside a container: yes\ncontainer engine: kubernetes (rke2)\n```\n"
APU = "Agent 2\n*******\n  Name:            gfx1151\n  Vendor Name:             AMD\n  Device Type:             GPU\n"
CARD = APU.replace("gfx1151", "gfx1100")
NVIDIA = "$ nvidia-smi -L\nGPU 0: NVIDIA L40S\n"
ROCM_TORCH = "PyTorch version: 2.3.1+rocm6.0\nROCM used to build PyTorch: 6.0.32830\n"
OWN = "ImportError: /srv/env/lib/python3.11/site-packages/torch/lib/libtorch_python.so: undefined symbol: "
BLACKWELL = "GPU 0: NVIDIA GeForce RTX 5080\nGPU 1: NVIDIA GeForce RTX 5080\nexport NCCL_P2P_DISABLE="
SYSTEM = "system-library-missing"
UNREACHABLE = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
LXC = "Container:\n```\nrunning inside a container: yes\ncontainer engine: LXC\n```\n"
PARTS = "\n\nGPU: AMD Radeon RX 7600\n"
CASES = [
    ("server crashes at startup\nwith its bundled HIP runtime renamed it starts\n" + CARD, "gpu-libs-conflict"),
    ("Segmentation fault\nwith the system's ROCm it works\n" + CARD, "gpu-libs-conflict"),
    ("segfault in libhsa-runtime64.so\nworks with the host's HIP\n" + CARD, "gpu-libs-conflict"),
    ("the cuDNN libraries could not be found", "gpu-libs-not-found"),
    ("Cannot find cuDNN library, the program stops", "gpu-libs-not-found"),
    ("whisper runs on the CPU: cannot find the ROCm libraries", "gpu-libs-not-found"),
    ("discovered ROCm libraries: []", "gpu-libs-not-found"),
    (OWN + "_ZN3c104cuda14ExchangeDeviceEa", "gpu-libs-conflict"),
    (
        "ImportError: /srv/ext/ops.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKSs\n"
        "ls: /usr/lib/x86_64-linux-gnu/libtorch.so.2.1",
        "gpu-libs-conflict",
    ),
    (
        "Found cuBLAS version 120103, but JAX was built against version 120304, which is newer.\n\n"
        "$ pip list\nPackage    Version\n---------- -------\nnvidia-cublas-cu12 12.6.4.1\n",
        "gpu-libs-conflict",
    ),
    ("dockerd does not start\n/usr/bin/nvidia-container-runtime was removed", "container-runtime-not-configured"),
    ("daemon.json names a runtime; nvidia-container-runtime is not there", "container-runtime-not-configured"),
    ("bash: nvidia-smi: command not found\n\n" + POD, "container-runtime-not-configured"),
    ("nvidia-smi is an empty file\n\n" + POD, "container-runtime-not-configured"),
    ("once the virtual machine has been shut down the GPU is gone from nvidia-smi", "gpu-bound-to-other-driver"),
    ("the card is not given back to the host when its VM ends", "gpu-bound-to-other-driver"),
    (APU + "\namdgpu 0000:c5:00.0: amdgpu: MES failed to respond to msg=SUSPEND", "amdgpu-firmware-bad"),
    ("the loss is NaN on the GPU while the CPU converges\n" + CARD, "known-bad-library-version"),
    ("CPU is correct, GPU gives NaN\n" + CARD, "known-bad-library-version"),
    (ROCM_TORCH + "x = torch.ones(8).cuda(); x.sum() prints 0.0, which is wrong", "pcie-atomics-missing"),
    ("no /dev/dri on the host, /dev/kfd is there: the host has no /dev/dri" + PARTS, "amdgpu-driver-not-loaded"),
    ("/sys/class/drm contains only version" + PARTS, "amdgpu-driver-not-loaded"),
    ("training hangs at the first all_reduce over both GPUs\n" + BLACKWELL + "1\n", "known-bad-library-version"),
    (CARD + "Failed to import from vllm._rocm_C: No module named 'vllm._rocm_C'", "vllm-build-mismatch"),
    (
        "perftool: error while loading shared libraries: libpfm.so.4: cannot open shared object file",
        "system-library-missing",
    ),
    ("hwtool: error while loading shared libraries: libamdpython.so: cannot open shared object file", SYSTEM),
    (
        "out of memory while the model loads\nVRAM: 512 MiB\n" + APU.replace("gfx1151", "gfx1035"),
        "apu-memory-pool-misconfigured",
    ),
    (
        "hipErrorOutOfMemory: out of memory\nclinfo: Global memory size 2147483648\n" + APU,
        "apu-memory-pool-misconfigured",
    ),
    ("no GPU in the container\nimage: ROCm 6.4\nhost: amdgpu-dkms of ROCm 5.7" + PARTS, "amdgpu-rocm-version-skew"),
    (UNREACHABLE + "nvidia-driver-535 was installed inside the container\n\n" + LXC, "nvidia-driver-library-mismatch"),
    (CARD + "LLVM ERROR: stack frame size (262156) exceeds limit (131056)", "library-missing-gpu-arch"),
]
NEARLY = [
    ("the bundled examples were removed, the server runs\n" + CARD, "gpu-libs-conflict"),
    ("CPU libraries: [openblas]", "gpu-libs-not-found"),
    ('level=INFO source=gpu.go:237 msg="Discovered GPU libraries: []"', "gpu-libs-not-found"),
    ("all CUDA libraries are found", "gpu-libs-not-found"),
    ("ImportError: /srv/ext/ops.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKSs", "gpu-libs-conflict"),
    ("built against /usr/lib/x86_64-linux-gnu/libtorch.so.2.1", "gpu-libs-conflict"),
    (
        "Found cuBLAS version 120103, but JAX was built against version 120304, which is newer.\n\n"
        "$ pip list\nPackage    Version\n---------- -------\nnvidia-cublas-cu12 12.1.3.1\n",
        "gpu-libs-conflict",
    ),
    ("nvidia-container-runtime is installed and configured", "container-runtime-not-configured"),
    ("bash: nvidia-smi: command not found", "container-runtime-not-configured"),
    ("after the virtual machine was shut down the GPU came back to the host", "gpu-bound-to-other-driver"),
    (CARD + "\namdgpu 0000:c5:00.0: amdgpu: MES failed to respond to msg=SUSPEND", "amdgpu-firmware-bad"),
    ("the loss is NaN on the GPU and on the CPU\n" + CARD, "known-bad-library-version"),
    (NVIDIA + "x = torch.ones(8).cuda(); x.sum() prints 0.0, which is wrong", "pcie-atomics-missing"),
    ("/dev/dri is missing in the container" + PARTS, "amdgpu-kernel-or-os-unsupported"),
    ("training hangs at the first all_reduce over both GPUs\n" + BLACKWELL + "0\n", "known-bad-library-version"),
    (NVIDIA + "Failed to import from vllm._rocm_C: No module named 'vllm._rocm_C'", "vllm-build-mismatch"),
    (NVIDIA + "Failed to import from amdsmi: No module named 'amdsmi'", "amdsmi-mismatch"),
    ("bench: error while loading shared libraries: librocblas.so.5: cannot open shared object file", SYSTEM),
    ("bench: error while loading shared libraries: libcudnn.so.9: cannot open shared object file", SYSTEM),
    (
        'time=2026-11-22 level=INFO msg="Unable to load CUDA library libcuda.so: driver init failure"',
        "gpu-libs-not-found",
    ),
    ("could not load the cuDNN library; training works all the same", "gpu-libs-not-found"),
    ("VRAM: 512 MiB\n" + APU, "apu-memory-pool-misconfigured"),
    ('out of memory\n"VRAM Size": 536870912,\n' + APU, "apu-memory-pool-misconfigured"),
    ("VRAM: 2 GiB\n" + CARD, "apu-memory-pool-misconfigured"),
    ("no GPU in the container\nimage: ROCm 6.4" + PARTS, "amdgpu-rocm-version-skew"),
    (
        UNREACHABLE + "the driver was installed inside the container with --no-kernel-module\n\n" + LXC,
        "nvidia-driver-library-mismatch",
    ),
    (NVIDIA + "LLVM ERROR: stack frame size (262156) exceeds limit (131056)", "library-missing-gpu-arch"),
    (UNREACHABLE + "nvidia-driver-535 was installed inside the container", "nvidia-driver-library-mismatch"),
    (UNREACHABLE + "Driver Version: 550.90.07\n\n" + LXC, "nvidia-driver-library-mismatch"),
]


test_it_is_told = names(CASES)
test_what_nearly_says_it = names_not(NEARLY)


test_a_library_that_a_configuration_does_without_is_not_missed = names_not(
    [
        ("  Caffe2: Cannot find cuDNN library. Turning the option off", "gpu-libs-not-found"),
        ("-- Could not find NCCL library, distributed support disabled", "gpu-libs-not-found"),
        ("-- Could NOT find CUDA library (missing: CUDA_CUDART_LIBRARY)", "gpu-libs-not-found"),
    ]
)
