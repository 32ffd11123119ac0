"""What is told of copies between GPUs and network cards, of limits and heat: each with what nearly says it."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, names_not, told

RADEON = (
    "$ rocminfo\n  Name:                    gfx900\n  Marketing Name:          Radeon RX Vega\n  Vendor Name: AMD\n"
)
GFX1201 = RADEON.replace("gfx900", "gfx1201").replace("RX Vega", "RX 9070")
INSIDE = "Container:\n```\nrunning inside a container: yes\ncontainer engine: docker\n```\n"
CASES = [
    ("all_reduce_perf hangs when GPU Direct RDMA is enabled", "pcie-acs-enabled"),
    ("without GDR it runs through\nnccl-tests over two nodes crash", "pcie-acs-enabled"),
    ("all_gather hangs over InfiniBand\nNCCL_NET_GDR_LEVEL=LOC works", "pcie-acs-enabled"),
    (
        "NCCL WARN NET/IB: Got completion from peer 10.1.0.4<5162> with status=10 opcode=2 len=0 vendor err 136",
        "pcie-acs-enabled",
    ),
    (
        "transport/net_ib.cc:914 NCCL WARN NET/IB : Got completion with error 4, opcode 0, len 8192, vendor err 81",
        "pcie-acs-enabled",
    ),
    (
        "transport/net_ib.cc:914 NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129",
        "collective-flag-misconfigured",
    ),
    ("RuntimeError: CUDA error: mapping of buffer object failed\nGPU 0: NVIDIA RTX A5000", "large-bar-disabled"),
    ("cudaErrorMapBufferObjectFailed in cudaDeviceEnablePeerAccess", "large-bar-disabled"),
    (RADEON + "hipDeviceCanAccessPeer returns 0 for both GPUs", "large-bar-disabled"),
    (RADEON + "peer access is not available between the two cards", "large-bar-disabled"),
    (INSIDE + "mlx5dv_devx_umem_reg failed: Operation not permitted", "container-security-profile"),
    (INSIDE + "ibgda.cpp:1912: NULL value cannot allocate mlx5dv_devx_uar", "container-security-profile"),
    (
        "ERROR cufio:297 cuFileHandleRegister error, file checks failed\n"
        "ERROR cufio-fs:199 NVMe Driver not registered with nvidia-fs!!!",
        "gpudirect-rdma-missing",
    ),
    ("the card reaches 104 °C and the machine reboots\n" + RADEON, "gpu-throttled"),
    ("at 95 C the clocks drop to half\nGPU 0: NVIDIA L40S", "gpu-throttled"),
    ("freezes once the hotspot is at 110C\n" + RADEON, "gpu-throttled"),
    (
        RADEON + "sendrecv_perf fails: out of memory\nHSA_FORCE_FINE_GRAIN_PCIE was not set",
        "collective-flag-misconfigured",
    ),
    ("sudo python train.py finds no GPU\nwithout sudo it works", "env-not-seen-by-service"),
    (
        "transport/nvls.cc:170 NCCL WARN Cuda failure 'operation not permitted'\nGPU 0: NVIDIA H200",
        "nvidia-fabricmanager-not-running",
    ),
    (
        "[0] transport/nvls.cc:254 NCCL WARN Cuda failure 999 'unknown error'",
        "nvidia-fabricmanager-not-running",
    ),
    (
        "RuntimeError: Get GPU arch from rocminfo failed 'Unknown GPU architecture: gfx1103. Supported: [gfx942]'",
        "companion-kernel-lib-outdated",
    ),
    (
        "what():  stoi\n$ env\nCUDA_VISIBLE_DEVICES=MIG-7d5d1b32-0c1f-5a52-9d2e-0a5b3e1f0c11",
        "visible-devices-conflict",
    ),
    (
        'strconv.Atoi: parsing "GPU-7d5d": invalid syntax\n$ env\nHIP_VISIBLE_DEVICES=GPU-7d5d1b320c1f5a52',
        "visible-devices-conflict",
    ),
    ("RCCL uses shared memory between the cards\n" + RADEON, "collective-flag-misconfigured"),
    ("hasFineGrainVramPcie() returns 0\n" + RADEON, "collective-flag-misconfigured"),
    (
        "NCCL WARN no device found matching exactly ens9, verify NCCL_OOB_NET_IFNAME",
        "collective-flag-misconfigured",
    ),
    (
        "NCCL WARN Net : error encountered when getting address info : Temporary failure in name resolution",
        "collective-flag-misconfigured",
    ),
    ("NCCL WARN TOPO/NET : Only matched 1 devices, 2 requested from mlx5_0,mlx5_9", "collective-flag-misconfigured"),
    ("all_gather gives wrong data\nwith GPU Direct RDMA off the sums are right", "pcie-acs-enabled"),
    ("NCCL WARN P2P is disabled between NVLINK connected GPUs 4 and 5", "pcie-p2p-unusable"),
    ("NCCL WARN Call to ibv_reg_mr_iova2 failed with error Bad address", "gpudirect-rdma-missing"),
    (
        "cudaIpcGetMemHandle failed : invalid argument\n$ env\nPYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        "allocator-flag-unsupported",
    ),
    ("NCCL WARN cudaIpcGetMemHandle failed : invalid argument", "pcie-p2p-unusable"),
    (
        "tensor parallel over four cards hangs\nthe kernel command line has no iommu parameter",
        "iommu-not-passthrough",
    ),
    (
        "ValueError: current limit exceeds maximum limit\nresource.setrlimit(resource.RLIMIT_NOFILE, (65536, 65536))",
        "nofile-limit-too-low",
    ),
    ("NCCL INFO Using network Socket\nexpected NET/IB, allreduce is slow", "collective-flag-misconfigured"),
    ("allreduce goes over TCP instead of RoCE and is slow\nNCCL 2.27", "collective-flag-misconfigured"),
    ("limits:\n  alpha.kubernetes.io/nvidia-gpu: 2\nthe pod stays Pending", "scheduler-no-gpu-allocated"),
    (
        "NCCL's all_reduce hangs on two cards\nwith P2P off it runs\nGPU 0: NVIDIA L40S\nGPU 1: NVIDIA L40S",
        "pcie-p2p-unusable",
    ),
    ("gdr_open error: Is gdrdrv driver installed and loaded?", "gpudirect-rdma-missing"),
    ("UCX ERROR no active messages transport to node7: Unsupported operation", "collective-flag-misconfigured"),
    ("RuntimeError: makeDeviceForInterface(): unsupported gloo device", "collective-flag-misconfigured"),
    ("# Out of bounds values : 14 FAILED\n# Avg bus bandwidth : 8.1", "pcie-p2p-unusable"),
    (
        "ValueError: Inconsistant values found in HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES",
        "visible-devices-conflict",
    ),
    (RADEON + "inference is slow\npower_dpm_force_performance_level: low", "gpu-throttled"),
    (RADEON + "slow generation; the performance level is stuck at low", "gpu-throttled"),
    (
        INSIDE + "the model server finds no GPU after a night\nafter restarting the container the GPUs are back",
        "container-lost-devices",
    ),
    ('ValueError: XLA_PYTHON_CLIENT_ALLOCATOR env var must be "default" or "platform"', "allocator-flag-unsupported"),
    ("GPU 0: NVIDIA GeForce RTX 4060 Laptop GPU\nBD-PROCHOT is asserted by the board", "gpu-throttled"),
    ("ib_read_bw -a over two hosts: Couldn't allocate MR", "memlock-limit-too-low"),
    ("training got slower\nexport CUBLAS_WORKSPACE_CONFIG=:16:8", "debug-flag-left-on"),
    ("export CUDA_MODULE_LOADING=FAST\nthe start is slow", "env-flag-unknown-or-renamed"),
    (RADEON + "garbage from the cards behind PCIe splitters", "pcie-link-degraded"),
    ("GPU 0: NVIDIA L40\nthe card is too hot and its speed is below the usual", "gpu-throttled"),
    (
        GFX1201 + "matrix products are slow\nROCBLAS_USE_HIPBLASLT=0 speeds them up",
        "hipblaslt-unsupported-arch",
    ),
    (GFX1201 + "hipBLASLt is slower than rocBLAS in FP32", "hipblaslt-unsupported-arch"),
    ("error: Discarding the following config-only GPU due to lack of File specification", "scheduler-no-gpu-allocated"),
    (
        "UCXPY  DEBUG Error callback for endpoint 0x7f called with status -6: Destination is unreachable",
        "collective-flag-misconfigured",
    ),
    (
        "GPU 0: NVIDIA RTX A2000\nGPU 1: NVIDIA RTX A6000\nnvidia-smi lists the cards in a different order than torch",
        "visible-devices-conflict",
    ),
    ("GPU 0: NVIDIA L4\nGPU 1: NVIDIA A40\ndevice 1 is not GPU 1 of nvidia-smi", "visible-devices-conflict"),
    (
        "OS: Ubuntu under WSL2\ncudaHostAlloc fails with out of memory at 2 GB\nGPU 0: NVIDIA T1000",
        "wsl-gpu-misconfigured",
    ),
    ("error invoking 'nvcc --version': [Errno 2]\nit works in the terminal", "env-not-seen-by-service"),
    ("nvcc builds fail\nthe compiler is found for alice but not for bob", "env-not-seen-by-service"),
    ("aiter: the tuned file has cu_num 304, the GPU 80", "companion-kernel-lib-outdated"),
    (
        "all_gather returns wrong data\nwith NCCL_BUFFSIZE=4194304 it is right\n$ env\nNCCL_BUFFSIZE=1000000",
        "collective-flag-misconfigured",
    ),
    (
        "GPU 0: NVIDIA RTX A5000\nGPU 1: NVIDIA RTX A5000\nNCCL's all_reduce hangs\nthe NVLink bridge was loose",
        "pcie-p2p-unusable",
    ),
    (
        "GPU 0: NVIDIA L4\nthe server does not start, insufficient GPU memory\ntwo models share the same GPU",
        "gpu-memory-exhausted",
    ),
    ("NCCL INFO Using network Socket\nRoCE was expected, the sweep crawls", "collective-flag-misconfigured"),
    ("tensor parallel of 4 hangs\n/proc/cmdline: quiet splash, no iommu option", "iommu-not-passthrough"),
]
NEARLY = [
    ("all_gather is slow\nwith NCCL_BUFFSIZE=4194304 it is right", "collective-flag-misconfigured"),
    ("GPU 0: NVIDIA L4\ninsufficient memory of the host\none model on the GPU", "gpu-memory-exhausted"),
    ("GPU 0: NVIDIA L4\nGPU 1: NVIDIA A40\ndevice 1 is GPU 1 of nvidia-smi", "visible-devices-conflict"),
    ("cudaHostAlloc fails with out of memory at 2 GB\nGPU 0: NVIDIA T1000", "wsl-gpu-misconfigured"),
    ("error invoking 'nvcc --version': [Errno 2]", "env-not-seen-by-service"),
    ("nvcc builds\nthe tool is found for alice and for bob", "env-not-seen-by-service"),
    ("GPU 0: NVIDIA L40\na hot summer day, the usual speed", "gpu-throttled"),
    (GFX1201 + "ROCBLAS_USE_HIPBLASLT=0 is set\nmatrix products are slow", "hipblaslt-unsupported-arch"),
    (INSIDE + "after restarting the container the model is loaded again", "container-lost-devices"),
    ("XLA_PYTHON_CLIENT_ALLOCATOR=platform", "allocator-flag-unsupported"),
    ("GPU 0: NVIDIA GeForce RTX 4060 Laptop GPU\nPROCHOT: 0", "gpu-throttled"),
    ("GPU 0: NVIDIA H100\nib_read_bw --use_cuda=0: Couldn't allocate MR", "memlock-limit-too-low"),
    ("export CUBLAS_WORKSPACE_CONFIG=:16:8\nthe run is repeatable", "debug-flag-left-on"),
    ("export CUDA_MODULE_LOADING=EAGER\nthe start is slow", "env-flag-unknown-or-renamed"),
    (RADEON + "an HDMI splitter is on the desk; garbage comes out", "pcie-link-degraded"),
    ("gdr_open returned a handle", "gpudirect-rdma-missing"),
    ("# Out of bounds values : 0 OK\nthe test hangs afterwards", "pcie-p2p-unusable"),
    (RADEON + "power_dpm_force_performance_level: auto\nslow generation", "gpu-throttled"),
    ("one card runs; the kernel command line has no iommu parameter", "iommu-not-passthrough"),
    ("resource.setrlimit(resource.RLIMIT_NOFILE, (65536, 65536)) is called at the start", "nofile-limit-too-low"),
    ("NCCL INFO Using network Socket\nexpected: NET/IB/0/GDRDMA", "collective-flag-misconfigured"),
    ("limits:\n  nvidia.com/gpu: 2\nthe pod runs", "scheduler-no-gpu-allocated"),
    ("NCCL WARN Call to ibv_reg_mr_iova2 failed with error Bad address", "memlock-limit-too-low"),
    ("NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "gpudirect-rdma-missing"),
    (
        "cudaIpcGetMemHandle failed : invalid argument\n$ env\nPYTORCH_ALLOC_CONF=expandable_segments:True",
        "pcie-p2p-unusable",
    ),
    ("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\nhipIpcGetMemHandle is called twice", "pcie-p2p-unusable"),
    ("transport/nvls.cc:254 NCCL WARN Cuda failure 2 'out of memory'", "nvidia-fabricmanager-not-running"),
    ("transport/p2p.cc:254 NCCL WARN Cuda failure 'invalid argument'", "nvidia-fabricmanager-not-running"),
    ("transport/nvls.cc:394 -> 1", "nvidia-fabricmanager-not-running"),
    ("Get GPU arch from rocminfo: gfx942", "companion-kernel-lib-outdated"),
    ("what():  stoi\n$ env\nCUDA_VISIBLE_DEVICES=0,1", "visible-devices-conflict"),
    ("Could not create cudnn handle: CUDNN_STATUS_ARCH_MISMATCH", "gpu-memory-exhausted"),
    ("RCCL works through the night\np2pTransport is used\n" + RADEON, "collective-flag-misconfigured"),
    ("no device found matching 10de:2204", "collective-flag-misconfigured"),
    ("NCCL_NET_GDR_LEVEL=0 in the job's script, bandwidth is low", "pcie-acs-enabled"),
    ("all_reduce_perf hangs\nNCCL_P2P_DISABLE=1 works but is slow", "collective-flag-misconfigured"),
    ("all_reduce_perf hangs\nNCCL_NET_GDR_LEVEL=0 works", "collective-flag-misconfigured"),
    (
        "NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129",
        "pcie-acs-enabled",
    ),
    ("GPU 0: NVIDIA L4\npeer access is not available between the two cards", "large-bar-disabled"),
    (INSIDE + "$ docker run --privileged app\nmlx5dv_devx_umem_reg failed", "container-security-profile"),
    ("ERROR cufio-drv:716 nvidia-fs.ko driver not loaded\nNOTICE running in compatible mode", "gpudirect-rdma-missing"),
    ("GPU Shutdown Temp : 96 C\nthe program hangs\nGPU 0: NVIDIA L4", "gpu-throttled"),
    ("Failed to get maximum temperature, defaulting to 110 C; the tool crashes", "gpu-throttled"),
    ("sudo python train.py finds no GPU\nwithout sudo it works", "device-node-permission"),
]


test_it_is_named = names(CASES, first=True)
test_what_nearly_says_it = names_not(NEARLY)


def test_a_path_that_is_off_and_slow_is_still_told() -> None:
    assert "path-turned-off-told" in keys("NCCL_SHM_DISABLE=1 is an old workaround that we left in the image")
    assert "path-turned-off-told" in keys("NCCL_IB_DISABLE=1 is slow")
    assert "path-turned-off-told" not in keys("NCCL_P2P_DISABLE=1 works and is slow")


def test_what_rccl_warns_of_is_no_statement_of_a_person() -> None:
    assert "fine-grain-not-set-told" in keys("HSA_FORCE_FINE_GRAIN_PCIE is not set")
    assert "fine-grain-not-set-told" not in keys('NCCL WARN Missing "HSA_FORCE_FINE_GRAIN_PCIE=1" from environment')
    assert "fine-grain-not-set-told" not in keys("HSA_FORCE_FINE_GRAIN_PCIE=1 is set")


def test_a_refused_handle_of_tensorflow_may_be_memory_and_libraries() -> None:
    text = "failed to create cublas handle: CUBLAS_STATUS_INTERNAL_ERROR\nGPU 0: NVIDIA RTX A4000"
    assert told(text)[:1] == ["gpu-memory-exhausted"]
    text = "Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\nGPU 0: NVIDIA RTX A4000"
    assert set(told(text)[:2]) == {"gpu-libs-conflict", "gpu-memory-exhausted"}


def test_work_that_runs_without_copies_between_gpus() -> None:
    assert "p2p-off-works" in keys("with P2P disabled it runs")
    assert "p2p-off-works" in keys("without P2P the test completes")
    assert "p2p-off-works" not in keys("with P2P off nothing is printed")


@pytest.mark.parametrize(
    "text", ["a step takes three times as long", "copies crawl", "it takes much longer than before"]
)
def test_what_takes_longer_is_slow(text: str) -> None:
    assert "said-slow" in keys(text)


def test_what_takes_its_time_is_not_slow() -> None:
    assert "said-slow" not in keys("a step takes as long as before")


LENT = "cudaIpcOpenMemHandle: cudaErrorMapBufferObjectFailed\n"


def test_memory_that_another_container_lends_is_not_mapped_by_the_bus() -> None:
    assert "large-bar-disabled" in told(LENT + "it is shared between two processes\n")
    assert "large-bar-disabled" not in told(LENT + "it is shared between two pods without hostIPC\n")


HOT = "GPU 0: NVIDIA GeForce RTX 3080\n"
ROCM_LIBRARY = "libhipblas.so.2: cannot open shared object file: No such file or directory\n"
OTHER_SONAME = "the system has libhipblas.so.3\n"
TOLD_AGAIN = [
    (HOT + "hashrate is far below what others get\nthe temperature is extremely high", "gpu-throttled"),
    (HOT + "only 20 MH/s instead of 100 MH/s\nVRAM temperature 110 degrees", "gpu-throttled"),
    (HOT + "3 it/s instead of 12\nGPU temperature 91.5 C", "gpu-throttled"),
    ("GPU 0: Radeon RX 580\nthe log is full of IOMMU faults of the GPU", "iommu-not-passthrough"),
    ("GPU 0: Radeon RX 580\nDMAR faults while the driver starts", "iommu-not-passthrough"),
    (
        "GPU 0: Radeon RX 580\namdgpu: ring gfx timeout\nCONFIG_INTEL_IOMMU_DEFAULT_ON=y in this kernel only",
        "iommu-not-passthrough",
    ),
    (HOT + "loss is NaN with certain pairs of GPUs", "pcie-p2p-unusable"),
    (HOT + "one pair of the cards hangs, every other works", "pcie-p2p-unusable"),
    (ROCM_LIBRARY + OTHER_SONAME + "onnxruntime-rocm from pip", "onnxruntime-gpu-mismatch"),
    (ROCM_LIBRARY + "providers: MIGraphXExecutionProvider, CPUExecutionProvider", "onnxruntime-gpu-mismatch"),
    (ROCM_LIBRARY + "tensorflow-rocm latest", "tensorflow-gpu-mismatch"),
    (ROCM_LIBRARY + "jax-rocm60-plugin from PyPI", "jax-plugin-mismatch"),
    (ROCM_LIBRARY + OTHER_SONAME, "torch-rocm-version-mismatch"),
]
NEARLY_AGAIN = [
    (HOT + "3 it/s instead of 12\nGPU temperature 62 C", "gpu-throttled"),
    (HOT + "hashrate is far below what others get\nthe temperature is not too high", "gpu-throttled"),
    (HOT + "tokens come slower than before\nsampling temperature 0.95, top_p 0.9", "gpu-throttled"),
    (HOT + "tokens come slower than before\ntemperature: 0.95", "gpu-throttled"),
    ("GPU 0: Radeon RX 580\nno IOMMU faults in the log", "iommu-not-passthrough"),
    ("GPU 0: Radeon RX 580\nDMAR: IOMMU fault reporting is on", "iommu-not-passthrough"),
    ("GPU 0: Radeon RX 580\nCONFIG_INTEL_IOMMU_DEFAULT_ON=y", "iommu-not-passthrough"),
    (HOT + "all pairs of GPUs pass the test", "pcie-p2p-unusable"),
    (HOT + "some pairs of words come out wrong", "pcie-p2p-unusable"),
    (ROCM_LIBRARY + OTHER_SONAME + "onnxruntime-rocm from pip", "torch-rocm-version-mismatch"),
    (ROCM_LIBRARY + OTHER_SONAME + "tensorflow-rocm latest", "torch-rocm-version-mismatch"),
]
test_what_is_told_in_words_is_named = names(TOLD_AGAIN)
test_what_nearly_tells_it = names_not(NEARLY_AGAIN)


@pytest.mark.parametrize("text", ["20 MH/s instead of 100", "60 s/it, 3 expected", "12 fps (expected 60)"])
def test_a_rate_is_slow_beside_what_was_expected(text: str) -> None:
    assert "said-slow" in keys(text)


@pytest.mark.parametrize(
    "text", ["40 tok/s as expected", "after the change 40 tok/s instead of 12", "now 60 fps instead of 12"]
)
def test_a_rate_that_became_better_is_not_slow(text: str) -> None:
    assert "said-slow" not in keys(text)


CARD = "GPU 0: Radeon RX 7900 XTX (gfx1100)\n"
BESIDE = "GPU 1: AMD Radeon Graphics (gfx1036)\n"


def test_code_that_one_of_two_gpus_lacks() -> None:
    """HIP names its error, and no program's sentence stands beside it: the GPU in the processor is shown as well."""
    assert "integrated-gpu-conflict" in told(CARD + BESIDE + "the call returned hipErrorNoBinaryForGpu\n")
    assert "integrated-gpu-conflict" not in told(CARD + "the call returned hipErrorNoBinaryForGpu\n")
