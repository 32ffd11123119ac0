"""What is told of NVIDIA's driver and the kernels beside it: each case with one that nearly is it."""

from __future__ import annotations

from tests.knowledge.texts import names, names_not, raised, told

NOT_LOADED, MISMATCH, KERNEL = (
    "nvidia-driver-not-loaded",
    "nvidia-driver-library-mismatch",
    "nvidia-kernel-incompatible",
)
UVM, HMM, STALE = "nvidia-uvm-missing", "nvidia-uvm-hmm-init-failure", "nvidia-uvm-stale-after-suspend"
CARD = "\n\nGPU 0: NVIDIA GeForce RTX 3080\n"
DRIVER = "\n\nNVIDIA driver version: 560.35.03\n"
REGISTERS = "Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory" + CARD
CASES = [
    ("the driver is broken after any kernel update" + CARD, NOT_LOADED),
    ("==> ERROR: module not found: 'nvidia_drm'", NOT_LOADED),
    ("systemd-modules-load[231]: Failed to find module 'nvidia'", NOT_LOADED),
    ("dracut-install: Failed to find module 'nvidia'", NOT_LOADED),
    ("the dkms module was completely removed when dnf updated it" + DRIVER, NOT_LOADED),
    ("CUDA hangs\nkernel 6.1 boots" + CARD, KERNEL),
    ("NCCL fails\nboth nodes start on 6.14.0-1012-aws" + CARD, KERNEL),
    ("CUDA fails\nrolling back to 6.8.0-45-generic fixes it" + CARD, KERNEL),
    ("CUDA fails\nit only happens with the HWE kernel" + CARD, KERNEL),
    ("all_reduce bandwidth is low\n391 GB/s on kernel 5.15\n\nKernel: 6.8.x" + DRIVER, KERNEL),
    (REGISTERS + "all ranks came up on 6.14.0-1012-aws", KERNEL),
    ("user space and kernel modules are out of sync" + DRIVER, MISMATCH),
    ("the image has nvidia-utils-535, the host runs 570" + DRIVER, MISMATCH),
    ("host module 550.90.07, libnvidia-ml.so.1 of 550.120 is found", MISMATCH),
    ("CUDA was gone; works again since the reboot that followed the driver update" + CARD, MISMATCH),
    ("CUDA_ERROR_UNKNOWN\nthe notebook was open during OS suspension" + CARD, STALE),
    ("CUDA_ERROR_UNKNOWN\nthe workstation was suspended and woken" + CARD, STALE),
    ("OpenCL is lost once it came out of standby" + CARD, STALE),
    ("the encoder fails with CUDA_ERROR_UNKNOWN while the host goes to sleep" + CARD, STALE),
    ("nvidia-smi exited with status 9", NOT_LOADED),
    ("nvidia-smi failed with return code 18", MISMATCH),
    ("nvidia-smi: exit code 15" + CARD, "nvidia-xid-fatal"),
    ("No GPUs were found\nNVML library version: 535.216", MISMATCH),
    ("CUDA fails\nthe GPU drivers were upgraded there, modules not properly reloaded" + CARD, MISMATCH),
    ("GPUs of the nodes cannot be used\nmachines with NVSwitch", "nvidia-fabricmanager-not-running"),
    ("nvidia_uvm does not load automatically", UVM),
    ("the service starts before nvidia_uvm is there", UVM),
    ("nvcuda init failure: 3" + CARD, HMM),
    ("cuInit(0) returns 3" + CARD, HMM),
    ("CUDA does not start; booting with nokaslr helps" + CARD, HMM),
]
NEARLY = [
    ("==> ERROR: module not found: 'nvme_tcp'" + CARD, NOT_LOADED),
    ("systemd-modules-load[231]: Failed to find module 'nvidia-peermem'" + CARD, NOT_LOADED),
    ("the python module was removed when apt updated it" + DRIVER, NOT_LOADED),
    ("kernel 6.1 boots but CUDA does not start" + CARD, KERNEL),
    ("it boots into a login that is the same on 6.14.0-1012-aws" + CARD, KERNEL),
    ("rolling back to 2.7.1 fixes it" + CARD, KERNEL),
    ("391 GB/s on kernel 5.15\n\nKernel: 5.15.0" + DRIVER, KERNEL),
    ("the image has nvidia-utils-570, the host runs 570" + DRIVER, MISMATCH),
    ("libcuda.so.1 of 560.35.03, host with 512 GB" + DRIVER, MISMATCH),
    ("libcuda of cuda-compat 570.86 beside the host's 535.104" + DRIVER, MISMATCH),
    ("rebooted after the driver update, still not back" + CARD, MISMATCH),
    ("replicas and kernel jobs are out of sync" + DRIVER, MISMATCH),
    ("the standby server has no CUDA error" + CARD, STALE),
    ("the training thread goes to the next step; CUDA_ERROR_UNKNOWN" + CARD, "nvidia-kernel-incompatible"),
    ("nvidia-smi returned 9.5 GiB", NOT_LOADED),
    ("nvidia-smi exited with code 1", MISMATCH),
    ("nvidia-smi shows status of 15 GPUs" + CARD, "nvidia-xid-fatal"),
    ("python modules are not reloaded by the debugger" + CARD, MISMATCH),
    ("GPUs cannot be used\na board without NVSwitch", "nvidia-fabricmanager-not-running"),
    ("GPUs cannot be used\na board with NVSwitch, the fabric manager is running", "nvidia-fabricmanager-not-running"),
    ("nvidia_uvm does load at boot", UVM),
    ("sudo nvidia-modprobe -u does not help\nCUDA_ERROR_UNKNOWN after resume" + CARD, UVM),
    ("cuInit(0) returned 35" + CARD, HMM),
    ("the host boots without entropy for KASLR" + CARD, HMM),
]

