"""Texts whose error names one cause and whose facts show the one behind it: that one is named first."""

from __future__ import annotations

import pytest

from doctor.intake import read_text
from tests.knowledge.texts import names, names_not, told

GFX1031 = "GPU: AMD Radeon RX 6700 XT (gfx1031)\nROCm version: 6.1.3\n"
NO_KERNELS = (
    "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: No such file or directory for GPU"
    " arch : gfx1031\n"
)
FA3 = (
    "ERROR [fa_utils.py:57] Cannot use FA version 3 is not supported due to FA3 is only supported on devices with"
    " compute capability\n"
)
AITER = "RuntimeError: Get GPU arch from rocminfo failed \"Unknown GPU architecture: gfx1201. Supported: ['gfx942']\"\n"
GFX1103 = (
    "05:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Phoenix1 [1002:15bf] (rev c4)\n"
)
HANG = "HW Exception by GPU node-1 (Agent handle: 0x55d0c0) reason :GPU Hang\n"
HOME_TORCH = (
    '  File "/users/u/.local/lib/python3.10/site-packages/torch/cuda/__init__.py", line 298, in _lazy_init\n'
    "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU\n"
    "GPU: AMD Instinct MI250X\n"
)
OOM = (
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate {asked} GiB. GPU 0 has a total capacity of 19.98 GiB"
    " of which 612.00 MiB is free. Of the allocated memory 13.20 GiB is allocated by PyTorch, and 5.71 GiB is reserved"
    " by PyTorch but unallocated.\n"
    "UserWarning: expandable_segments not supported on this platform (function operator())\n"
    "export PYTORCH_HIP_ALLOC_CONF=expandable_segments:True\ntorch 2.5.1+rocm6.2\n"
)
VOID = "container engine: kubernetes\n$ kubectl exec pod-1 -- env | grep NVIDIA\nNVIDIA_VISIBLE_DEVICES=void\n"
NO_CUDA = "RuntimeError: No CUDA GPUs are available\n"
SLOW = "decode dropped from 41 to 11 tokens/s since last week\nGPU: AMD Instinct MI210\nROCm version: 6.1.2\n"
LOST = (
    "Failed to initialize NVML: Unknown Error\n"
    '# strace nvidia-smi\nopenat(AT_FDCWD, "/dev/nvidiactl", O_RDWR) = -1 EPERM (Operation not permitted)\n'
    "running inside a container: yes\n{line}\ndocker restart lab brings it back for a day\n"
)
MODULES = "$ lsmod | grep ^nvidia\nnvidia_modeset 1605632 24 -\nnvidia 60358656 410 nvidia_modeset\n{more}"
INIT_999 = 'msg="unable to load cuda driver library" error="cuda driver library init failure: 999"\n'

