"""What people state of NVIDIA's driver, of containers and of settings (nvidia_statements.toml)."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, names_not, told

T4 = "\nGPU 0: Tesla T4\n"
T4_LISTED = "\n$ nvidia-smi -L\nGPU 0: Tesla T4\n"
POD = "\ncontainer engine: kubernetes\nthe nvidia driver pod does not start\n"
INSIDE = "\nrunning inside a container: yes\ncontainer engine: docker\n"
EXPANDABLE = "\nexport PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64,expandable_segments:True\n"
BUSY = "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable\n"
ASSERTS = 'NVML_SUCCESS == {} INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":838'
P2P_OFF = "\nexport NCCL_P2P_DISABLE=1\n"
PASSED = "container-missing-gpu-passthrough"
IMAGE = "CUDA error: device kernel image is invalid"
OLD_DRIVER = "\nNVIDIA driver version: 525.125.06\n"
NO_GPUS = "RuntimeError: No CUDA GPUs are available\n"

CASES = [
    ("the kernel log has errors of nouveau" + POD + T4, "nouveau-loaded"),
    ("nouveau driver is still active on the node" + POD + T4, "nouveau-loaded"),
    (NO_GPUS + "the nouveau kernel module was loaded" + T4, "nouveau-loaded"),
    ("nvidia-smi: NVML version mismatch", "nvidia-driver-library-mismatch"),
    ("gpu-feature-discovery says NVML version mismatch", "nvidia-driver-library-mismatch"),
    ("nvidia-smi shows a version mismatch", "nvidia-driver-library-mismatch"),
    ("works with docker run --gpus all, not when started from Portainer", "container-missing-gpu-passthrough"),
    ("GPU is seen with docker run --gpus all but not via docker compose", "container-missing-gpu-passthrough"),
    ("with --gpus all the GPU is there, it isn't there from the desktop app", "container-missing-gpu-passthrough"),
    (NO_GPUS + "the compose file has no reservations" + INSIDE, "container-missing-gpu-passthrough"),
    (NO_GPUS + "docker-compose.yml lacks the devices section" + INSIDE, "container-missing-gpu-passthrough"),
    (ASSERTS.format("r"), "gpu-memory-exhausted"),
    (ASSERTS.format("DriverAPI::get()->nvmlInit_v2_()"), "gpu-memory-exhausted"),
    (ASSERTS.format("r") + EXPANDABLE, "allocator-flag-unsupported"),
    (ASSERTS.format("r") + "\nexpandable segments are enabled", "allocator-flag-unsupported"),
    ("RDMA buffer MR registration failed: Bad address" + EXPANDABLE, "allocator-flag-unsupported"),
    ("custom_all_reduce.cuh:455 'invalid argument'" + EXPANDABLE, "allocator-flag-unsupported"),
    ("pidfd_getfd: Operation not permitted" + EXPANDABLE, "allocator-flag-unsupported"),
    ("NCCL WARN timeout, all_reduce hangs\nremoving NCCL_NET=IB fixed it", "collective-flag-misconfigured"),
    ("all_reduce hangs\nit is right without NCCL_ALGO, correct without NCCL_PROTO", "collective-flag-misconfigured"),
    ("wrong sums\nwithout these variables the sums are right" + P2P_OFF, "collective-flag-misconfigured"),
    ("wrong sums\nunsetting the variables helps" + P2P_OFF, "collective-flag-misconfigured"),
    (
        "NCCL WARN Error : no algorithm/protocol available\nexport NCCL_ALGO=Tree\nexport NCCL_PROTO=LL128",
        "collective-flag-misconfigured",
    ),
    (BUSY + "compute_mode = 3", "compute-mode-exclusive"),
    (BUSY + "computeMode: 1", "compute-mode-exclusive"),
    ("modprobe: ERROR: could not insert 'off': Invalid argument", "nvidia-driver-not-loaded"),
    ("modprobe: FATAL: Module off not found in directory /lib/modules/6.8.0-45-generic", "nvidia-driver-not-loaded"),
    (NO_GPUS + "the nvidia module is blacklisted" + T4, "nvidia-driver-not-loaded"),
    (NO_GPUS + "/etc/modprobe.d/off.conf: alias nvidia off" + T4, "nvidia-driver-not-loaded"),
    (NO_GPUS + "there is no driver installed on the node" + T4, "nvidia-driver-not-loaded"),
    (NO_GPUS + "the nvidia driver is not installed on this machine" + T4, "nvidia-driver-not-loaded"),
    ("failed to initialize NVML: ERROR_DRIVER_NOT_LOADED", "nvidia-driver-not-loaded"),
    ("nvmlDeviceGetHandleByIndex: ERROR_RESET_REQUIRED", "nvidia-xid-fatal"),
    ("NVIDIA A40\na GPU disappears under load until a cold boot", "nvidia-xid-fatal"),
    (
        "ibv_reg_mr failed: Input/output error\nNCCL WARN unhandled system error\nrun without --ulimit memlock=-1",
        "memlock-limit-too-low",
    ),
    ("packages installed with pip --user are found first", "python-user-site-leak"),
    ("the user packages are imported instead of the image's", "python-user-site-leak"),
    ("cuInit returns 804" + INSIDE, "cuda-compat-conflict"),
    ("cudaGetDeviceCount() failed with 803" + INSIDE, "cuda-compat-conflict"),
    ("import fails: undefined symbol _ZN3c104cuda9SetDeviceEi", "extension-abi-mismatch"),
    ("missing symbol `_ZN2at5sliceERKNS_6TensorE", "extension-abi-mismatch"),
    (NO_GPUS + "the driver 535.54 does not support CUDA 12.8" + T4, "nvidia-driver-too-old"),
    (NO_GPUS + "the driver supports only CUDA 12.2, torch is built for cu128" + T4, "nvidia-driver-too-old"),
    (
        "the GPU fails with an unknown error after a few hours, restarting the container helps" + INSIDE + T4,
        "container-lost-devices",
    ),
    (
        "CUDA is gone after some days; recreating the container brings it back" + INSIDE + T4,
        "container-lost-devices",
    ),
    (
        "nvidia-smi fails in the pod\nkubelet with cpuManagerPolicy: static" + INSIDE,
        "container-lost-devices",
    ),
    ("AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'", "torch-cpu-only-build"),
    ("AttributeError: module 'torch._C' has no attribute '_cuda_getCurrentRawStream'" + T4, "torch-cpu-only-build"),
    ("RuntimeError: torch.cuda.Stream requires CUDA support", "torch-cpu-only-build"),
    ("RuntimeError: Tried to instantiate dummy base class CUDAGraph", "torch-cpu-only-build"),
    ("RuntimeError: Cannot get CUDA generator without ATen_cuda library.", "torch-cpu-only-build"),
    ("RuntimeError: NVTX functions not installed. Are you sure you have a CUDA build?", "torch-cpu-only-build"),
    ("Could not run 'aten::empty_strided' with arguments from the 'CUDA' backend.", "torch-cpu-only-build"),
    ("RuntimeError: Distributed package doesn't have NCCL built in" + T4, "torch-cpu-only-build"),
    ("AttributeError: module 'torch._C' has no attribute '_nccl_version'", "torch-cpu-only-build"),
    (IMAGE + OLD_DRIVER + "$ pip list\ntorch 2.6.0+cu126", "nvidia-driver-too-old"),
    ("RuntimeError: Triton Error [CUDA]: " + IMAGE + OLD_DRIVER + "torch 2.8.0+cu129", "nvidia-driver-too-old"),
    ("nvidia-smi fails\nonly /dev/nvidia0 is there, /dev/nvidiactl is missing" + INSIDE, PASSED),
    ("CUDA error 999\n/dev/nvidia-uvm is not there inside, it is on the host" + INSIDE, PASSED),
    ("UserWarning: Failed to load custom C++ ops. Running on CPU mode Only!", "extension-abi-mismatch"),
    ("NameError: name '_C' is not defined", "extension-abi-mismatch"),
    ("ollama: 100% CPU" + OLD_DRIVER.replace("525.125.06", "470.223.02"), "nvidia-driver-too-old"),
    ("\"addmm_impl_cpu_\" not implemented for 'Half'" + T4_LISTED, "torch-cpu-only-build"),
    ("\"slow_conv2d_cpu\" not implemented for 'Half'" + T4_LISTED, "torch-cpu-only-build"),
    (
        "half precision evaluation (`--fp16_full_eval`) can only be used on CUDA devices" + T4_LISTED,
        "torch-cpu-only-build",
    ),
    ("module 'faiss' has no attribute 'StandardGpuResources'", "extension-abi-mismatch"),
    (
        "NCCL WARN NCCL library is too old. This application was compiled with NCCL version 2.29.2, but is running "
        "with NCCL library version 2.27.5.",
        "gpu-libs-conflict",
    ),
    ("NCCL WARN NET/IB: NCCL_IB_SUBNET_PREFIX_LEN=64 is out of range [1,32]", "collective-flag-misconfigured"),
    ("no device found after excluding ens3, verify NCCL_OOB_NET_IFNAME", "collective-flag-misconfigured"),
    ("XidCriticalError: Xid=79 on Device=GPU-1; marking device as unhealthy.", "nvidia-xid-fatal"),
    ("XidCriticalError: Xid=64 on Device=GPU-1; marking device as unhealthy.", "gpu-ecc-errors"),
    ("NVML not detected: ERROR_LIBRARY_NOT_FOUND", "container-runtime-not-configured"),
    ("CDI --device-list-strategy options are only supported on NVML-based systems", "container-runtime-not-configured"),
    ("MXNetError: Compile with USE_CUDA=1 to enable GPU usage", "extension-abi-mismatch"),
]
NEAR = [
    ("\"addmm_impl_cpu_\" not implemented for 'Half'", "torch-cpu-only-build"),
    ("\"addmm_impl_cpu_\" not implemented for 'Half'" + T4_LISTED + "torch 2.5.1+cu124", "torch-cpu-only-build"),
    ("\"histogram\" not implemented for 'Half'" + T4_LISTED, "torch-cpu-only-build"),
    ("module 'faiss' has no attribute 'Kmeans2'", "extension-abi-mismatch"),
    ("XidCriticalError: Xid=94 on Device=GPU-1; marking device as unhealthy.", "nvidia-xid-fatal"),
    ("AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'" + T4, "extension-abi-mismatch"),
    ("AttributeError: module 'torch._C' has no attribute '_cuda_clearCublasWorkspaces'", "torch-cpu-only-build"),
    ("Could not run 'aten::slow_conv3d_forward' with arguments from the 'CUDA' backend.", "torch-cpu-only-build"),
    ("System:\n```\nOS: Windows 11\n```\nDistributed package doesn't have NCCL built in", "torch-cpu-only-build"),
    (IMAGE + OLD_DRIVER.replace("525.125.06", "580.82.07") + "torch 2.8.0+cu129", "nvidia-driver-too-old"),
    (IMAGE + OLD_DRIVER + "torch 2.1.0+cu118", "nvidia-driver-too-old"),
    ("ollama: 100% GPU" + OLD_DRIVER.replace("525.125.06", "470.223.02"), "nvidia-driver-too-old"),
    ("ollama: 100% CPU" + OLD_DRIVER.replace("525.125.06", "570.133.20"), "nvidia-driver-too-old"),
    (NO_GPUS + "the nouveau driver is not loaded" + T4, "nouveau-loaded"),
    ("the nouveau driver is loaded" + T4, "nouveau-loaded"),
    ("nvidia-smi works, the protocol has a version mismatch", "nvidia-driver-library-mismatch"),
    ("docker run --gpus all works, the port is not shown in Portainer", "container-missing-gpu-passthrough"),
    (ASSERTS.format("r"), "allocator-flag-unsupported"),
    ("ValueError: bad value" + EXPANDABLE, "allocator-flag-unsupported"),
    ("pidfd_getfd: Operation not permitted", "allocator-flag-unsupported"),
    ("without NCCL_P2P_DISABLE=1 it still works badly", "collective-flag-misconfigured"),
    ("without NCCL_ALGO=Ring it does not work", "collective-flag-misconfigured"),
    ("the results are right without NCCL_DEBUG=INFO\nall_reduce hangs", "collective-flag-misconfigured"),
    ("NCCL WARN Error : no algorithm/protocol available", "collective-flag-misconfigured"),
    ("the nvidia module is blacklisted on purpose for the guest" + T4, "nvidia-driver-not-loaded"),
    ("there is no driver installed on the node, the operator brings it" + T4, "nvidia-driver-not-loaded"),
    ("a GPU disappears after suspend until a reboot", "nvidia-xid-fatal"),
    ("it runs without --ulimit memlock=-1", "memlock-limit-too-low"),
    ("pip install --user was used", "python-user-site-leak"),
    ("the call returns 803", "cuda-compat-conflict"),
    ("undefined symbol _ZN6google8protobuf", "extension-abi-mismatch"),
    ("the driver supports CUDA 12.4, torch is cu121" + T4, "nvidia-driver-too-old"),
]

test_is_named = names(CASES)
test_near_one_is_not = names_not(NEAR)


def test_pods_of_a_node_whose_driver_differs_wait_for_the_driver() -> None:
    found = told("NVML version mismatch\n0/3 nodes are available: 3 Insufficient nvidia.com/gpu")
    assert found == ["nvidia-driver-library-mismatch"]


def test_option_told_to_be_set_is_context() -> None:
    assert "expandable-segments-on-told" in keys("expandable_segments: True")
    assert "expandable-segments-on-told" not in keys("expandable_segments: False")


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("the compose file has no ports section", "compose-reserves-no-gpu-told"),
        ("removed the environment variables of the proxy, works", "without-these-variables-works-told"),
        ("compute_mode = 0", "compute-mode-number-told"),
        ("modprobe.d blacklists nvidiafb", "nvidia-module-blacklisted-told"),
        ("after a few hours the job ends, restarting the container works", "container-anew-after-hours-told"),
    ],
)
def test_line_does_not_show(line: str, key: str) -> None:
    assert key not in keys(line)