test_it_is_named = names(CASES, first=True)
test_what_nearly_says_it = names_not(NEARLY)


def test_memory_that_another_kernel_registers_is_not_short_of_a_limit() -> None:
    assert raised(REGISTERS)[0] == "memlock-limit-too-low"
    assert "memlock-limit-too-low" not in raised(REGISTERS + "7.0.0-30-generic works")


def test_a_host_that_was_upgraded_before_its_reboot_has_been_restarted() -> None:
    unreached = "nvidia-smi cannot communicate with the driver\n"
    assert MISMATCH in told(unreached + "the packages were upgraded, no reboot since")
    assert MISMATCH not in told(unreached + "the os image was upgraded before the reboot")


def test_a_node_whose_driver_finds_no_gpu_has_none_to_give() -> None:
    pending = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.\n"
    assert "scheduler-no-gpu-allocated" in told(pending)
    found = told(pending + "nvidia-smi: No devices were found\nNVIDIA driver version: 570-open\n\nGPU 0: Tesla P40\n")
    assert found == ["nvidia-open-module-unsupported-gpu"]


def test_a_gpu_that_never_came_up_met_no_librarys_fault() -> None:
    hangs = "nvidia-smi hangs\n0.4.0 with 580.159.03 worked\n"
    up = "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x1a:2631)\n"
    assert "known-bad-library-version" in told(hangs + CARD)
    assert "known-bad-library-version" not in told(hangs + up + CARD)


def test_a_kernel_before_under_which_amdgpu_builds_is_no_word_against_the_driver() -> None:
    text = "rolling back to kernel 6.8.0-41 restored ROCm\n\nGPU 0: AMD Radeon RX 7900 XTX\n"
    assert "amdgpu-driver-known-bad" in told(text)
    failed = "Error! Bad return status for module build on kernel: 6.8.0-44-generic (x86_64)\n"
    assert "amdgpu-driver-known-bad" not in told(failed + text)
