"""Error texts of the known troubles of both vendors are found in lines as their programs print them."""

from __future__ import annotations

import pytest

from doctor.knowledge.symptoms import Symptoms

SYMPTOMS = Symptoms()
EXAMPLES = {
    "rccl-numa-balancing-warning": "NCCL WARN NUMA auto balancing enabled which can lead to variability",
    "hip-shared-object-init-failed": "RuntimeError: HIP error: shared object initialization failed",
    "rocclr-no-compatible-code-objects": "No compatible code objects found for: gfx1036",
    "hsa-init-out-of-resources": "hsa api call failure: HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed",
    "jax-rocm-ffi-missing": "No FFI handler registered for hipsolver_geqrf_ffi on a platform ROCM",
    "amdsmi-null-pointer": "ValueError: NULL pointer access",
    "rocm-loader-missing": "librocprofiler-register.so.0: cannot open shared object file: No such file",
    "amdgpu-bar-not-assigned": "pci 0000:03:00.0: BAR 0 [mem size 0x400000000 64bit pref]: failed to assign",
    "rocm-visible-empty": "HIP_VISIBLE_DEVICES=-1",
    "rocm-dir-missing": "ls: cannot access '/opt/rocm': No such file or directory",
    "nvswitch-nothing-to-do": "failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]",
    "fabric-state-in-progress": "        State                             : In Progress",
    "cuda-call-needs-newer-driver": "CUDA error: API call is not supported in the installed CUDA driver",
    "driver-floor-said": "nvidia driver 470 or newer required",
    "rm-init-adapter-open-needed": "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)",
    "bound-to-nouveau": "NVRM: GPU 0000:01:00.0 is already bound to nouveau.",
    "module-key-unavailable": "Loading of module with unavailable key is rejected",
    "preempt-rt-refused": "The kernel you are installing for is a PREEMPT_RT kernel!",
    "gpu-left-the-bus": "NVRM: GPU at PCI:0000:0a:00: GPU has fallen off the bus.",
    "cublas-alloc-failed": "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "cuda-library-symbol": "symbol lookup error: libcudnn_graph.so.9: undefined symbol: _ZN5cudnn5graph",
    "remap-row-pending": "    Pending                  : Yes",
    "remap-row-failure": "    Remapping Failure Occurred : Yes",
    "kernel-no-device-code": "CUDA kernel vec_dot has no device code compatible with CUDA arch 520.",
    "cdi-vendor-unknown": "failed to discover GPU vendor from CDI: no known GPU vendor found",
    "device-plugin-allocate-failed": "Allocate failed due to no healthy devices present for amd.com/gpu",
    "slurm-gres-missing": "slurmd: fatal: can't stat gres.conf file /dev/nvidia0: No such file or directory",
    "mig-instance-refused": "Unable to create a GPU instance on GPU 0 using profile 9: Insufficient Resources",
    "tensorrt-library-missing": "ImportError: libnvinfer.so.10: cannot open shared object file",
    "link-bandwidth-limited": "pci 0000:01:00.0: 15.752 Gb/s available PCIe bandwidth, limited by 8.0 GT/s x2",
    "container-built-for-newer-driver": "This container was built for NVIDIA Driver Release 580.82 or later",
    "expandable-segments-refused": "INTERNAL ASSERT FAILED: expandable_segments: pidfd_getfd failed",
}
HEALTHY = (
    "ROCR_VISIBLE_DEVICES=0",
    "State                             : Completed",
    "SRAM Uncorrectable Parity : 0",
    "MIG Mode                  : Disabled",
    "gres/gpu:8",
    "PREEMPT_DYNAMIC",
    "/opt/rocm -> /opt/rocm-7.1.0",
    "[aiter] start build module_enum",
    "Please update your driver before you report a bug.",
    "Preparing to unpack amdgpu-dkms_6.16.13_all.deb",
    "HIP_VISIBLE_DEVICES=0,1",
    "loaded libcudnn_graph.so.9",
    "systemd-sleep: Entering sleep state",
    "Pending Page Blacklist : No",
    "Kernel driver in use: amdgpu",
)


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_line_shows_the_symptom(key: str) -> None:
    assert key in [hit.key for hit in SYMPTOMS.find([(7, EXAMPLES[key])])]


@pytest.mark.parametrize("line", HEALTHY)
def test_a_healthy_line_shows_nothing(line: str) -> None:
    """Beyond words by which other texts are read, which point to nothing."""
    assert [hit for hit in SYMPTOMS.find([(1, line)]) if SYMPTOMS.signatures[hit.key].points_to] == []


def test_an_instruction_of_gpus_that_llvm_cannot_select_and_an_operation_of_the_language() -> None:
    of_the_gpu = "LLVM ERROR: Cannot select: intrinsic %llvm.amdgcn.sdot4"
    assert "llvm-cannot-select-intrinsic" in {hit.key for hit in SYMPTOMS.find([(1, of_the_gpu)])}
    for line in ("LLVM ERROR: Cannot select: 0x58: bf16 = uint_to_fp", "LLVM ERROR: Cannot select: t5: i16 = ctlz t2"):
        assert {hit.key for hit in SYMPTOMS.find([(1, line)])} == {"llvm-cannot-select"}


def test_collected_garbage_is_no_result() -> None:
    for line in ("PYTORCH_HIP_ALLOC_CONF=garbage_collection_threshold:0.8", "the garbage-collector ran"):
        assert "output-garbage" not in {hit.key for hit in SYMPTOMS.find([(1, line)])}
