"""NVIDIA's modules that were not built or do not load, guests' drivers, pods without GPUs: each with near cases."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, raised, told

INSIDE = "Container:\n```\nrunning inside a container: yes\ncontainer engine: kubernetes\n```\n"
NOT_LOADED, KERNEL = "nvidia-driver-not-loaded", "nvidia-kernel-incompatible"
UNBUILT = (
    "nvidia-smi cannot talk to the driver\nlinux-headers of the running kernel are not installed",
    "GPU 0: NVIDIA T1000\nthe kernel headers were missing when the kernel was updated; nvidia-smi fails",
    "Error! Could not locate dkms.conf file.\nFile: /var/lib/dkms/nvidia/550.120/source/dkms.conf does not exist.",
    "nvidia/565.77: Missing the module source directory or the symbolic link pointing to it.",
    "the nvidia modules were not rebuilt for the new kernel (akmods)",
    "E: Unable to locate package linux-modules-nvidia-570-server-6.8.0-1030-gcp",
    "nvidia driver does not load\nkernel-devel.x86_64   5.14.0-427.el9\nkernel 5.14.0-503.el9 is running",
    "Could not resolve Linux kernel version\npod: nvidia-driver-daemonset-x7k2p",
    "nvidia-smi stopped working after a kernel upgrade",
)
"""Nobody can tell from these whether the headers or the driver's release is what has to change."""


@pytest.mark.parametrize("text", UNBUILT)
def test_a_module_that_was_not_built_is_not_loaded_and_may_not_fit_the_kernel(text: str) -> None:
    assert {NOT_LOADED, KERNEL} <= set(told(text))


CASES = [
    ("FATAL: modprobe: ERROR: could not insert nvidia: No such device", NOT_LOADED),
    ("insmod: ERROR: could not insert module /lib/modules/6.9.1/extra/nvidia.ko.xz: No such device", NOT_LOADED),
    ("nvidia-smi fails after the update\ndkms status prints nothing", NOT_LOADED),
    ('ERROR: An error occurred while performing the step: "Building kernel modules". See the log.', KERNEL),
    ("NVIDIA RTX 4000 in the machine\nadding ibt=off to the kernel command line helps", KERNEL),
    ("DGX Spark: boots again with arm64.nobti", KERNEL),
    ("traps: Missing ENDBR: _nv011224rm+0x0/0x10 [nvidia]", KERNEL),
    ("kernel: Guest driver is incompatible with host driver", "nvidia-driver-library-mismatch"),
    ("VM with an A16 slice\nthe data center driver was installed instead of the GRID driver", NOT_LOADED),
    (
        "nvidia-container-cli: mount error: load program: invalid argument: last insn is not an exit or jmp",
        "container-toolkit-too-old",
    ),
    (INSIDE + "cudaGetDeviceCount: no device\nnvidia.com/gpu is not requested", "container-missing-gpu-passthrough"),
    (INSIDE + "torch sees no GPU\nthe Deployment lacks a GPU limit", "scheduler-no-gpu-allocated"),
    ("cuda driver library failed to get device context 999\ncontainer engine: incus", "nvidia-uvm-missing"),
    ("CUDA unknown error after a reboot of the hypervisor", "nvidia-uvm-missing"),
    ("Error: nvidia.ko is not loaded", NOT_LOADED),
    ("GKE: the driver installer was not deployed", NOT_LOADED),
    ("host driver 550.127, container driver 550.90: nvidia-smi fails", "nvidia-driver-library-mismatch"),
    ("nvidia-utils is 565.77, /proc/driver/nvidia/version says 560.35", "nvidia-driver-library-mismatch"),
    ("the host has driver 535, this template needs 570 or newer", "nvidia-driver-too-old"),
    ("NVIDIA RTX PRO 4500 Blackwell\nakmod-nvidia-open works, kmod-nvidia does not", "nvidia-open-module-required"),
    ("Secure Boot: on\nnvidia: PKCS#7 signature not signed with a trusted key", "secure-boot-blocks-module"),
    ("node label nvidia.com/gpu.workload.config=vm-passthrough", "gpu-bound-to-other-driver"),
    ("hang: Xid 109 CTX SWITCH TIMEOUT", "nvidia-xid-fatal"),
    ("Remapped Rows: Uncorrectable: 3, Pending: Yes", "gpu-ecc-errors"),
    ("nvidia-smi -q: Fabric State: In Progress", "nvidia-fabricmanager-not-running"),
    ("0/2 nodes are available: Insufficient nvidia.com/mig-2g.10gb", "mig-misconfigured"),
]


