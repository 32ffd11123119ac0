"""What tells two near causes apart: each with what nearly says it, and texts that both causes have."""

from __future__ import annotations

from tests.knowledge.texts import keys, names, names_not

SMI = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
CARD = "GPU 0: NVIDIA RTX A4000\n"
CARDS = "GPU 0: NVIDIA RTX A5000\nGPU 1: NVIDIA RTX A5000\n"
RADEON = (
    "$ rocminfo\n  Name:                    gfx90a\n  Marketing Name:          Instinct MI210\n  Vendor Name: AMD\n"
)
INSIDE = "Container:\n```\nrunning inside a container: yes\ncontainer engine: docker\n```\n"
HANDLE = (
    "E cuda_dnn.cc:439] Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED\n"
    "E cuda_dnn.cc:443] Memory usage: {} bytes free, 25438126080 bytes total.\n"
    "E cuda_dnn.cc:453] Possibly insufficient driver version: 525.85.12\n"
)
HOOK = "nvidia-container-cli: initialization error: cuda error: unknown error\n"
CASES = [
    (
        CARD + "the driver does not load\ndkms status: nvidia for all kernels but 6.9.3-200 is installed",
        "nvidia-driver-not-loaded",
    ),
    (CARD + "black screen\ndkms lists nvidia for older kernels only", "nvidia-driver-not-loaded"),
    (CARD + "no display\nthe initramfs of 6.9.3 lacks nvidia.ko", "nvidia-driver-not-loaded"),
    (
        CARD + "the screen stays black\nakmods@6.9.3-200.fc40.service: Failed with result 'exit-code'",
        "nvidia-driver-not-loaded",
    ),
    (CARD + "no display since the update\ndkms autoinstall failed", "nvidia-driver-not-loaded"),
    ("$ dmesg\nnvidia: version magic '6.8.0-31' should be '6.8.0-45'\n" + CARD, "nvidia-driver-not-loaded"),
    ("nvidia: version magic '6.8.0-31-generic SMP' should be '6.8.0-45-generic SMP'", "nvidia-kernel-incompatible"),
    (
        "$ dmesg\nnvidia: version magic '6.5.1' should be '6.5.2'\nKernel: 6.5.2",
        "nvidia-driver-not-loaded",
    ),
    (SMI + "the MOK enrollment screen was skipped at the restart", "secure-boot-blocks-module"),
    (SMI + "apt asked for a MOK password", "secure-boot-blocks-module"),
    (SMI + "security type: Trusted launch", "secure-boot-blocks-module"),
    (SMI + "the node pool has Shielded VM options", "secure-boot-blocks-module"),
    (
        "cuInit(0) failed with error code 999 (unknown error)\nthe system was upgraded yesterday, no reboot since",
        "nvidia-driver-library-mismatch",
    ),
    (
        "cudaGetDeviceCount returned 999\napt upgrade ran at night and the server has not been rebooted",
        "nvidia-driver-library-mismatch",
    ),
    ("CUDA_ERROR_UNKNOWN (999)\nnot restarted after the driver update", "nvidia-driver-library-mismatch"),
    (
        "Failed to initialize NVML: could not load NVML library\n$ minikube start --driver=docker --cpus 8",
        "container-engine-no-gpu-support",
    ),
    (
        "Failed to initialize NVML: could not load NVML library\n$ k3d cluster create ml",
        "container-engine-no-gpu-support",
    ),
    (
        "Failed to initialize NVML: could not load NVML library\n$ kind create cluster",
        "container-engine-no-gpu-support",
    ),
    (HANDLE.format("6881280"), "gpu-memory-exhausted"),
    (HANDLE.format("231735296"), "gpu-memory-exhausted"),
    (HANDLE.format("21474836480"), "nvidia-driver-too-old"),
    (
        RADEON + "rocsparse_spmv fails: invalid device function\nGPU arch not in GPU_TARGETS",
        "library-missing-gpu-arch",
    ),
    (
        RADEON + "hip error: 'invalid device function'(98)\nbuilt for gfx942 but runs on gfx90a",
        "library-missing-gpu-arch",
    ),
    (RADEON + "invalid kernel file (218) at hipblaslt_init_device.cpp:123", "library-missing-gpu-arch"),
    (INSIDE + HOOK + "nvidia-smi on the host: not found", "nvidia-driver-not-loaded"),
    (
        CARDS + ">>> a.to('cuda:1')\ntensor([0., 0.], device='cuda:1')\na.to('cpu').to('cuda:1') is right",
        "pcie-p2p-unusable",
    ),
]
BOTH = [
    (
        "$ sudo snap install docker\ndocker: Error response from daemon: unknown or invalid runtime name: nvidia.",
        "container-runtime-not-configured",
    ),
    (
        "snap install docker\nnvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1:"
        " cannot open shared object file",
        "container-engine-no-gpu-support",
    ),
    (
        "snap install docker\nnvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1:"
        " cannot open shared object file",
        "container-runtime-not-configured",
    ),
    (
        "running Docker on my Windows 10 machine with a Titan V\ndocker: Error response from daemon: could not select"
        ' device driver "" with capabilities: [[gpu]].',
        "container-runtime-not-configured",
    ),
    (CARDS + "simpleP2P: Verification error @ element 1\nkernel command line: amd_iommu=on", "iommu-not-passthrough"),
    (CARDS + "all_reduce_perf hangs\nbooted with intel_iommu=on", "iommu-not-passthrough"),
    (
        "2 Insufficient nvidia.com/gpu\nthe runtime was added to /etc/containerd/config.toml, rke2 reads its own",
        "container-runtime-not-configured",
    ),
    (INSIDE + "Error 805: MPS client failed to connect to the MPS control daemon", "container-missing-gpu-passthrough"),
    (INSIDE + "cudaErrorMpsConnectionFailed in the first call", "container-missing-gpu-passthrough"),
    ('no runtime for "nvidia" is configured\nno NVIDIA driver is on the node', "nvidia-driver-not-loaded"),
    ("cuInit() = 802\nGPU 0: NVIDIA H100 80GB HBM3", "nvidia-fabricmanager-not-running"),
    ("cuInit returned 802 in the guest", "nvidia-fabricmanager-not-running"),
    ("CUDA_ERROR_INVALID_DEVICE on rank 1\nnvidia-smi -i 0 -c EXCLUSIVE_PROCESS was run", "compute-mode-exclusive"),
    ("CUDA_ERROR_INVALID_DEVICE on rank 1\nnvidia-smi -c 3 is in the boot script", "compute-mode-exclusive"),
    (
        INSIDE + "podman-compose up\nRuntimeError: Found no NVIDIA driver on your system",
        "container-missing-gpu-passthrough",
    ),
    (
        INSIDE + "dind in the CI runner\nnvidia-container-cli: mount error: stat failed: /proc/driver/nvidia/gpus:"
        " no such file or directory",
        "container-missing-gpu-passthrough",
    ),
    (INSIDE + "the kata pod with a GPU does not start\nKernel driver in use: nvidia", "gpu-bound-to-other-driver"),
    (
        "ROCk module is NOT loaded, possibly no GPU devices\n00:02.0 VGA: VMware SVGA II Adapter\nRadeon RX 470",
        "pcie-atomics-missing",
    ),
    ("amd-smi: ModuleNotFoundError: No module named 'yaml'", "amdsmi-mismatch"),
    ("WSL2\nCUDA driver is a stub library\n/usr/lib/wsl/lib comes after it on the path", "wsl-gpu-misconfigured"),
    (
        INSIDE + 'Failed to initialize NVML: Unknown Error\nopen("/dev/nvidiactl", O_RDWR) = -1 EPERM (Operation not'
        " permitted)\nkubelet: cpuManagerPolicy: static",
        "container-lost-devices",
    ),
    ("CUDA initialization: driver too old (found version 11040)\ntorch 2.6.0+cu124", "nvidia-driver-too-old"),
    (CARDS + "training over both cards hangs\nNCCL_P2P_DISABLE=1 makes it run", "pcie-p2p-unusable"),
    (CARDS + "training over both cards hangs\nNCCL_P2P_DISABLE=1 makes it run", "iommu-not-passthrough"),
    (CARDS + "moving a tensor from one GPU to another gives zeros", "iommu-not-passthrough"),
    ('msg="amdgpu is not supported" gpu_type=gfx1031\n' + RADEON, "library-missing-gpu-arch"),
    ("AttributeError: module 'torch.library' has no attribute 'wrap_triton'\ntorch 2.4.1", "extension-abi-mismatch"),
    (
        "Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object"
        " file\n$ pip list\nPackage    Version\n---------- -------\ntensorflow 2.10.0",
        "gpu-libs-not-found",
    ),
]
NEARLY = [
    ("$ sudo snap install docker\nGPU 0: NVIDIA T4\nall containers see it", "container-runtime-not-configured"),
    (CARDS + "all_reduce_perf hangs\nbooted with intel_iommu=on iommu=pt", "iommu-not-passthrough"),
    (CARD + "intel_iommu=on is set for the virtual machines", "iommu-not-passthrough"),
    ("the runtime was added to /etc/containerd/config.toml and works", "container-runtime-not-configured"),
    ("MPS client failed to connect to the MPS control daemon", "container-missing-gpu-passthrough"),
    ("the printer queue returns 802 pages", "nvidia-fabricmanager-not-running"),
    ("nvidia-smi -c 0 was run\nCUDA_ERROR_INVALID_DEVICE", "compute-mode-exclusive"),
    (INSIDE + "podman-compose up starts it and the GPU is used", "container-missing-gpu-passthrough"),
    ("Kernel driver in use: nvidia\nnvidia-smi lists it", "gpu-bound-to-other-driver"),
    ("00:02.0 VGA: VMware SVGA II Adapter\nthe desktop is slow", "pcie-atomics-missing"),
    ("CUDA driver is a stub library\n/usr/local/cuda/lib64/stubs is on LD_LIBRARY_PATH", "wsl-gpu-misconfigured"),
    (CARD + "the driver works\ndkms status: nvidia is installed for all kernels", "nvidia-driver-not-loaded"),
    (RADEON + "dkms autoinstall failed for amdgpu", "nvidia-driver-not-loaded"),
    ("amdgpu: version magic '6.8.0-31-generic' should be '6.8.0-45-generic'", "nvidia-driver-not-loaded"),
    (SMI + "security type: standard, trusted launch: off", "secure-boot-blocks-module"),
    ("the MOK enrollment was done, nvidia-smi lists the card\n" + CARD, "secure-boot-blocks-module"),
    (
        "the system was upgraded yesterday, no reboot since\nRuntimeError: CUDA out of memory\n" + CARD,
        "nvidia-driver-library-mismatch",
    ),
    (
        "Failed to initialize NVML: could not load NVML library\n$ minikube start --driver=docker --gpus all",
        "container-engine-no-gpu-support",
    ),
    ("$ kind create cluster\nthe pod is Pending: Insufficient cpu", "container-engine-no-gpu-support"),
    (HANDLE.format("21474836480"), "gpu-memory-exhausted"),
    (HANDLE.format("6881280"), "nvidia-driver-too-old"),
    (RADEON + "built for gfx942 and gfx90a, runs on both", "library-missing-gpu-arch"),
    (INSIDE + HOOK + "nvidia-smi on the host works", "nvidia-driver-not-loaded"),
    (
        INSIDE + "docker: Error response from daemon: failed (container_linux.go:296): no such file",
        "env-not-seen-by-service",
    ),
    (
        "ImportError: libcusolver.so.11: undefined symbol: cublasSetMathMode, version libcublas.so.11",
        "gpu-libs-not-found",
    ),
    (CARDS + "NCCL_P2P_DISABLE=1 is set and all works", "iommu-not-passthrough"),
]


test_it_is_named = names(CASES + BOTH)
test_what_nearly_says_it = names_not(NEARLY)


def test_a_tensor_by_way_of_the_cpu() -> None:
    assert "other-way-of-a-tensor-right-told" in keys("x.cpu().cuda(1) is correct")
    assert "other-way-of-a-tensor-right-told" not in keys("x.cpu().cuda(1) is wrong as well")


def test_a_refused_handle_with_room_tells_of_no_full_memory() -> None:
    assert "xla-memory-nearly-full" not in keys("Memory usage: 9437184000 bytes free, 25438126080 bytes total.")