SMI = (
    "| NVIDIA-SMI 530.41.03    Driver Version: 530.41.03    CUDA Version: 12.1     |\n"
    "|   0  NVIDIA GeForce RTX 3080     Off| 00000000:0B:00.0  On |                  N/A |\n"
    "|  0%   58C    P2              101W / 320W|   {used}MiB / 10240MiB |      3%      Default |\n"
)
NO_HANDLE = "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`\n"
TWO_CARDS = (
    "0a:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA102 [GeForce RTX 3090] [10de:2204] (rev a1)\n"
    "\tKernel driver in use: nvidia\n"
    "0b:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA102 [GeForce RTX 3090] [10de:2204] (rev a1)\n"
    "\tKernel driver in use: vfio-pci\n"
)
TOO_MANY_RANKS = "ValueError: tensor parallel size (2) is larger than the number of available GPUs (1)\n"
NO_CUDNN = "Could not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file\n"
MANAGER = (
    "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized\n"
    "$ nvidia-smi --query-gpu=name,driver_version --format=csv,noheader\nNVIDIA H100 80GB HBM3, 550.127.05\n"
    "nvidia-fabricmanager.service loaded failed failed NVIDIA fabric manager service\n"
    "ii  nvidia-fabricmanager-550   550.90.07-0ubuntu0.22.04.1\n"
)
NO_FUNCTION = (
    'RuntimeError: HIP error: invalid device function\n  File "bitsandbytes/functional.py", line 1287, in quantize\n'
)
ARCHS = (
    "```\n$ rocminfo\nAgent 2\n  Name:                    gfx1030\n  Device Type:             GPU\n```\n"
    "$ pip list | grep -i bits\nbitsandbytes 0.44.1\n\ntorch 2.5.1+rocm6.2\n"
    ">>> torch.cuda.get_arch_list()\n['gfx906', '{arch}']\n"
)
TUNES = "GPU: gfx942 MI300X\nROCm 6.2\nexport PYTORCH_TUNABLEOP_ENABLED=1\n"
UVM = (
    "$ nvidia-smi -L\nGPU 0: GeForce RTX 2070 (UUID: GPU-8a3d)\n"
    "nvidia_uvm: Unknown symbol radix_tree_preloads (err -2)\n"
)
MI50 = "0b:00.0 Display controller [0380]: AMD/ATI Vega 20 [Radeon Instinct MI50 32GB] [1002:66a1] (rev 06)\n"
IDS = "$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz ro quiet iommu=pt vfio-pci.ids={}\n"
NO_AGENT = "rocminfo shows only the CPU agent, rocm-smi: no AMD GPUs specified\n"
FLASHMLA = "ValueError: Selected backend FLASHMLA is not valid. Reason: FlashMLA is only supported on Hopper devices.\n"
OLLAMA = 'level=WARN msg="amdgpu is not supported" gpu=0 gpu_type=gfx1032\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\n'
NONE_FOUND = "$ nvidia-smi\nNo devices were found\n"
GRACE = (
    "$ lspci\n0009:01:00.0 3D controller: NVIDIA Corporation GH100 [GH200 120GB / 480GB] (rev a1)\n"
    "$ modinfo nvidia | grep license\nlicense:        {}\n"
)
WSL_RPC = (
    "nvidia-container-cli: initialization error: driver error: failed to process request: unknown\n"
    "Kernel: 5.10.16.3-microsoft-standard-WSL2\nlibnvidia-container1: {}\n"
)
NVRM_BOUND = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    "01:00.0 VGA compatible controller: NVIDIA Corporation AD102 [GeForce RTX 4090]\n"
    "[   12.1] NVRM: GPU 0000:{}:00.0 is already bound to vfio-pci.\n"
)
OF_V1 = (
    "Failed to initialize NVML: Insufficient Permissions\nOS: Proxmox VE {pve}\nrunning inside a container: yes\n"
    "container engine: lxc\nlxc.{key}.devices.allow: c 195:* rwm\n"
)
DRIFT = (
    "cuInit: CUDA_ERROR_UNKNOWN (999)\nGPU 0: NVIDIA A10\nrunning inside a container: yes\n"
    "host:      crw-rw-rw- 1 root root {}, 0 /dev/nvidia-uvm\n"
    "/etc/cdi/nvidia.yaml: - path: /dev/nvidia-uvm  major: 507\n"
)
POD = (
    "Unable to open /dev/kfd read-write: No such file or directory\nGPU: AMD Instinct MI210\n"
    "running inside a container: yes\ncontainer engine: kubernetes\npod: Limits: cpu 4, memory 32Gi{}\n"
)
ADA = "RTX 4090 gives 9 it/s, {}\nGPU 0: NVIDIA GeForce RTX 4090\nPyTorch version: {}\nIs CUDA available: True\n"
TWO_GPUS = "GPU 0: NVIDIA GeForce RTX 4090\nGPU 1: NVIDIA GeForce RTX 4090\n"
PASSED_OVER = 'msg="unsupported Radeon iGPU detected skipping" id=0 total="512.0 MiB"\n'
IN_USE = 'level=INFO msg="inference compute" id=GPU-e1e3d16d library=cuda name="NVIDIA GeForce RTX 4060"\n'
FAULT = "Memory access fault by GPU node-1 (Agent handle: 0x5581ac0) on address 0x7f2a. Reason: Page not present\n"
KFD_NO_MEMORY = "ROCk module is loaded\nUnable to open /dev/kfd read-write: Cannot allocate memory\n"
DKMS = (
    "Kernel: 5.15.0-91-generic\nROCm version: 5.7\n$ dkms status\namdgpu, 6.2.4-1683306, {kernel}, x86_64: installed\n"
)
HAWAII = (
    "01:00.0 VGA compatible controller [0300]: AMD/ATI Hawaii XT [Radeon R9 290X] [1002:67b0]\n\n"
    "rocminfo: only the CPU agent\nROCm version: 3.3\n\n```\n\tKernel driver in use: {driver}\n```\n"
)
TWO_PROS = (
    "$ lspci -nnk -d 1002:\n05:00.0 VGA compatible controller [0300]: [1002:7448]\n\tKernel driver in use: amdgpu\n"
    "86:00.0 VGA compatible controller [0300]: [1002:7448]\n\tKernel driver in use: pci-stub\n"
)
HELD = (
    "41:00.0 Display controller [0380]: Advanced Micro Devices, Inc. [AMD/ATI] Vega 20 [1002:66a1] (rev 06)\n"
    "\tKernel driver in use: vfio-pci\nROCm version: 6.0.2\nRuntimeError: No HIP GPUs are available\n"
)
NO_SYMBOL = "OSError: /opt/rocm-6.0.2/lib/libhipblas.so.2: undefined symbol: rocblas_dgemm_64\n"
PATH_6_0 = "ROCm version: 6.0.2\nLD_LIBRARY_PATH=/opt/rocm-6.0.2/lib\n"
NO_HIP_6 = (
    "ImportError: libamdhip64.so.6: cannot open shared object file: No such file or directory\nROCm version: 7.0.2\n"
    "python3-torch 2.7.1, HIP {hip}\n"
)
HIP_OOM = "RuntimeError: HIP error: out of memory\nGPU: AMD Instinct MI250\n"
OLD_DKMS = "running inside a container: yes\nROCm version: 6.3\nDriver version: {number}\n"
NO_OPENCL = "clGetDeviceIDs(-1)\nGPU: Radeon VII\nROCm version: 5.1\nrunning inside a container: yes\n"
MES = "amdgpu 0000:c4:00.0: amdgpu: MES failed to respond to msg=ADD_QUEUE\nGPU: gfx1151\nKernel: 6.14.0-27-generic\n"
RUNS_ON = "Segmentation fault (core dumped)\nGPU: AMD Radeon RX 6800 XT (gfx1030)\nKernel: 6.14.4\n"
VAE = "VAE decode takes {time}\nGPU: AMD Radeon RX 9070 XT (gfx1201)\ntorch 2.7.1+rocm6.3\n"
WORKSPACE = (
    "MIOpen(HIP): Warning [IsEnoughWorkspace] [EvaluateInvokers] Solver <GemmFwdRest>, workspace required: 64225280,"
    " provided ptr: 0 size: 0\n"
)
NO_COMPILER = "/bin/sh: line 1: bin/hipcc: No such file or directory\nROCm version: 6.0\n"
SMALL_IGPU = 'msg="unsupported Radeon iGPU detected skipping" id=0 total="{size}"\nGPU: AMD Radeon 780M (gfx1103)\n'


