"""Each error text of this area is found in a line as its program prints it."""

from __future__ import annotations

import pytest

from doctor.knowledge.symptoms import Symptoms

SYMPTOMS = Symptoms()
EXAMPLES = {
    "nvidia-smi-cannot-communicate": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.",  # noqa: E501
    "amdgpu-module-unknown-symbol": "amdgpu: Unknown symbol amd_iommu_bind_pasid (err 0)",
    "kfd-ioctl-refused": "AMDKFD_IOC_ACQUIRE_VM failed",
    "nvrm-gpu-newer-than-driver": "NVRM: NVIDIA 550.90.07 driver release.",
    "nvlink-uncorrectable": "CUDA error: uncorrectable NVLink error detected during the execution",
    "nvidia-module-load-failed": "ERROR: Unable to load the kernel module 'nvidia.ko'.",
    "uvm-module-absent-told": "lsmod | grep nvidia_uvm prints nothing",
    "amdgpu-module-absent-told": "$ lsmod | grep amdgpu: no output",
    "nvml-driver-not-loaded": "Failed to initialize NVML: Driver Not Loaded",
    "modprobe-nvidia-not-found": "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-45-generic",
    "nvidia-smi-not-found": "bash: nvidia-smi: command not found",
    "torch-no-nvidia-driver": "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver",  # noqa: E501
    "libcuda-missing": "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
    "nvml-library-missing": "pynvml.NVMLError_LibraryNotFound: NVML Shared Library Not Found",
    "cuda-no-device": "RuntimeError: CUDA error: no CUDA-capable device is detected",
    "tf-kernel-driver-not-running": "kernel driver does not appear to be running on this host",
    "nvrm-no-gpu-found": "NVRM: The NVIDIA probe routine was not called for 1 device(s).",
    "nvml-version-mismatch": "Failed to initialize NVML: Driver/library version mismatch",
    "nvrm-api-mismatch": "NVRM: API mismatch: the client has the version 570.124.06, but this kernel module has the version 570.124.04.",  # noqa: E501
    "cuda-driver-mismatch-803": "Error 803: system has unsupported display driver / cuda driver combination",
    "cuda-compat-804": "Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was attempted on non supported HW",  # noqa: E501
    "cuda-driver-insufficient": "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
    "container-unsatisfied-cuda": "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.6, please update your driver to a newer version",  # noqa: E501
    "cuda-ptx-toolchain": "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
    "driver-symbol-missing": "ImportError: vllm/_C.abi3.so: undefined symbol: cuTensorMapEncodeTiled",
    "jax-driver-too-old": "RuntimeError: Outdated CUDA installation found.",
    "xla-ptxas-newer-than-driver": "The NVIDIA driver's CUDA version is 12.2 which is older than the ptxas CUDA version (12.8.93). Because the driver is older than the ptxas version, XLA is disabling parallel compilation",  # noqa: E501
    "nvrm-open-required": "NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
    "nvrm-open-unsupported": "NVRM: installed in this system is not supported by open",
    "nvrm-legacy-branch": "NVRM: The NVIDIA GPU 0000:01:00.0 installed in this system is supported through the NVIDIA 470.xx Legacy drivers.",  # noqa: E501
    "nvidia-dkms-build-failed": "Error! Bad return status for module build on kernel: 6.14.0-15-generic (x86_64) Consult /var/lib/dkms/nvidia/570.86/build/make.log",  # noqa: E501
    "nvidia-gpl-symbol": "ERROR: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol 'rcu_read_unlock_strict'",  # noqa: E501
    "nvidia-module-unknown-symbol": "nvidia: version magic '6.8.0-45-generic SMP' should be '6.8.0-48-generic SMP'",
    "nvidia-kernel-sources-missing": "ERROR: Unable to find the kernel source tree for the currently running kernel.",
    "nvidia-uvm-missing": "ls: cannot access '/dev/nvidia-uvm': No such file or directory",
    "nvidia-uvm-hmm": "nvidia-uvm: devmem_alloc_pagemap err -34",
    "cuda-unknown-999": "CUDA initialization: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable CUDA_VISIBLE_DEVICES after program start.",  # noqa: E501
    "cuda-initialization-error": "CUDA driver initialization failed, you might not have a CUDA gpu",
    "cuda-802": "Error 802: system not yet initialized",
    "fabricmanager-failed": "fabric manager NVIDIA GPU driver interface version 535.104.05 don't match with driver version 535.129.03. Please update with matching NVIDIA driver package.",  # noqa: E501
    "nccl-nvls-fabric": "transport/nvls.cc:238 NCCL WARN Cuda failure 802 'system not yet initialized'",
    "nouveau-blocks-installer": "ERROR: The Nouveau kernel driver is currently in use by your system.",
    "nouveau-loaded-said": "nouveau 0000:3b:00.0: DRM: failed to create kernel channel, -22",
    "nvrm-already-bound": "NVRM: GPU 0000:3b:00.0 is already bound to vfio-pci.",
    "vfio-owns-gpu": "Kernel driver in use: vfio-pci",
    "module-key-rejected": "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
    "secure-boot-enabled-said": "SecureBoot enabled: the module amdgpu is not signed with a key enrolled in MOK (Secure Boot)",  # noqa: E501
    "xid-fatal": "NVRM: Xid (PCI:0000:c1:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "gpu-fallen-off-bus": "Unable to determine the device handle for GPU0000:8A:00.0: GPU is lost. Reboot the system to recover this GPU",  # noqa: E501
    "gsp-timeout": "NVRM: Xid (PCI:0000:41:00): 119, Timeout after 6s of waiting for RPC response from GPU0 GSP!",
    "nvidia-smi-err": "|  ERR!   ERR!    P0             ERR! /  700W |",
    "ecc-uncorrectable": "RuntimeError: CUDA error: uncorrectable ECC error encountered",
    "row-remap": "Remapping Failure Occurred : Yes",
    "amd-ras-uncorrectable": "amdgpu 0000:c1:00.0: amdgpu: 1 uncorrectable hardware errors detected in umc block",
    "rocm-module-not-loaded": "ROCk module is NOT loaded, possibly no GPU devices",
    "amdgpu-nomodeset": "BOOT_IMAGE=/vmlinuz-6.18.4 root=UUID=1234 ro quiet nomodeset",
    "hip-no-device": "RuntimeError: No HIP GPUs are available",
    "amdgpu-dkms-failed": "Consult /var/lib/dkms/amdgpu/6.12.12-2164967.24.04/build/make.log for more information.",
    "dkms-bad-exit": "Building module(s)...(bad exit status: 2)",
    "amdgpu-install-unsupported-os": "rocm-hip-runtime : Depends: libstdc++-11-dev but it is not installable",
    "amdgpu-vm-fault": "amdgpu 0000:03:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:32770)",  # noqa: E501
    "amdgpu-ring-timeout": "HW Exception by GPU node-1 (Agent handle: 0x5581) reason :GPU Hang",
    "amd-memory-access-fault": "Memory access fault by GPU node-2 (Agent handle: 0x562ee1524aa0) on address 0x7f2cf1201000. Reason: Unknown.",  # noqa: E501
    "amdgpu-firmware-missing": "amdgpu 0000:03:00.0: Direct firmware load for amdgpu/gc_12_0_1_pfp.bin failed with error -2",  # noqa: E501
    "amdgpu-fatal-init": "amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init",
    "amd-ifwi-old": "The PLDM bundle on this node predates the driver; IFWI version mismatch",
    "amd-driver-userspace-skew": "hsaKmtOpenKFD: KFD version 1.6 is too old for this runtime",
    "kfd-invalid-argument": "Unable to open /dev/kfd read-write: Invalid argument",
    "amd-gpu-not-supported": "AMD GPU not supported: gfx701",
    "ollama-amdgpu-unsupported": 'level=WARN source=amd_linux.go msg="amdgpu is not supported (supported types:[gfx1030 gfx1100])" gpu=0 gpu_type=gfx1010',  # noqa: E501
    "rocm-no-agent-told": "rocminfo shows only the CPU agent",
    "amdgpu-firmware-older-works": "downgrading linux-firmware to 20250808 fixes it",
    "other-amdgpu-driver-works": "amdgpu-dkms 6.16.6 works",
    "amdgpu-worker-blocked": "Workqueue: events amdgpu_tlb_fence_work [amdgpu]",
    "other-kernel-works": "works again after booting 6.2.0-39-generic",
    "no-devices-were-found": "No devices were found",
    "nvrm-no-gpu-open": "NVRM: No NVIDIA GPU found.",
    "kernel-suspended": "PM: suspend exit",
    "compat-library-first": "libcuda.so.1 (libc6,x86-64) => /usr/local/cuda-13.0/compat/libcuda.so.1",
    "rm-init-open-with-bar": "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)",
    "nv-peer-module-abi": "nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -22)",
    "amdgpu-kept-away": "# CONFIG_HSA_AMD is not set",
}


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_line_shows_the_symptom(key: str) -> None:
    hits = SYMPTOMS.find([(7, f"12:00:01 {EXAMPLES[key]}")])
    assert (key, 7) in [(hit.key, hit.line) for hit in hits]