test_the_cause_is_told = names(CASES)


SILENT = [
    (
        "C:\\comfy\\ldm\\modules\\attention.py:407: UserWarning: 1Torch was not compiled with flash attention.",
        NOT_LOADED,
    ),
    ("nvidia-smi works\nsite-packages/torch/nn/modules/activation.py: this torch was not built for it", NOT_LOADED),
    ("amdgpu module was not rebuilt for the new kernel; Radeon RX 7800", NOT_LOADED),
    ("linux-headers-6.8.0-45 installed\nnvidia-smi works\ntorch.cuda.is_available() returns False", NOT_LOADED),
    ("nvidia-uvm: could not insert 'nvidia_uvm': Exec format error", NOT_LOADED),
    ("AMD GPU only\nNVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", NOT_LOADED),
    ("CUDA unknown error after resuming from suspend", "nvidia-uvm-missing"),
    ("host driver 550.127, container driver 550.127: nvidia-smi works", "nvidia-driver-library-mismatch"),
    ("NVIDIA driver 570 is installed, the template needs 570 or newer", "nvidia-driver-too-old"),
    ("Remapped Rows: Uncorrectable: 0, Pending: No", "gpu-ecc-errors"),
    ("Xid 31 of a program of mine", "nvidia-xid-fatal"),
    (INSIDE + "the node has no nvidia.com/gpu capacity", "container-missing-gpu-passthrough"),
    (
        "GPU 0: NVIDIA GeForce RTX 4070\nnvidia-fabricmanager.service: Control process exited, status=1/FAILURE",
        "nvidia-fabricmanager-not-running",
    ),
]


@pytest.mark.parametrize(("text", "cause"), SILENT)
def test_what_only_looks_like_it_is_not_told(text: str, cause: str) -> None:
    assert cause not in raised(text)


def test_a_version_that_is_written_down_does_not_prove_that_the_module_is_loaded() -> None:
    stack = "NVIDIA driver version: 550.120\n\nGPU 0: NVIDIA GeForce RTX 3050\n"
    assert told(stack) == []
    assert NOT_LOADED in told("ERROR: NVIDIA driver is not loaded\n\n" + stack)
    assert NOT_LOADED in told("reinstalling nvidia-dkms and depmod helps\n\n" + stack)


def test_no_driver_in_a_cluster_may_be_one_that_is_not_passed() -> None:
    text = "rke2 (containerd)\nCUDA driver version is insufficient for CUDA runtime version\n"
    assert "container-runtime-not-configured" in told(text)
    assert "container-runtime-not-configured" not in told(text + "NVIDIA driver version: 450.80.02\n")


def test_a_release_of_the_toolkit_that_drops_flags_is_named_beside_the_setting() -> None:
    text = "nvidia-container-cli: mount error: open failed: /sys/fs/cgroup/devices/a/devices.allow: permission denied\n"
    assert "container-toolkit-too-old" not in told(text)
    assert "container-toolkit-too-old" in told(text + "\nContainer:\n```\ncontainer toolkit version: 1.17.7\n```\n")


def test_a_machine_with_an_undetected_card_is_not_one_without_it() -> None:
    assert "no-nvidia-gpu-told" not in keys("no NVIDIA GPU was detected")
    assert "no-nvidia-gpu-told" in keys("there is no NVIDIA card in this laptop")