test_a_machine_of_amd_has_it_named_first = names(
    [
        (KFD_NO_MEMORY + DKMS.format(kernel="5.13.0-52-generic"), "amdgpu-rocm-version-skew"),
        (HAWAII.format(driver="radeon"), "gpu-bound-to-other-driver"),
        ("torch.cuda.device_count() is 1, there are two W7900 in it\n" + TWO_PROS, "gpu-bound-to-other-driver"),
        (HELD, "gpu-bound-to-other-driver"),
        (NO_SYMBOL + PATH_6_0 + "torch 2.4.1+rocm6.1\n", "torch-rocm-version-mismatch"),
        (NO_HIP_6.format(hip="6.3.42134"), "torch-rocm-version-mismatch"),
        (HIP_OOM + OLD_DKMS.format(number="5.18.2.22.40"), "amdgpu-rocm-version-skew"),
        (
            HIP_OOM + "rocm-smi shows 0 % used\nhost: amdgpu driver of ROCm 5.4 (5.18.13)\nROCm version: 6.4\n",
            "amdgpu-rocm-version-skew",
        ),
        (NO_OPENCL + "the image with tag rocm-4.3: 1 device\n", "amdgpu-rocm-version-skew"),
        (NO_OPENCL + "the ROCm 4.3 image of the same repository works\n", "amdgpu-rocm-version-skew"),
        (MES + "newest linux-firmware: no change\n", "amdgpu-driver-known-bad"),
        (RUNS_ON + "6.13.8: works\n", "amdgpu-driver-known-bad"),
        (RUNS_ON + "it ran for weeks after booting 6.12\n", "amdgpu-driver-known-bad"),
        (VAE.format(time="80 s") + WORKSPACE, "known-bad-library-version"),
        (NO_COMPILER, "rocm-path-broken"),
        ("the build stops\nnvcc = bin/hipcc\nROCm version: 6.0\n", "rocm-path-broken"),
        (SMALL_IGPU.format(size="512.0 MiB"), "apu-memory-pool-misconfigured"),
    ],
    first=True,
)
test_a_machine_of_amd_does_not_have_it_named = names_not(
    [
        (KFD_NO_MEMORY + DKMS.format(kernel="5.15.0-91-generic"), "amdgpu-rocm-version-skew"),
        (
            DKMS.format(kernel="5.13.0-52-generic"),
            "amdgpu-rocm-version-skew",
        ),  # the kernel's own serves, and nothing fails
        (HAWAII.format(driver="amdgpu"), "gpu-bound-to-other-driver"),
        ("torch.cuda.device_count() is 1\n" + TWO_PROS, "gpu-bound-to-other-driver"),
        (HELD, "amd-gpu-unsupported-by-rocm"),
        (NO_SYMBOL + PATH_6_0 + "torch 2.3.1+rocm6.0\n", "torch-rocm-version-mismatch"),
        (NO_HIP_6.format(hip="6.3.42134").replace("python3-torch", "blender"), "torch-rocm-version-mismatch"),
        (HIP_OOM + OLD_DKMS.format(number="24.20.1"), "amdgpu-rocm-version-skew"),  # a number of Windows' driver
        (HIP_OOM + "0 of 64 GB in use\n", "gpu-memory-exhausted"),
        (NO_OPENCL + "the image with tag rocm-4.3: no device either\n", "amdgpu-rocm-version-skew"),
        (MES + "newest linux-firmware: no change\n", "amdgpu-firmware-bad"),
        (RUNS_ON + "6.4.1: works\n", "amdgpu-driver-known-bad"),  # a release of ROCm has such numbers too
        (RUNS_ON + "it still crashes after booting 6.12\n", "amdgpu-driver-known-bad"),
        (VAE.format(time="80 s") + WORKSPACE, "hipblaslt-not-selected"),
        (VAE.format(time="2 s") + WORKSPACE, "known-bad-library-version"),
        ("nvcc = /opt/rocm/bin/hipcc\nROCm version: 6.0\n", "rocm-path-broken"),
        (SMALL_IGPU.format(size="2.0 GiB"), "apu-memory-pool-misconfigured"),
    ]
)
test_full_memory_is_named_all_the_same = names(
    [
        (HIP_OOM + "rocm-smi shows 97 % used\n", "gpu-memory-exhausted"),
        (
            "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 9.5 GiB\n0 of 64 GB in use\n",
            "gpu-memory-exhausted",
        ),
        (MES + "GPU: gfx1151\n", "amdgpu-firmware-bad"),
    ]
)


