"""Each error text of this area is found in a line as its program prints it."""

from __future__ import annotations

import pytest

from doctor.knowledge.symptoms import Symptoms

SYMPTOMS = Symptoms()
EXAMPLES = {
    "nccl-iommu-pt-missing": 'NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!',  # noqa: E501
    "iommu-fault": "nvidia 0000:c1:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0042 address=0xf2200000 flags=0x0020]",  # noqa: E501
    "acs-enabled": "ACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+",
    "pcie-atomics": "kfd kfd: amdgpu: skipped device 1002:7300, PCI rejects atomics 730<0",
    "p2p-validation": "CUDA error: peer access is not supported between these two devices",
    "pcie-link-narrow": "pci 0000:c1:00.0: 31.504 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x4 link at 0000:c0:01.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)",  # noqa: E501
    "pcie-aer": "pcieport 0000:c0:01.1: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer",
    "bar-invalid": "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid: NVRM: BAR1 is 0M @ 0x0 (PCI:0000:03:00.0)",  # noqa: E501
    "numa-balancing-warned": 'WARN NUMA auto balancing enabled which can lead to variability in the RCCL performance! Disable by "sudo sysctl kernel.numa_balancing=0"',  # noqa: E501
    "cpu-governor": "cpu0/cpufreq/scaling_governor: powersave",
    "gpu-throttle": "HW Thermal Slowdown                   : Active",
    "persistence-off": "Persistence mode is disabled for this device, each client pays the driver's start",
    "mig-uuid-invalid": "No MIG devices found; MIG mode is enabled but no GPU instance was created",
    "cuda-devices-busy": "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable",
    "gdr-disabled": "NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'",
    "peermem-interface-missing": "cat: /sys/kernel/mm/memory_peers/nv_mem/version: No such file or directory",
    "nvshmem-gdr": "WARN: GDRCopy open call failed, falling back to not using GDRCopy",
    "apu-memory-small": "only 15.5 GiB of 128 GiB are visible; GTT size must be raised with ttm.pages_limit",
    "cuda-out-of-memory": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB",  # noqa: E501
    "vllm-free-memory": "ValueError: Free memory on device (1.2/79.1 GiB) on startup is less than desired GPU memory utilization (0.9, 71.19 GiB).",  # noqa: E501
    "iommu-change-helps": "booting with intel_iommu=off helps",
    "cross-gpu-copy-wrong": "a tensor copied from cuda:0 to cuda:1 is all zeros",
    "device-choice-helps": "HIP_VISIBLE_DEVICES=0 avoids the segfault",
    "acs-redirects-nothing-told": "ACSCtl: SrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl-",
    "p2p-off-works": "NCCL_P2P_DISABLE=1 avoids the hang",
    "igpu-off-helps": "disabling the iGPU in the BIOS fixes it",
    "program-crashed": "Segmentation fault (core dumped)",
    "output-garbage": "two GPUs give gibberish, one is fine",
    "persistence-on-told": "Persistence Mode                      : Enabled",
    "gpu-of-virtual-guest-told": "OS: Ubuntu 22.04 (KVM guest)",
    "collective-hangs": "all_reduce_perf hangs on two GPUs",
    "slow-start-told": "first CUDA call takes 20 s",
    "above-4g-told-off": "Resizable BAR is disabled in the BIOS",
    "mig-mentioned": "MIG 1g.10gb Device 0",
    "mig-one-device-seen": "torch.cuda.device_count() shows one",
    "cuda-invalid-device": "CUDA error: invalid device ordinal",
    "amdgpu-parameter-deprecated": "amdgpu: Configuring gttsize via module parameter is deprecated, please use ttm.pages_limit",  # noqa: E501
    "amdgpu-parameter-unknown": "amdgpu: unknown parameter 'gtt_size' ignored",
    "memory-pool-seen-small": "ROCm only sees 15.5 GB",
    "rdma-registration-refused": "ibv_reg_mr of GPU memory fails: Bad address",
}


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_line_shows_the_symptom(key: str) -> None:
    hits = SYMPTOMS.find([(7, f"12:00:01 {EXAMPLES[key]}")])
    assert (key, 7) in [(hit.key, hit.line) for hit in hits]
