"""Each sourced issue of the kernel drivers and the host is named from a text that shows what the issue says."""

# ruff: noqa: E501

from __future__ import annotations

from doctor.engine.judge import judge
from doctor.knowledge import Knowledge
from doctor.triage.read import read_text
from tests.each import each

AMD_GPU = "GPU: AMD Instinct {}\n"
TWO = "GPU 0: NVIDIA GeForce RTX 4090\nGPU 1: NVIDIA GeForce RTX 4090\n"
ISSUES: tuple[tuple[str, str, str], ...] = (
    ("iommu-not-pt", 'NCCL WARN Missing "iommu=pt" from kernel command line', "iommu-not-passthrough"),
    ("pcie-acs", "ACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+\n" + TWO, "pcie-acs-enabled"),
    ("pcie-atomics-missing", "kfd kfd: amdgpu: skipped device 1002:67df, PCI rejects atomics", "pcie-atomics-missing"),
    (
        "mi300x-ue-recovery",
        AMD_GPU.format("MI300X") + "amdgpu: 6.8.5\namdgpu 0000:05:00.0: amdgpu: 1 uncorrectable hardware errors detected",
        "gpu-ecc-errors",
    ),
    ("dkms-618", "amdgpu-dkms 6.16.13-2278356\nKernel: 6.18.3-generic", "amdgpu-kernel-or-os-unsupported"),
    ("dkms-617", "amdgpu driver: 30.20.0\nKernel: 6.17.0-5-generic", "amdgpu-kernel-or-os-unsupported"),
    ("dkms-616", "amdgpu driver: 6.12.12\nKernel: 6.16.0-1-generic", "amdgpu-kernel-or-os-unsupported"),
    (
        "dkms-614-641",
        "Consult /var/lib/dkms/amdgpu/6.12.12-2164967.24.04/build/make.log",
        "amdgpu-kernel-or-os-unsupported",
    ),
    ("dkms-2604", "amdgpu driver: 30.30.4\nKernel: 7.0.0-22-generic", "amdgpu-kernel-or-os-unsupported"),
    (
        "dkms-68-44",
        "File: /var/lib/dkms/amdgpu/6.7.0-1787201.22.04/source/dkms.conf does not exist.",
        "amdgpu-kernel-or-os-unsupported",
    ),
    ("dkms-6x-old", "amdgpu driver: 5.18.13\nKernel: 6.6.1-generic", "amdgpu-kernel-or-os-unsupported"),
    ("mi325x-sriov-3020", AMD_GPU.format("MI325X") + "amdgpu driver: 30.20.0", "amdgpu-driver-known-bad"),
    ("secure-boot", "ROCk module is NOT loaded, possibly no GPU devices\nSecureBoot enabled", "secure-boot-blocks-module"),
    ("kfd-einval-container", "Unable to open /dev/kfd read-write: Invalid argument", "amdgpu-rocm-version-skew"),
    (
        "mes-083-strix",
        "GPU: Strix Halo\nMES feature version: 1, firmware version: 0x00000083",
        "amdgpu-firmware-bad",
    ),
    (
        "igpu-crash-llama",
        "ROCm devices:\n  Device 0: AMD Radeon RX 9070, gfx1201 (0x1201)\n  Device 1: AMD Radeon Graphics, gfx1036 (0x1036)\n"
        "Segmentation fault (core dumped)",
        "integrated-gpu-conflict",
    ),
    ("unsupported-old-gcn", "kfd kfd: amdgpu: TONGA not supported in kfd", "amd-gpu-unsupported-by-rocm"),
    (
        "driver-library-mismatch",
        "Failed to initialize NVML: Driver/library version mismatch",
        "nvidia-driver-library-mismatch",
    ),
    ("cuda-803", "system has unsupported display driver / cuda driver combination (error 803)", "cuda-compat-conflict"),
    ("cuda-804", "forward compatibility was attempted on non supported HW", "cuda-compat-conflict"),
    ("cuda-802", "CUDA error 802: system not yet initialized", "nvidia-fabricmanager-not-running"),
    (
        "fabric-state-in-progress",
        "    Fabric\n        State                             : In Progress",
        "nvidia-fabricmanager-not-running",
    ),
    (
        "fabric-manager-nothing-to-do",
        "request to query NVSwitch device information from NVSwitch driver failed with error: NV_WARN_NOTHING_TO_DO",
        "nvidia-fabricmanager-not-running",
    ),
    (
        "fabric-manager-version",
        "fabric manager NVIDIA GPU driver interface version 535.1 don't match with driver version 535.2",
        "nvidia-fabricmanager-not-running",
    ),
    ("driver-too-old", "The NVIDIA driver on your system is too old (found version 10010).", "nvidia-driver-too-old"),
    ("ptx-toolchain", "the provided PTX was compiled with an unsupported toolchain.", "nvidia-driver-too-old"),
    ("open-module-required", "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)", "nvidia-open-module-required"),
    (
        "open-module-unsupported-gpu",
        "GPU: Tesla V100\nNVIDIA kernel module type: open\nNVRM: No NVIDIA GPU found.",
        "nvidia-open-module-unsupported-gpu",
    ),
    ("nouveau-bound", "NVRM: GPU 0000:3b:00.0 is already bound to nouveau.", "nouveau-loaded"),
    ("secure-boot-key", "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service", "secure-boot-blocks-module"),
    (
        "dkms-not-built",
        "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-45-generic",
        "nvidia-driver-not-loaded",
    ),
    ("rt-kernel", "The kernel you are installing for is a PREEMPT_RT kernel!", "nvidia-kernel-incompatible"),
    (
        "rebar-above-4g",
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
        "large-bar-disabled",
    ),
    ("wpr2-already-up", "NVRM: unexpected WPR2 already up, cannot proceed with booting GSP", "nvidia-xid-fatal"),
    ("gsp-boot", "NVRM: kgspWaitForGfwBootOk_TU102: failed to wait for GFW boot complete", "nvidia-xid-fatal"),
    ("gsp-timeout", "NVRM: Xid (PCI:0000:41:00): 119, Timeout after 6s of waiting for RPC response", "nvidia-xid-fatal"),
    ("fallen-off-bus", "NVRM: GPU 0000:41:00.0: GPU has fallen off the bus.", "nvidia-xid-fatal"),
    ("kaslr-hmm", "nvidia-uvm: devmem_alloc_pagemap[pid:1] request_free_mem_region() err -34", "nvidia-uvm-hmm-init-failure"),
    (
        "rtx-pro-6000-driver",
        "GPU: NVIDIA RTX PRO 6000 Blackwell Server Edition\nNVIDIA driver version: 570.86.15\nNVIDIA kernel module type: open",
        "nvidia-driver-too-old",
    ),
    ("peermem-load", "modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument", "gpudirect-rdma-missing"),
)  # fmt: skip


@each("issue, text, rule", ISSUES)
def test_the_issue_is_named(issue: str, text: str, rule: str) -> None:
    findings = judge(read_text([text.encode()]), Knowledge()).findings
    loud = [f.rule for f in findings if f.severity.value != "info" and not f.explained_by]
    assert rule in loud, [(f.severity.value, f.rule, f.explained_by) for f in findings]