def test_what_a_line_says_of_two_things_is_read_as_two() -> None:
    machine = read_text([b"OS: Arch Linux, kernel 6.16.10-arch1-1\nROCm version: 7.0.1\n"])
    assert (machine.kernel.release, machine.os.name, machine.os.version) == ("6.16.10-arch1-1", "Arch Linux", None)
    assert read_text([b"OS: Ubuntu 22.04, kernel unknown\n"]).kernel.release is None


def test_packages_of_a_distribution_tell_of_torch() -> None:
    machine = read_text([b"$ pacman -Q python-pytorch-opt-rocm\npython-pytorch-opt-rocm 2.8.0-4\n"])
    assert (machine.torch.version, machine.torch.build) == ("2.8.0", "rocm")
    assert read_text([b"$ pacman -Q python-torchmetrics\npython-torchmetrics 1.4.0-1\n"]).torch.version is None


test_it_is_named_first = names(
    [
        (NO_KERNELS + GFX1031 + "$ env | grep HSA\nHSA_OVERIDE_GFX_VERSION=10.3.0\n", "env-flag-unknown-or-renamed"),
        (FA3 + "GPU 0: NVIDIA GeForce RTX 4090\nexport VLLM_FLASH_ATTN_VERSION=3\n", "env-flag-wrong-for-gpu"),
        (AITER + "GPU: gfx1201\ndocker run ... -e VLLM_ROCM_USE_AITER=1 ... img\n", "env-flag-wrong-for-gpu"),
        (GFX1103 + HANG + "export HSA_OVERRIDE_GFX_VERSION=11.0.0\n", "hsa-override-misuse"),
        (HOME_TORCH + "$ singularity exec --rocm x.sif python t.py\n", "python-user-site-leak"),
        (VOID + NO_CUDA, "scheduler-no-gpu-allocated"),
        (SLOW + "export AMD_SERIALIZE_KERNEL=3\n", "debug-flag-left-on"),
        (
            LOST.format(line="docker run -d --gpus all --name lab nvcr.io/nvidia/pytorch:22.11-py3"),
            "container-lost-devices",
        ),
        (INIT_999 + MODULES.format(more=""), "nvidia-uvm-missing"),
        (
            "Segmentation fault in hsaKmtAllocMemoryAlign\nROCm version: 6.4.1\nGPU: AMD Instinct MI210\n"
            "$ cat /sys/module/amdgpu/version\n5.18.13\n",
            "amdgpu-rocm-version-skew",
        ),
    ],
    first=True,
)
test_it_is_named_first_too = names(
    [
        (NO_HANDLE + SMI.format(used=9894), "gpu-memory-exhausted"),
        (TOO_MANY_RANKS + TWO_CARDS, "gpu-bound-to-other-driver"),
        (NO_CUDNN + "GPU: NVIDIA A100\nnotebook:  LD_LIBRARY_PATH is empty\n", "env-not-seen-by-service"),
        (MANAGER, "nvidia-fabricmanager-not-running"),
        (NO_FUNCTION + ARCHS.format(arch="gfx1030"), "library-missing-gpu-arch"),
        (TUNES + "each request with a new length stalls 20 to 90 s\n", "tunableop-misconfigured"),
        (PASSED_OVER + 'msg="no compatible GPUs were discovered"\n', "apu-memory-pool-misconfigured"),
        (NO_CUDA + UVM, "nvidia-kernel-incompatible"),
        (
            "failed to initialize ROCm: no ROCm-capable device is detected\nGPU: AMD Radeon RX 9070 XT\n"
            "HSA_OVERRIDE_GFX_VERSION=\n",
            "hsa-override-misuse",
        ),
        (NO_AGENT + MI50 + IDS.format("1002:66a1"), "gpu-bound-to-other-driver"),
        (FLASHMLA + "GPU 0: NVIDIA A100\nexport VLLM_ATTENTION_BACKEND=FLASHMLA\n", "env-flag-wrong-for-gpu"),
        (OLLAMA + "HSA_OVERRIDE_GFX_VERSION: OLLAMA_DEBUG:false\n", "env-not-seen-by-service"),
        ("torch.cuda.device_count() -> 1, there are two cards\n" + TWO_CARDS, "gpu-bound-to-other-driver"),
        (
            "RuntimeError: HIP error: out of memory\nhost: amdgpu-dkms 5.18.13 (ROCm 5.4)\n"
            "image rocm/pytorch:rocm7.0_ubuntu22.04_py3.10_pytorch_release_2.7.1\nGPU: gfx90a AMD Instinct MI250\n",
            "amdgpu-rocm-version-skew",
        ),
    ],
    first=True,
)
test_machines_and_containers_of_nvidia = names(
    [
        (NONE_FOUND + GRACE.format("NVIDIA"), "nvidia-open-module-required"),
        (WSL_RPC.format("1.3.3-1"), "container-toolkit-too-old"),
        (NVRM_BOUND.format("01"), "gpu-bound-to-other-driver"),
        (OF_V1.format(pve="7.1", key="cgroup"), "container-device-cgroup-denied"),
        (DRIFT.format(504), "cdi-spec-missing-or-stale"),
        (POD.format(""), "scheduler-no-gpu-allocated"),
        (ADA.format("others report 28", "1.12.1+cu116"), "known-bad-library-version"),
        (TWO_GPUS + ">>> a.to('cuda:1')\ntensor([0., 0.], device='cuda:1')\n", "pcie-p2p-unusable"),
    ],
    first=True,
)
test_nothing_like_it_there = names_not(
    [
        (NONE_FOUND + GRACE.format("Dual MIT/GPL"), "nvidia-open-module-required"),
        (WSL_RPC.format("1.4.0-1"), "container-toolkit-too-old"),
        (NVRM_BOUND.format("41"), "gpu-bound-to-other-driver"),  # another card
        (OF_V1.format(pve="6.4", key="cgroup"), "container-device-cgroup-denied"),
        (OF_V1.format(pve="7.1", key="cgroup2"), "container-device-cgroup-denied"),
        (DRIFT.format(507), "cdi-spec-missing-or-stale"),
        (POD.format(", amd.com/gpu 1"), "scheduler-no-gpu-allocated"),
        (ADA.format("others report 28", "2.0.1+cu118"), "known-bad-library-version"),
        (ADA.format("as it should", "1.12.1+cu116"), "known-bad-library-version"),
        (TWO_GPUS + ">>> a.to('cuda:1')\ntensor([0., 2.], device='cuda:1')\n", "pcie-p2p-unusable"),
        (TWO_GPUS + ">>> a.cpu().to('cuda:1')\ntensor([0., 0.], device='cuda:1')\n", "pcie-p2p-unusable"),
        (
            TWO_GPUS + ">>> a = torch.zeros(2)\n>>> a.to('cuda:1')\ntensor([0., 0.], device='cuda:1')\n",
            "pcie-p2p-unusable",
        ),
    ]
)
test_it_is_named = names(
    [
        (OOM.format(asked="1.27"), "allocator-flag-unsupported"),
        (
            "BLAS = 0\nManually-specified variables were not used by the project:\n    LLAMA_CUBLAS\n",
            "env-flag-unknown-or-renamed",
        ),
    ]
)
test_it_is_not_named = names_not(
    [
        (NO_KERNELS + GFX1031 + "$ env | grep HSA\nHSA_OVERRIDE_GFX_VERSION=10.3.0\n", "env-flag-unknown-or-renamed"),
        (FA3 + "GPU 0: NVIDIA H100\nexport VLLM_FLASH_ATTN_VERSION=3\n", "env-flag-wrong-for-gpu"),
        (GFX1103 + "it runs\nexport HSA_OVERRIDE_GFX_VERSION=11.0.0\n", "hsa-override-misuse"),
        (GFX1103 + HANG + "export HSA_OVERRIDE_GFX_VERSION=11.0.2\n", "hsa-override-misuse"),
        (HOME_TORCH + "$ docker run --device /dev/kfd rocm/pytorch:x python t.py\n", "python-user-site-leak"),
        (HOME_TORCH + "$ singularity exec $SIF bash -c 'pip list | grep torch'\n", "container-missing-gpu-passthrough"),
        (VOID, "scheduler-no-gpu-allocated"),  # with CDI it stands in a container that has its GPUs
        (SLOW + "export AMD_SERIALIZE_KERNEL=0\n", "debug-flag-left-on"),
        (LOST.format(line="docker run -v /dev/nvidia0:/dev/nvidia0 img:1"), "container-lost-devices"),
        (INIT_999 + MODULES.format(more="nvidia_uvm 1605632 24 -\n"), "nvidia-uvm-missing"),
        (INIT_999 + MODULES.format(more=""), "nvidia-uvm-stale-after-suspend"),
        (OOM.format(asked="9.50"), "allocator-flag-unsupported"),
        ("    LLAMA_CUBLAS stands in my notes\n", "env-flag-unknown-or-renamed"),
        (PASSED_OVER + IN_USE + "CUDA error: out of memory\n", "apu-memory-pool-misconfigured"),
        ("torch prints the right sum\nnotebook:  PATH is empty\n", "env-not-seen-by-service"),
        (NO_CUDA + UVM, "nvidia-uvm-stale-after-suspend"),
        (NO_AGENT + MI50 + IDS.format("10de:1db6"), "gpu-bound-to-other-driver"),
        (FLASHMLA + "GPU 0: NVIDIA H100\nexport VLLM_ATTENTION_BACKEND=FLASHMLA\n", "env-flag-wrong-for-gpu"),
        (OLLAMA + "HSA_OVERRIDE_GFX_VERSION:10.3.0 OLLAMA_DEBUG:false\n", "env-not-seen-by-service"),
        (
            "ValueError: No data found. Please verify the folders\nGPU: gfx1103\ntorch 2.6.0+rocm6.2.4\n"
            ">>> torch.cuda.get_arch_list()\n['gfx1030', 'gfx1100']\n",
            "torch-missing-gpu-arch",
        ),
        (NO_HANDLE + SMI.format(used=2894), "gpu-memory-exhausted"),
        ("it runs well\n" + TWO_CARDS, "gpu-bound-to-other-driver"),
        (NO_FUNCTION + ARCHS.format(arch="gfx900"), "library-missing-gpu-arch"),
        (FAULT + "GPU: gfx1151\nHSA_OVERRIDE_GFX_VERSION=\n", "hsa-override-misuse"),
        (TUNES.replace("ENABLED=1", "ENABLED=0") + "each request stalls 20 to 90 s\n", "tunableop-misconfigured"),
    ]
)


