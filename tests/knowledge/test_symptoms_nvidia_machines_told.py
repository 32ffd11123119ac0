"""What is told of NVIDIA machines as a whole: each case with one that nearly is it."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, names_not, told

INSIDE = "running inside a container: yes\n\n"
HANDLE = "Unable to determine the device handle for GPU 0000:02:01.0: Unknown Error\n\n"
NO_NV = "INFO:    Could not find any nv files on this host!\n\n"
NO_CUDA = "torch.cuda.is_available() is False\n\n"
DENIED = "Failed to initialize NVML: Insufficient Permissions\n\n" + INSIDE
NOT_COMPATIBLE = "Error 804: forward compatibility was attempted on non supported HW\n\n"
IMPLICIT = (
    "/build/NVIDIA-Linux-x86_64-470.223.02/kernel/nvidia/nv-acpi.c:84:5: error: implicit declaration of function "
    "'acpi_bus_get' [-Wimplicit-function-declaration]\n\n"
)
BUILD_FAILED = "Error! Bad return status for module build on kernel: 6.8.1 (x86_64)\nmodule nvidia/550.90.07\n\n"
HANGING = "NCCL hangs at the first all_reduce\n\n"
CASES = [
    ("GPU: NVIDIA A40\n\nnode gn07 has lost a GPU", "nvidia-xid-fatal"),
    ("NVIDIA RTX A6000\n\nnvidia-smi shows 7 of 8 GPUs since the reboot", "nvidia-xid-fatal"),
    ("Tesla V100, driver 535.104\nafter the restart the server came up one GPU short", "nvidia-xid-fatal"),
    ("nvidia-smi -L lists only 3 of the 4 cards, GPU 0: NVIDIA L4", "nvidia-xid-fatal"),
    ("the VM hangs at boot when the GPU is passed through\nNVIDIA A100 80GB", "large-bar-disabled"),
    (
        "the virtual machine does not start with the card\nNVIDIA GPU with 48 GB of memory",
        "large-bar-disabled",
    ),
    ("the guest freezes as soon as the GPU is added, Tesla P40", "large-bar-disabled"),
    (HANDLE + 'GTX 1060 in a KVM guest\nit works with <hidden state="on"/>', "nvidia-driver-not-loaded"),
    ("No devices were found\nVMware guest, hypervisor.cpuid.v0 = FALSE helps\n\nGTX 1650", "nvidia-driver-not-loaded"),
    (
        "nvidia-smi: No devices were found\n\nwith -cpu host,kvm=off the GeForce is found",
        "nvidia-driver-not-loaded",
    ),
    ("Unable to determine the device handle for GPU 0000:D8:00.0: Not Found", "nvidia-driver-not-loaded"),
    (
        "gcc: error: unrecognized command-line option '-ftrivial-auto-var-init=zero'\nDKMS: nvidia/535.98",
        "host-compiler-unsupported",
    ),
    ("cc1: error: unrecognized command line option '-mharden-sls=all'\nnvidia.ko", "host-compiler-unsupported"),
    (
        "gcc: error: unrecognized argument in option '-fzero-call-used-regs=used-gpr'\nnvidia-550",
        "nvidia-driver-not-loaded",
    ),
    (IMPLICIT + "gcc (GCC) 14.1.1", "host-compiler-unsupported"),
    (IMPLICIT + "gcc version 15.1.0", "host-compiler-unsupported"),
    (IMPLICIT + "built with gcc-14.2.0", "host-compiler-unsupported"),
    (NO_CUDA + "the conda environment was created on the login node", "torch-cpu-only-build"),
    (
        NO_CUDA + "mamba install pytorch run on a CPU-only node; nvidia-smi works on the other",
        "torch-cpu-only-build",
    ),
    (NO_CUDA + "micromamba env was made on a machine without a GPU", "torch-cpu-only-build"),
    ("MIG devices are not visible in the container\nNVIDIA A100, --nvccli", "container-missing-gpu-passthrough"),
    ("the pod does not see any MIG, H100 with two slices", "container-missing-gpu-passthrough"),
    ("MIG instances missing inside the singularity container, A30", "container-missing-gpu-passthrough"),
    ("NCCL bandwidth is low\nwith NCCL_NET_GDR_LEVEL=SYS it is as expected", "collective-flag-misconfigured"),
    ("all_reduce hangs on RoCE\nsetting NCCL_IB_GID_INDEX=3 solved it", "collective-flag-misconfigured"),
    ("NCCL is slow between nodes; with NCCL_CROSS_NIC=0 it reaches line rate", "collective-flag-misconfigured"),
    (DENIED + "crw-rw---- 1 root gpuusers 195,   0 May  2 10:00 /dev/nvidia0", "device-node-permission"),
    (DENIED + "crw-rw----. 1 root video 195, 255 nvidiactl", "device-node-permission"),
    (NO_NV + "[kim@login02 ~]$ apptainer exec --nv torch.sif python", "scheduler-no-gpu-allocated"),
    (NO_NV + "ana@login-1:~$ singularity run --nv app.sif", "scheduler-no-gpu-allocated"),
    (NO_NV + "apptainer in a VirtualBox guest", "container-engine-no-gpu-support"),
    (NO_NV + "singularity is run in a vagrant box", "container-engine-no-gpu-support"),
    (
        NOT_COMPATIBLE + "NVIDIA driver version: 525.85.12\n$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 3060\n",
        "nvidia-driver-too-old",
    ),
    ("slurmd: fatal: gres.conf duplicate records for gpu\n\nnode with two GPUs", "scheduler-no-gpu-allocated"),
    (
        'slurmd: fatal: gres.conf for gpu, some records have "Type=" specification while others do not',
        "scheduler-no-gpu-allocated",
    ),
    (
        'slurmctld: error: _node_config_init: gres/gpu lacks "File=" parameter for node gpu03',
        "scheduler-no-gpu-allocated",
    ),
    ("slurmctld: error: Attempt to change gres/gpu Count on node n5 from 4 to 2", "scheduler-no-gpu-allocated"),
    (
        "sbatch: error: Batch job submission failed: Invalid GRES specification (with and without type identification)",
        "scheduler-no-gpu-allocated",
    ),
    ("slurmd: fatal: GresTypes: gres/shard requires that gres/gpu also be configured", "scheduler-no-gpu-allocated"),
    (
        "slurmctld: gres/gpu: Count changed on node g1 (7 != 2)\n\nthe A100 has other MIG instances now",
        "mig-misconfigured",
    ),
    (
        "slurmctld: error: Setting node n1 state to INVAL with reason:gres/gpu count "
        "reported lower than configured (3 < 7)\n\nMIG was turned off on one of the A100s",
        "mig-misconfigured",
    ),
    ("reason=gres/gpu count too low (2 < 4)\n\nMIG 3g.40gb instances, H100", "mig-misconfigured"),
    (
        "slurmd: We were configured with nvml functionality, but that lib wasn't found "
        "on the system. Attempted loading libnvidia-ml.so",
        "gpu-libs-not-found",
    ),
    (
        "slurmd: We were configured with nvml functionality, but that lib wasn't found on the system.",
        "scheduler-no-gpu-allocated",
    ),
    (
        "slurmd: Configured with rsmi, but that lib wasn't found. librocm_smi64.so: cannot open shared object file",
        "gpu-libs-not-found",
    ),
    ("slurmd: Configured with rsmi, but rsmi isn't enabled during the build.", "gpu-libs-not-found"),
    (
        "slurmd[57]: We were configured to autodetect nvml functionality, but we "
        "weren't able to find that lib when Slurm was configured.",
        "gpu-libs-not-found",
    ),
    ("slurmd does not start\n\nit opens libnvidia-ml.so\nonly libnvidia-ml.so.1 is there", "gpu-libs-not-found"),
    ("ld: cannot find -lcuda\n\nthere is libcuda.so.1 but no libcuda.so", "gpu-libs-not-found"),
    ("the monitor shows no GPU\n\nno libnvidia-ml.so, only libnvidia-ml.so.1 in /usr/lib64", "gpu-libs-not-found"),
    (
        "NVENC does not start\n\nlibnvidia-encode.so is missing, libnvidia-encode.so.1 is installed",
        "gpu-libs-not-found",
    ),
    (
        "/root/BUILD/nvidia_peer_memory-1.1/nv_peer_mem.c:46:10: fatal error: "
        "rdma/peer_mem.h: No such file or directory",
        "gpudirect-rdma-missing",
    ),
    ("dpkg: error processing package nvidia-peer-memory-dkms (--install):", "gpudirect-rdma-missing"),
    ("gdrdrv.c:312:5: error: too few arguments to function 'get_user_pages'", "gpudirect-rdma-missing"),
    ("nv_peer_mem does not build for this kernel\n\nMLNX_OFED 5.8", "gpudirect-rdma-missing"),
    (
        "jobs in the container cannot use InfiniBand\n\nno IPC_LOCK capability\n\n" + INSIDE,
        "container-security-profile",
    ),
    (
        "Unable to create QP. Failed to create QP. Couldn't create IB resource.\n\nthe pod does not have CAP_IPC_LOCK",
        "container-security-profile",
    ),
    ("ib_write_bw fails in docker\n\nIPC_LOCK is not added", "container-security-profile"),
    ("ibv_reg_mr failed in the container\n\nwithout the capability CAP_IPC_LOCK", "container-security-profile"),
    (
        "CUDA error: device-side assert triggered with DataParallel\n\nCPU: AMD EPYC 7402\none GPU works",
        "iommu-not-passthrough",
    ),
    ("accuracy does not go up with 2 GPUs\n\nThreadripper 1950X\nit works with one GPU", "iommu-not-passthrough"),
    (
        "loss is NaN as soon as data parallel is used\n\nAMD Ryzen Threadripper PRO "
        "5975WX, 4 x RTX A6000\non a single GPU it is fine",
        "iommu-not-passthrough",
    ),
    (
        "illegal memory access in multi-GPU training\n\nHost: AMD EPYC 7763\nevery run on one GPU is correct",
        "iommu-not-passthrough",
    ),
    (
        "NVRM: GPU 000f:01:00.0: RmInitAdapter failed! (0x62:0x1a:2631)\n\nproprietary modules\n\nGPU 0: NVIDIA GB10",
        "nvidia-open-module-required",
    ),
    (
        "nvidia-smi: No devices were found\n\nRTX 5090, driver 580 with the proprietary kernel modules",
        "nvidia-open-module-required",
    ),
    (
        "nvidia-smi finds no devices: No devices were found\nNVIDIA GeForce RTX 5070 Ti"
        "\nthe closed-source kernel module is installed",
        "nvidia-open-module-required",
    ),
    (
        "No devices were found\n"
        "\nthe proprietary flavour of 575.64 is what the image ships\nNVIDIA RTX PRO 6000 Blackwell",
        "nvidia-open-module-required",
    ),
    ("GPU 3 of the node has inactive links\n\nTesla V100-SXM2-32GB", "gpu-fabric-degraded"),
    ("all_reduce is slow\n\nnvidia-smi nvlink -s: two NVLinks of GPU 5 are inactive", "gpu-fabric-degraded"),
    ("NCCL bus bandwidth is half\nGPU 2 shows missing NVLinks", "gpu-fabric-degraded"),
    (HANGING + "with the NVLink bridge removed it runs\n\n2 x RTX 2080 Ti", "pcie-p2p-unusable"),
    (HANGING + "it works without the NVLink bridge, two RTX 3090", "pcie-p2p-unusable"),
    ("training on two RTX A6000 freezes only with the NVLink bridge", "gpu-fabric-degraded"),
    (HANGING + "when I unplug the NVLink it works\n\nTITAN RTX x2", "gpu-fabric-degraded"),
]
NEAR = [
    ("GPU: NVIDIA A40\n\nnode gn07 has lost its network", "nvidia-xid-fatal"),
    (INSIDE + "nvidia-smi shows 2 of 8 GPUs, NVIDIA A40", "nvidia-xid-fatal"),
    ("export CUDA_VISIBLE_DEVICES=0,1\nnvidia-smi lists 2 of 8 GPUs\nNVIDIA A40", "nvidia-xid-fatal"),
    ("rocm-smi: the node lost a GPU, AMD Instinct MI250X", "nvidia-xid-fatal"),
    ("the VM boots with the GPU, NVIDIA A100 80GB; the job hangs", "large-bar-disabled"),
    ("the VM hangs when the disk is full, Tesla P40", "large-bar-disabled"),
    ('<hidden state="on"/> is set\nGTX 1060, CUDA out of memory', "nvidia-driver-not-loaded"),
    ("Unable to determine the device handle for GPU 0000:D8:00.0: Not Found", "nvidia-xid-fatal"),
    ("gcc: error: unrecognized command-line option '-std=c++20'\nnvidia", "nvidia-driver-not-loaded"),
    (IMPLICIT + "gcc (GCC) 13.2.0", "host-compiler-unsupported"),
    ("main.c:3:5: error: implicit declaration of function 'foo'\ngcc version 14.2.0", "host-compiler-unsupported"),
    (NO_CUDA + "the conda environment was created on the GPU node", "torch-cpu-only-build"),
    (NO_CUDA + "conda install pytorch was run on a login node\nPyTorch version: 2.4.0+cu121", "torch-cpu-only-build"),
    (NO_CUDA + "conda install pytorch was run on a login node", "scheduler-no-gpu-allocated"),
    ("MIG devices are visible in the container\nNVIDIA A100", "container-missing-gpu-passthrough"),
    ("NCCL is slow\nwith NCCL_NET_GDR_LEVEL=SYS it is the same", "collective-flag-misconfigured"),
    ("NCCL is slow\nwith NCCL_CROSS_NIC=0 it still does not work", "collective-flag-misconfigured"),
    (HANGING + "it does not work without the NVLink bridge", "gpu-fabric-degraded"),
    (HANGING + "with the NVLink bridge removed it does not run", "gpu-fabric-degraded"),
    (DENIED + "crw-rw-rw- 1 root root 195,   0 /dev/nvidia0", "device-node-permission"),
    (DENIED + "crw-rw---- 1 root video 195,   0 /dev/nvidia0", "container-security-profile"),
    (NO_NV + "kim@gpu-node07:~$ apptainer exec --nv torch.sif python", "scheduler-no-gpu-allocated"),
    (NO_NV + "apptainer on Rocky Linux 9", "container-engine-no-gpu-support"),
    (
        NOT_COMPATIBLE + "NVIDIA driver version: 525.85.12\n$ nvidia-smi -L\nGPU 0: Tesla T4\n",
        "nvidia-driver-too-old",
    ),
    ("slurmd: fatal: gres.conf duplicate records for nic", "scheduler-no-gpu-allocated"),
    ("slurmctld: gres/nic: Count changed on node g1 (2 != 1)", "scheduler-no-gpu-allocated"),
    ("slurmctld: gres/gpu: Count changed on node g1 (4 != 3)\n\nGeForce RTX 3090", "mig-misconfigured"),
    ("slurmd: configured with nvml functionality, and the lib was found", "gpu-libs-not-found"),
    ("libnvidia-ml.so.1 is there and libnvidia-ml.so as well\n\nthe monitor shows no GPU", "gpu-libs-not-found"),
    ("only libnvidia-ml.so.1 is there\n\n" + INSIDE, "gpu-libs-not-found"),
    ("needs libcudnn.so.9, only libcudnn.so.8 is there\n\nit works", "gpu-libs-not-found"),
    ("main.c:12:3: error: 'foo' undeclared\n\nnv_peer_mem is loaded", "gpudirect-rdma-missing"),
    ("nv_peer_mem.c builds, no warnings", "gpudirect-rdma-missing"),
    ("vault in docker has no IPC_LOCK", "container-security-profile"),
    ("CUDA error: device-side assert triggered\n\nCPU: AMD EPYC 7402, 4 GPUs", "iommu-not-passthrough"),
    ("device-side assert triggered with DataParallel\n\nIntel Xeon Gold 6248\none GPU works", "iommu-not-passthrough"),
    (
        "CUDA error: device-side assert triggered with DataParallel\n\nAMD EPYC 7402\none GPU fails as well",
        "iommu-not-passthrough",
    ),
    (
        "RuntimeError: CUDA out of memory with DataParallel\n\nAMD EPYC 7402\none GPU works, accuracy is not good",
        "iommu-not-passthrough",
    ),
    (
        "nvidia-smi: No devices were found\n\n$ nvidia-smi -L"
        "\nGPU 0: NVIDIA GeForce GTX 1080\n\nproprietary kernel modules",
        "nvidia-open-module-required",
    ),
    (
        "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26:0xffff:1290)\n"
        "\nGPU 0: NVIDIA GeForce RTX 5090\nthe open modules are installed, not the proprietary modules",
        "nvidia-open-module-required",
    ),
    (
        "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26:0xffff:1290)\n"
        "\nGPU 0: NVIDIA GeForce RTX 5090\nthe proprietary driver was removed before",
        "nvidia-open-module-required",
    ),
    (
        "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26:0xffff:1290)\n"
        "\nGPU 0: Tesla V100-PCIE-16GB\nproprietary modules",
        "nvidia-open-module-required",
    ),
    ("Unable to retrieve NVLink information as all links are inactive\n\nRTX 3090", "gpu-fabric-degraded"),
    ("the throttle reasons are all inactive, GPU 3", "gpu-fabric-degraded"),
    ("check_nvlink_status: GPU 0 has nvlinks inactive: Link 4: Inactive", "gpu-fabric-degraded"),
    ("all_reduce works without an NVLink bridge, over PCIe", "pcie-p2p-unusable"),
    ("NCCL hangs with the NVLink bridge and without", "gpu-fabric-degraded"),
]

test_is_named = names(CASES)
test_near_one_is_not = names_not(NEAR)


@pytest.mark.parametrize("text", [HANDLE + "A100, bare metal", "GPU is lost. Reboot the system to recover this GPU"])
def test_handle_of_a_lost_gpu_stays_the_bus(text: str) -> None:
    assert told(text)[:1] == ["nvidia-xid-fatal"]


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("no headers package for the own kernel", "kernel-of-own-without-headers-told"),
        ("there are no headers installed for my custom kernel", "kernel-of-own-without-headers-told"),
    ],
)
def test_line_shows(line: str, key: str) -> None:
    assert key in keys(line)
