"""NVIDIA's installer and what hinders it, node images without its driver, memory of the host: with near cases."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, raised, told

NOT_LOADED, KERNEL = "nvidia-driver-not-loaded", "nvidia-kernel-incompatible"
INFOROM, IMEX = "gpu-inforom-corrupted", "nvidia-imex-not-running"
NOT_CONFIGURED = "container-runtime-not-configured"
NO_GUEST = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
NO_NVML = "could not load NVML library: libnvidia-ml.so.1: cannot open shared object file\n"

CASES = [
    ("NVRM: Open nvidia.ko is only ready for use on Data Center GPUs.", "nvidia-open-module-unsupported-gpu"),
    ("RTX A4000: NVreg_OpenRmEnableUnsupportedGpus=1 helps", "nvidia-open-module-unsupported-gpu"),
    ("nvidia 550: make: *** /lib/modules/6.1.0-28-amd64/build: No such file or directory.  Stop.", NOT_LOADED),
    (
        "Building nvidia: Error! Your kernel headers for kernel 6.8.0-51-generic cannot be found at "
        "/lib/modules/6.8.0-51-generic/build or /lib/modules/6.8.0-51-generic/source.",
        NOT_LOADED,
    ),
    ("NVIDIA driver: ERROR: The kernel source path '/usr/src/linux' does not exist.", NOT_LOADED),
    ("nvidia-installer: ERROR: The kernel header file '/usr/src/linux/include/linux/kernel.h' does not exist.", KERNEL),
    ("NVIDIA driver 390\ncc-version-check failed:", NOT_LOADED),
    ("nvidia: *** Failed CC sanity check. Bailing out! ***", "host-compiler-unsupported"),
    ("ERROR: The nvidia-drm kernel module was not created.", KERNEL),
    ("The kernel you are installing for is a Xen kernel!", KERNEL),
    (
        "ERROR: The kernel module failed to load because it was not signed by a key that is trusted by the kernel.",
        "secure-boot-blocks-module",
    ),
    ("nvidia-installer: * Nouveau is present in the initramfs.", "nouveau-loaded"),
    ("nvidia-driver-daemonset fails\nnouveau is auto-loaded at boot", "nouveau-loaded"),
    ("nvidia driver fails\nthere is no blacklist for nouveau", "nouveau-loaded"),
    (NO_NVML + "AMI: amazon-eks-node-1.30-v20240928", NOT_LOADED),
    (NO_NVML + "node image: bottlerocket-aws-k8s-1.31-x86_64-v1.27.1", NOT_LOADED),
    (NO_NVML + "there are no NVIDIA packages on the host", NOT_LOADED),
    ("Jetson Xavier NX\nINFO:    Could not find any nv files on this host!", "container-engine-no-gpu-support"),
    ("nvidia-smi works\nCUDA error: cudaErrorUnknown", "nvidia-uvm-missing"),
    ("worked on 24.05\nRuntimeError: CUDA unknown error", "nvidia-uvm-missing"),
    ("NCCL hangs at the first all_reduce\nfour RTX A5000 GPUs passed through to a VM", "pcie-p2p-unusable"),
    ("iDRAC: Memory: Multi-bit memory error on DIMM_B4 (uncorrectable)", "host-machine-check"),
    ("RTX 3090 on a riser\nafter an hour the GPU fell off the bus", "nvidia-xid-fatal"),
    ("laptop with Thunderbolt dock: nvidia loses the eGPU under load", "nvidia-xid-fatal"),
    ("RTX 4090: the card disappears from lspci when training starts", "nvidia-xid-fatal"),
    ("Flatcar 3975.2.0\nnvidia.service: Failed with result 'exit-code'.", NOT_LOADED),
    (
        "Flatcar\nnvidia_runtime-v1.16.2-x86-64.raw\nUnit nvidia.service could not be found.",
        "container-toolkit-too-old",
    ),
    ("guest with an A40-12Q\nNVRM: The NVIDIA GPU was not created\n" + NO_GUEST, NOT_LOADED),
    ("nvidia-container-cli: initialization error: change root failed: no such file or directory", NOT_CONFIGURED),
    ("podman --gpus all\nwrite /proc/thread-self/attr/exec: invalid argument", "container-security-profile"),
    ("nvidia-smi says driver not loaded", NOT_LOADED),
    ("package akmod-nvidia-3:560.35.03-1.fc41.x86_64 requires kernel-devel-matched, but nothing provides", NOT_LOADED),
    ("nvidia-driver-550 : Depends: nvidia-dkms-550 but it is not going to be installed", NOT_LOADED),
    ("Quadro RTX 5000\nWARNING: infoROM is corrupted at gpu 0000:17:00.0", INFOROM),
    ("dcgmi health: A corrupt InfoROM has been detected in GPU 3.", INFOROM),
    ("health check of the node: nvidia-smi ended with exit code 14", INFOROM),
    ("MNNVL (cliqueSize 4) is available but not working on this system. Check the IMEX configuration", IMEX),
    ("GB300\nnvidia-imex.service: Failed with result 'exit-code'.", IMEX),
    ("GB200 NVL72: the IMEX daemon is not running on two trays", IMEX),
    ("[CUDA_ERROR_NOT_PERMITTED] operation not permitted in expression cuMemCreate(&handle, size, &prop, 0)", IMEX),
    ("two L40S: P2P copies are corrupted, through the host they are right", "pcie-p2p-unusable"),
    ("peer-to-peer transfers between the A6000s give wrong data", "pcie-p2p-unusable"),
    ("nvidia 0000:01:00.0: Unable to change power state from D3cold to D0, device inaccessible", "nvidia-xid-fatal"),
    ("RTX 5080 in an OCuLink dock: the GPU disconnects under load", "nvidia-xid-fatal"),
    ("Fan: ERR!\nnvidia-container-cli: detection error: nvml error: unknown error: unknown.", "nvidia-xid-fatal"),
    ("L4 node, reinstalled: lsmod shows no nvidia", NOT_LOADED),
    ("RTX 3070: afterwards lspci does not list the card", "nvidia-xid-fatal"),
    ("RTX 4070 laptop\nUnable to change power state from D3cold to D0, device inaccessible", "nvidia-xid-fatal"),
    ("NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x24:0xffff:1220)", "nvidia-xid-fatal"),
    ("GRID P40-6Q\nNVRM: GPU 0000:02:00.0: RmInitAdapter failed! (0x26:0xffff:1290)", NOT_LOADED),
    ("pynvml.NVMLError_InsufficientPower: Insufficient External Power", "nvidia-xid-fatal"),
    ("slurmd: fatal: can't stat gres.conf file /dev/nvidia2: No such file or directory", NOT_LOADED),
    ("nvidia: /dev/nvidia0 does not exist until nvidia-smi is run once", "nvidia-uvm-missing"),
]


test_the_cause_is_told = names(CASES)


NEAR = [
    ("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.86.15", "nvidia-open-module-unsupported-gpu"),
    ("amdgpu dkms: make: *** /lib/modules/6.8.0-40/build: No such file or directory.", NOT_LOADED),
    ("Warning: Compiler version check failed:\nKernel module compilation complete.", NOT_LOADED),
    ("nouveau is blacklisted, nvidia is loaded", "nouveau-loaded"),
    ("AMI: amazon-eks-node-1.30-v20240928", NOT_LOADED),
    (NO_NVML + "AMI: amazon-eks-node-al2023-x86_64-nvidia-560-1.31", NOT_LOADED),
    ("INFO:    Could not find any nv files on this host!", "container-engine-no-gpu-support"),
    ("nvidia-smi works, and after suspend: CUDA error: cudaErrorUnknown", "nvidia-uvm-missing"),
    ("two GPUs passed through to a VM", "pcie-p2p-unusable"),
    ("DIMM_A1: 32 GiB DDR5, 0 uncorrectable", "host-machine-check"),
    ("Radeon RX 7900 XTX: the card disappears from lspci", "nvidia-xid-fatal"),
    ("nvidia: we took the card off the shelf, and the GPU drops off in speed", "nvidia-xid-fatal"),
    ("nvidia.service - NVIDIA Configure Service, active (exited)", NOT_LOADED),
    ("nvidia_runtime-v1.17.4-x86-64.raw\nUnit nvidia.service could not be found.", "container-toolkit-too-old"),
    ("a guest with an A40-12Q", NOT_LOADED),
    ("write /proc/self/oom_score_adj: permission denied", "container-security-profile"),
    ("nvidia-driver-550 is already the newest version", NOT_LOADED),
    ("nvidia-smi: the infoROM is not corrupted", INFOROM),
    ("the job ended with exit code 14", INFOROM),
    ("nvidia-imex is running on every node", IMEX),
    ("IMEX time integration is not set up for this solver", IMEX),
    ("cuMemCreate failed: out of memory", IMEX),
    ("P2P is on, and the results are right", "pcie-p2p-unusable"),
    ("xhci_hcd 0000:3b:00.0: Unable to change power state from D3cold to D0, device inaccessible", "nvidia-xid-fatal"),
    ("nvidia-container-cli: detection error: nvml error: unknown error: unknown.", "container-lost-devices"),
    ("an A100, lsmod shows no nvidia-peermem", NOT_LOADED),
    ("an A100, nvidia_uvm is not in lsmod", NOT_LOADED),
    ("RTX 3070: then lspci lists the card", "nvidia-xid-fatal"),
    ("NVRM: Open nvidia.ko is only ready for use on Data Center GPUs.\nRmInitAdapter failed!", "nvidia-xid-fatal"),
    ("slurmd: fatal: can't stat gres.conf file /dev/xgpu0: No such file or directory", NOT_LOADED),
    ("/dev/nvidia0 exists before nvidia-smi is run", "nvidia-uvm-missing"),
]


@pytest.mark.parametrize(("text", "cause"), NEAR)
def test_what_only_looks_like_it_is_not_told(text: str, cause: str) -> None:
    assert cause not in told(text)


def test_memory_of_the_host_is_none_of_the_gpu() -> None:
    text = "node crashed\nIPMI: Uncorrectable ECC @ P1-DIMMA1 - Asserted\n"
    assert "gpu-ecc-errors" not in raised(text)
    assert "gpu-ecc-errors" in raised(text + "CUDA error: uncorrectable ECC error encountered")


def test_a_release_of_open_modules_may_refuse_a_gpu_that_later_ones_drive() -> None:
    stack = "NVIDIA kernel module type: open\n\nGPU 0: NVIDIA GeForce RTX 3070\n"
    assert told(stack) == []
    refused = "NVRM: Open nvidia.ko is only ready for use on Data Center GPUs.\n\n"
    assert told(refused + stack) == ["nvidia-open-module-unsupported-gpu"]


def test_a_filter_that_the_kernel_refuses_is_of_a_toolkit_that_is_too_old() -> None:
    text = "container toolkit version: 1.10.0\nload program: invalid argument: last insn is not an exit or jmp\n"
    assert "container-toolkit-too-old" in told(text)
    assert "device-filter-program-empty" in keys("load program: invalid argument: last insn is not an exit or jmp")


def test_secure_boot_is_no_cause_where_it_makes_no_difference() -> None:
    text = NO_GUEST + "Secure Boot is enabled.\n"
    assert "secure-boot-blocks-module" in raised(text)
    assert "secure-boot-blocks-module" not in raised(text + "It fails the same with and without Secure Boot.\n")
    refused = "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service\n"
    assert "secure-boot-blocks-module" in raised(refused + "regardless of Secure Boot\n")


def test_paths_with_gdrdma_alone_are_no_fault() -> None:
    with_it = "node1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
    empty = "lsmod | grep nvidia_peermem is empty\n"
    without = "node2:1:2 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [send] via NET/IB/0\n"
    assert "gpudirect-rdma-missing" in raised(empty)
    assert "gpudirect-rdma-missing" not in raised(empty + with_it)
    assert "gpudirect-rdma-missing" in raised(with_it + without)


def test_reasons_that_are_not_active_are_no_throttling() -> None:
    text = "NVIDIA A100, slow\nHW Slowdown: Not Active\nHW Thermal Slowdown: Not Active\n"
    assert "throttle-reasons-inactive-told" in keys(text)
    assert "gpu-throttled" not in raised(text)
    assert "throttle-reasons-inactive-told" not in keys("HW Slowdown: Not Active, HW Thermal Slowdown: Active\n")


@pytest.mark.parametrize(
    "line",
    [
        "Thermal violations totaling 0.0 seconds were detected for GPU 0",
        "Total Thermal Violation (usec) | 0",
        "an L40S at 61 C, no thermal throttling was seen",
    ],
)
def test_no_seconds_of_throttling_are_none(line: str) -> None:
    assert "gpu-throttled" not in told(line)


def test_seconds_of_throttling_are_some() -> None:
    assert "gpu-throttled" in raised("Thermal violations totaling 12.4 seconds were detected for GPU 0")
    assert "gpu-throttled" in raised("Total Thermal Violation (usec) | 80412")


def test_an_engine_that_the_first_open_modules_do_not_know() -> None:
    text = "NVIDIA driver version: 515.43.04\nNVIDIA kernel module type: open\n\nGPU 0: NVIDIA GeForce RTX 2060\n\n"
    refused = "NVRM kgspInitRm_IMPL: missing NVDEC0 engine, cannot initialize GSP-RM\n"
    assert "nvidia-open-module-unsupported-gpu" not in told(text)
    assert "nvidia-open-module-unsupported-gpu" in told(text + refused)


def test_a_program_that_stops_at_a_temperature() -> None:
    assert "gpu-throttled" in told("Temperature limit on GPU #2 reached, aborting")
    assert "gpu-throttled" in told("two RTX 3090: the GPU thermal limit was reached after ten minutes")
    met = "Driver temperature threshold met on GPU #1. Expect reduced performance.\n"
    assert "gpu-throttled" not in told(met)
    assert "gpu-throttled" in told(met + "it gets slower and slower, from 400 to 150 MH/s\n")
    assert "gpu-throttled" not in told("Watchdog: Temperature abort trigger set to 90c")