ALONE = "as root it works once, then for me\nclGetPlatformIDs(): CL_PLATFORM_NOT_FOUND_KHR\n"
GPU_999 = "GPU 0: NVIDIA RTX A2000\nRuntimeError: CUDA unknown error - this may be due to an incorrectly set up\n"
NODE = "crw-rw---- 1 root video {}, {} Dec 14 18:20 /dev/nvidia{}\n"
NODES = NODE.format(195, 0, 0) + NODE.format(195, 255, "ctl")
GB10 = "GPU 0: NVIDIA GB10\ntorch.cuda.is_available(): False\n"
GCC = (
    "PyTorch version: 2.7.0+cu128\nCUDA used to build PyTorch: 12.8\nGCC version: 13.3.0\n"
    "CUDA runtime version: 12.0.140\nerror: command '/usr/bin/nvcc' failed with exit code 1\n"
)
UNLISTED = (
    "### Error\nHIP: hipErrorNoDevice\nROCm version: 6.1\nGPU: Radeon RX 6700 XT (gfx1031)\n"
    "running inside a container: yes\ncontainer engine: incus (lxc)\n"
)
HIDDEN = "RuntimeError: No CUDA GPUs are available\nGPU 0: NVIDIA GeForce RTX 3090\nrunning inside a container: yes\n"
CONV3D = (
    "    return F.conv3d(\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 30 GiB.\n"
    "Is CUDA available: True\n{}"
)


