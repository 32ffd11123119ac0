"""Limits of a container, libraries of an engine's list, modules that lend GPU memory, peer copies: lines that name
them, and lines near to these."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, names_not

SHM, CDI, PEER, FLAG = (
    *("container-shm-too-small", "cdi-spec-missing-or-stale"),
    *("pcie-p2p-unusable", "collective-flag-misconfigured"),
)
ACS, IOMMU, KNOWN = "pcie-acs-enabled", "iommu-not-passthrough", "known-bad-library-version"
RDMA, WSL, ATOMICS, JOB = (
    *("gpudirect-rdma-missing", "wsl-gpu-misconfigured"),
    *("pcie-atomics-missing", "scheduler-no-gpu-allocated"),
)
DRIVER = "NVIDIA driver version: 575.64.03\n"
ENGINE = "container engine: docker\n"
TWO = "GPU 0: NVIDIA RTX A6000\nGPU 1: NVIDIA RTX A6000\n"
LISTED = """$ rocminfo
*******
Agent 2
*******
  Name:                    gfx1100
  Marketing Name:          AMD Radeon RX 7900 XT
  Vendor Name:             AMD
  Device Type:             GPU
"""
POLARIS = "Radeon RX 570 4GB\nROCm 3.5\n"

test_named = names(
    [
        (ENGINE + "/dev/shm in this container is 64 MB\nthe scheduler ended, exitcode: -7", SHM),
        (ENGINE + "/dev/shm = 64MB\nthree workers, the job dies", SHM),
        (DRIVER + ENGINE + "libGLX_nvidia.so.570.133.07: no such file or directory", CDI),
        (DRIVER + ENGINE + "stat /usr/lib64/libnvidia-ml.so.570.133.07: not found", CDI),
        (TWO + "export GGML_CUDA_P2P=0\nthe model prints #######", PEER),
        (TWO + "export GGML_CUDA_P2P=1\nanswers are word salad", PEER),
        ("export NCCL_NET_GDR_LEVEL=SYS\nthe job on four nodes hangs in all_gather", FLAG),
        ("amdgpu_peermem is not loaded\nthe prefill worker aborts", RDMA),
        ("perftest over GPU memory fails\nib_peer_mem could not be found, Module ib_peer_mem not found", RDMA),
        ("nvidia-peermem fails to load\nthe RMA test hangs", RDMA),
        ("E0101 rdma_context.cpp:203] Failed to register memory 0x7f00aa000000: Bad address [14]", RDMA),
        ("RegisterRdmaMemoryRegion failed! addr:0x7f0, size:4096, accessFlag:15, errno:22 (Invalid argument)", RDMA),
        ("UCX ERROR failed to register address 0x7f00 (rocm) length 8 on md[4]=mlx5_0: Input/output error", RDMA),
        ("ibv_reg_mr on a GPU pointer gives EFAULT", RDMA),
        ("registration of GPU memory with the adapter fails, EFAULT", RDMA),
        ("/sys/kernel/mm/memory_peers is empty\nGPUDirect RDMA is slow", RDMA),
        ("OS: Ubuntu 24.04 (WSL2)\nhsa_init Failed, possibly no supported GPU devices\n" + LISTED, WSL),
        ("OS: WSL2\nCannot load librocdxg.so: cannot open shared object file\n" + LISTED, WSL),
        ('OS: WSL2\nUnable to find cuda lib under the names ["cuda", "nvcuda"]', WSL),
        ("OS: WSL2 Debian\nCUDA driver library cannot be found", WSL),
        ("OS: WSL2\nNumber of devices is 0", WSL),
        ("OS: WSL2\nLD_LIBRARY_PATH lacks /usr/lib/wsl/lib\nthe program runs on the CPU", WSL),
        (POLARIS + "ROCm platform not found\nall cards are in x1 slots", ATOMICS),
        (POLARIS + "no GPU found\nthe slot runs as PCIe Gen1", ATOMICS),
        ("export CUDA_VISIBLE_DEVICES=cleared by Ray\nthe server actor sees no GPU", JOB),
        ("No CUDA GPUs are available\nthe actor is made with num_gpus=0", JOB),
        (TWO + "scontrol show node shows Gres=(null)", JOB),
        (TWO + "in sinfo GRES is (null)", JOB),
        ("the sbatch script did not request a GPU\nnvidia-smi: No devices were found", JOB),
        ("a Slurm job without GPUs in its request\nNo CUDA GPUs are available", JOB),
        ('srun python3 -c "import torch; print(torch.cuda.is_available())" prints False', JOB),
        (ENGINE.replace("docker", "podman") + "libnvidia-egl-gbm.so.1.1.2 not found", CDI),
        ("failed to generate CDI spec: empty device edits\nthe pod does not start", CDI),
        ("failed to write spec: invalid CDI Spec\nunable to create CDI spec file for the claim", CDI),
        (TWO + "all_reduce_perf hangs\nACS bits are set on both root ports", ACS),
        (TWO + "all_reduce_perf hangs\nIOMMU and ACS are enabled in the BIOS", ACS),
        (TWO + "all_reduce_perf hangs\nIOMMU and ACS are enabled in the BIOS", IOMMU),
        (TWO + "all_gather hangs\nAMD-Vi in translated mode", IOMMU),
        ("OS: WSL2\nAssertion `props.EngineId.ui32.Major' failed.\n" + LISTED, WSL),
    ]
)

test_not_named = names_not(
    [
        (ENGINE + "/dev/shm is 32 GB\nthree workers, the job dies", SHM),
        ("/dev/shm is 64 MB on this laptop", SHM),
        (DRIVER + ENGINE + "libGLX_nvidia.so.575.64.03: no such file or directory", CDI),
        (DRIVER + ENGINE + "libcuda.so.570.133.07: cannot open shared object file: No such file or directory", CDI),
        (DRIVER + "libGLX_nvidia.so.570.133.07: no such file or directory", CDI),
        ("GPU 0: NVIDIA RTX A6000\nexport GGML_CUDA_P2P=1\nthe model prints #######", PEER),
        (TWO + "export GGML_CUDA_P2P=1\n##### Environment\nall models answer well", PEER),
        ("export NCCL_NET_GDR_LEVEL=PXB\nthe job on four nodes hangs in all_gather", FLAG),
        ("export NCCL_NET_GDR_LEVEL=SYS\nall_reduce_perf is done, busbw 340 GB/s", FLAG),
        ("nvidia_peermem is not needed, dma-buf is used", RDMA),
        ("nvidia_peermem is loaded\nthe job hangs", RDMA),
        ("no nvidia_peermem errors in dmesg\nthe job crashes", RDMA),
        ("Failed to register memory 0x7f00aa000000: Cannot allocate memory [12]", RDMA),
        ("OS: Ubuntu 24.04 (WSL2)\n" + LISTED, WSL),
        ("OS: Ubuntu 24.04\nNumber of devices is 0", WSL),
        ("OS: WSL2\nadd /usr/lib/wsl/lib to LD_LIBRARY_PATH\ntorch.cuda.is_available() is True", WSL),
        (POLARIS + "the miner runs well\nall cards are in x1 slots", ATOMICS),
        ("NVIDIA P106\nno GPU found\nthe card is in an x1 slot", ATOMICS),
        ("scontrol show node of the login node: Gres=(null)\nthe job is done", JOB),
        (TWO + "in squeue the reason is (null)", JOB),
        ("the actor is made with num_gpus=0.5\nNo CUDA GPUs are available", JOB),
        ("the sbatch script did not request a GPU\nthe job is done", JOB),
        ('srun --gpus=1 python3 -c "import torch; print(torch.cuda.is_available())" prints False', JOB),
        (ENGINE + "libnvidia-egl-gbm.so.1.1.2: cannot open shared object file: not found", CDI),
        ("failed to generate CDI spec: failed to initialize NVML: Driver Not Loaded", CDI),
        (TWO + "all_reduce_perf hangs\nno ACS enabled on any switch", ACS),
        (TWO + "all_reduce_perf hangs\nACS on all bridges is disabled", ACS),
        (TWO + "AllReduce hangs\nNCCL_P2P_DISABLE=1 avoids it", KNOWN),
        ("2x RTX 5090\nall_reduce hangs\nNCCL_P2P_DISABLE=1 with --enforce-eager works", KNOWN),
    ]
)


@pytest.mark.parametrize(
    "line",
    [
        "Found 0 CUDA devices",
        "there are 0 visible CUDA devices",
        "detected 0 GPUs",
        "number of GPUs (0) in the system",
        "Number of CUDA devices: 0",
        "hipGetDeviceCount returned 0",
        "GPU device count: 0",
    ],
)
def test_devices_counted_none(line: str) -> None:
    assert "no-device-counted-said" in keys(line)


@pytest.mark.parametrize(
    "line",
    [
        "Found 0 Vulkan devices",
        "number of devices is 0x10",
        "Number of OpenCL devices: 0",
        "level=INFO msg=inference found 0 GPUs",
        "XPU devices: 0, number of devices = 0",
        "found 0 devices in use",
        "number of GPUs: 08",
    ],
)
def test_counts_of_other_things(line: str) -> None:
    assert "no-device-counted-said" not in keys(line)
