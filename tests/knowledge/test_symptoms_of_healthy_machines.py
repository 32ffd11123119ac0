"""Lines of healthy machines show no symptom; what the catalogue names is there."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.knowledge import Knowledge
from doctor.knowledge.symptoms import Symptoms

SYMPTOMS = Symptoms()
HEALTHY = (
    "[    5.1] nvidia: loading out-of-tree module taints kernel.",
    "[    5.1] nvidia: module verification failed: signature and/or required key missing - tainting kernel",
    "[    5.3] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  575.57.08",
    "[    5.4] nvidia-uvm: Loaded the UVM driver, major device number 508.",
    "[    4.0] [drm] amdgpu kernel modesetting enabled.",
    "[    4.2] amdgpu 0000:c1:00.0: amdgpu: RAS is enabled, 0 uncorrectable hardware errors detected",
    "[    4.2] amdgpu 0000:c1:00.0: [drm] Loading DMUB firmware via PSP: version=0x07002F00",
    "[    4.2] kfd kfd: amdgpu: added device 1002:74a1",
    "ROCk module version 6.12.12 is loaded",
    "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>",
    "NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
    "NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
    "NCCL INFO cudaDriverVersion 12090",
    "INFO 11-20 12:00:00 Using Flash Attention backend on V1 engine.",
    "Uncorrectable ECC error: 0",
    "    HW Thermal Slowdown                   : Not Active",
    "Remapping Failure Occurred             : No",
    "Pending                                : No",
    "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet iommu=pt pci=realloc=off",
    "export CUDA_VISIBLE_DEVICES=0,1,2,3",
    "export HIP_VISIBLE_DEVICES=0",
    "export NCCL_P2P_DISABLE=1",
    "crw-rw---- 1 root render 242, 0 Apr 18 15:58 /dev/kfd",
    "crw-rw-rw- 1 root root 195, 255 Apr 18 15:58 /dev/nvidiactl",
    "docker run --gpus all --shm-size=1g --ulimit memlock=-1 nvidia/cuda:12.4.1-base nvidia-smi",
    "LnkSta: Speed 16GT/s, Width x16",
    "ACSCtl: SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd-",
    "kernel.numa_balancing = 0",
    "Persistence Mode                      : Enabled",
    "Compute Mode                          : Default",
    "MIG Mode                              : Disabled",
    "blacklist nouveau",
    "ulimit -n: 1048576",
    "Secure Boot: disabled",
    "open files                          (-n) 1024",
    "SecureBoot disabled",
    "TunableOp is disabled",
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    "systemctl daemon-reload",
    "0 uncorrectable hardware errors detected in umc block",
)


DOCUMENTS = (
    "- **Uncorrectable ECC Errors:**",
    "`total_count` | Uncorrectable ECC error count",
    "`count` | Count of uncorrectable errors",
    "* `AmdSmiLibraryException`",
    "* Make sure that you have increased the locked memory limits",
    "2. Run the RCCL regression suite:",
    "export ROCM_PATH=$(python -c 'import rocm_sdk; print(rocm_sdk.root())')",
    "The tool requires CUDA version >= 10.1.",
    "### 5. Handle a PyTorch CUDA version mismatch (if needed)",
    "This pass can be very slow; it writes tunableop_results.csv",
    "Tests for unsupported architectures are automatically skipped.",
    "- **AMD_VISIBLE_DEVICES=all** - Makes all GPUs visible to the container",
    "It is recommended to set `CUDA_DEVICE_ORDER` to `PCI_BUS_ID`.",
    "so that it does not incur CUDA out of memory",
    "For NVIDIA GPUs, to check if the GPU gets throttled down, run nvidia-smi -q",
    "Providers may keep unsupported OS versions for long.",
    "To use a folder other than certs, override CERTS_DIR",
    "without bounded regressions srun is as fast",
    "| `--floor GB` | 32 | `RLIMIT_MEMLOCK` threshold (0 disables). |",
    "when a GPU gets an uncorrectable ECC error, the plugin marks it",
    "Use the helper to skip tests on unsupported GPU architectures:",
    "export ROCM_PATH=$HOME/env/rocm",
    "- Host limits: `RLIMIT_MEMLOCK`, `RLIMIT_NOFILE`, `RLIMIT_NPROC`",
    "[aiter] shape is M:16, N:1536, K:7168, is tuned on cu_num = 304 in CKGEMM",
    "a stall-free engine for training with 8 GPUs",
)


@pytest.mark.parametrize("line", HEALTHY + DOCUMENTS)
def test_a_healthy_line_shows_nothing(line: str) -> None:
    """Beyond words by which other texts are read, which point to nothing."""
    assert [hit for hit in SYMPTOMS.find([(1, line)]) if SYMPTOMS.signatures[hit.key].points_to] == []


def test_causes_are_in_the_vocabulary() -> None:
    named = {cause.rule for s in SYMPTOMS.signatures.values() for cause in s.points_to}
    assert named <= set(Knowledge().vocabulary())


def test_symptoms_that_causes_name_exist() -> None:
    for signature in SYMPTOMS.signatures.values():
        for cause in signature.points_to:
            others = {*cause.with_symptom, *cause.and_symptom, *cause.without_symptom}
            assert others <= set(SYMPTOMS.signatures), signature.id


def test_conditions_ask_for_facts_that_there_are() -> None:
    for signature in SYMPTOMS.signatures.values():
        for cause in signature.points_to:
            for name in (*cause.when, *cause.unless):
                assert ":" in name or Snapshot().get(name) is None, (signature.id, name)