@pytest.mark.parametrize(
    ("text", "cause", "excused"),
    [
        (ALONE + "nvidia-smi -L\nGPU 0: NVIDIA RTX A2000\n{}", MODULES.format(more=""), "device-node-permission"),
        (GPU_999 + "$ ls -l /dev/nvidia*\n{}", NODES, "nvidia-uvm-stale-after-suspend"),
        (
            GPU_999 + "uid=1000(u) gid=1000(u) groups=1000(u)\n{}",
            NODES + NODE.format(247, 0, "-uvm"),
            "nvidia-uvm-stale-after-suspend",
        ),
        (GB10 + "{}", "cuInit: CUDA_ERROR_UNKNOWN (999)\n", "torch-cpu-only-build"),
        (GB10 + "{}", "RuntimeError: No CUDA GPUs are available\n", "torch-cpu-only-build"),
        (GCC + "{}", "nvcc fatal   : Unsupported gpu architecture 'compute_120'\n", "host-compiler-unsupported"),
        (HIDDEN + "{}", "CUDA_VISIBLE_DEVICES=1\n", "container-missing-gpu-passthrough"),
        (CONV3D, "PyTorch version: 2.9.0+cu128\nnvidia-cudnn-cu12==9.10.2.21\n", "gpu-memory-exhausted"),
        (
            "RuntimeError: Failed to infer device type\nPyTorch version: 2.5.1\n{}",
            "CUDA used to build PyTorch: None\nROCM used to build PyTorch: N/A\n",
            "vllm-build-mismatch",
        ),
        (
            ">>> torchvision.__version__\n'0.15.2+cpu'\n{}",
            "NotImplementedError: Could not run 'torchvision::nms' with arguments from the 'CUDA' backend.\n",
            "torch-cpu-only-build",
        ),
        (
            "error running hook: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\n"
            "failed to create shim task: OCI runtime create failed: error running hook #0\n"
            "nvidia-container-toolkit 1.13.5\nnvidia-container-toolkit: 1.13.5\n{}",
            "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown\n",
            "container-toolkit-too-old",
        ),
        (
            UNLISTED + "{}",
            "dd: failed to open '/dev/kfd': Operation not permitted\n",
            "amd-gpu-unsupported-by-rocm",
        ),
    ],
)
def test_what_is_read_besides_excuses_the_other_cause(text: str, cause: str, excused: str) -> None:
    assert excused in told(text.format(""))
    assert excused not in told(text.format(cause))


def test_what_a_setting_is_said_to_let_is_no_value_of_it() -> None:
    told_of = read_text([b"NCCL_P2P_DISABLE=1 lets it run, slowly\n"]).environment or {}
    assert "NCCL_P2P_DISABLE" not in told_of
    assert (read_text([b"NCCL_P2P_DISABLE=1\n"]).environment or {})["NCCL_P2P_DISABLE"] == "1"


@pytest.mark.parametrize(("when", "stale"), [("suspended overnight", True), ("up 6 days, used overnight", False)])
def test_a_night_in_suspend(when: str, stale: bool) -> None:
    keys = {symptom.key for symptom in read_text([f"uptime 6 days, {when}\n".encode()]).symptoms}
    assert ("suspend-resume-told" in keys) is stale


def test_a_run_with_other_options_is_no_other_release() -> None:
    lines = ("the same script worked with docker --network host", "the same script worked with NCCL 2.18.3")
    seen = ["another-version-works-told" in {s.key for s in read_text([x.encode()]).symptoms} for x in lines]
    assert seen == [False, True]


def test_nvml_needs_no_node_of_uvm() -> None:
    node = "crw-rw-rw- 1 root root 195, {} Dec 20 17:02 /dev/nvidia{}\n"
    inside = "running inside a container: yes\n" + node.format(0, 0) + node.format(255, "ctl")
    assert "nvidia-uvm-missing" in told(inside + NO_CUDA)
    assert "nvidia-uvm-missing" not in told("Failed to initialize NVML: Unknown Error\n" + inside + NO_CUDA)


@pytest.mark.parametrize(
    ("command", "output", "version"),
    [
        ("cat /sys/module/amdgpu/version", "6.12.12", "6.12.12"),
        ("modinfo -F version amdgpu", "6.12.12", "6.12.12"),
        ("cat /sys/module/amdgpu/version", "cat: /sys/module/amdgpu/version: No such file or directory", None),
        ("cat /sys/module/amdgpu/srcversion", "6.12.12", None),
    ],
)
def test_a_module_that_is_asked_for_its_version(command: str, output: str, version: str | None) -> None:
    assert read_text([f"$ {command}\n{output}\n".encode()]).amdgpu_driver.version == version
