"""What a rule tells people to run, with its output pasted beside the error: it names the cause, not the error alone."""

from __future__ import annotations

import pytest

from doctor.intake import read_text
from tests.knowledge.texts import keys, names, names_not, told

UNSEEN = "RuntimeError: No CUDA GPUs are available\n"
LISTED = "$ nvidia-smi -L\nGPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)\n"
MODES = "$ nvidia-smi --query-gpu=name,mig.mode.current --format=csv\nname, mig.mode.current\nNVIDIA A100-SXM4-80GB, "
UNSELECTED = 'could not select device driver "" with capabilities: [[gpu]]\n'
BUILD = "$ python -c 'import torch; print(torch.__version__, torch.version.cuda, torch.version.hip)'\n"
SHOWN = "$ kubectl describe pod train\nContainers:\n  main:\n    Image:  acme/train:1\n    Limits:\n      cpu:  8\n"
HANGS = "all_reduce hangs on 4x RTX 4090\n"
ZEROS = "p2p copies between two RTX 3090 come out as all zeros\n"
DOMAIN = "$ cat /sys/kernel/iommu_groups/0/type\n"
BOOTED = "$ cat /proc/cmdline\nBOOT_IMAGE=/boot/vmlinuz quiet splash"
UNITS = "$ ls /sys/class/iommu\nivhd0  ivhd1\n"
ETH0 = "NCCL timeouts between nodes\n$ env | grep NCCL\nNCCL_SOCKET_IFNAME=eth0\n"
LINKS = "$ ip -br a\nlo               UNKNOWN        127.0.0.1/8\nens5             UP             10.0.0.5/24\n"
CLOCKS = "inference is slow\n$ nvidia-smi --query-gpu=name,clocks_event_reasons.active --format=csv\n"
CLOCKS += "name, clocks_event_reasons.active\nNVIDIA A100-SXM4-80GB, "
INIT = "No devices were found\nNVRM: GPU 0000:01:00.0: RmInitAdapter failed! "

test_named = names(
    [
        (UNSEEN + MODES + "Enabled", "mig-misconfigured"),
        (UNSEEN + "$ nvidia-smi mig -lgi\nNo GPU instances found: Not Found", "mig-misconfigured"),
        (
            UNSELECTED + "$ snap list\nName    Version  Rev   Tracking       Publisher   Notes\n"
            "docker  27.2.0   2963  latest/stable  canonical✓  -",
            "container-engine-no-gpu-support",
        ),
        ("torch.cuda.is_available() is False\n" + LISTED + BUILD + "2.3.1 None None", "torch-cpu-only-build"),
        (UNSEEN + SHOWN + "QoS Class:  Guaranteed", "scheduler-no-gpu-allocated"),
        (HANGS + DOMAIN + "DMA-FQ", "iommu-not-passthrough"),
        (HANGS + UNITS + BOOTED, "iommu-not-passthrough"),
        (ZEROS + UNITS + BOOTED, "iommu-not-passthrough"),
        (
            "jobs stay pending, the node has 8x H100\n$ scontrol show node n1\nNodeName=n1\n   Gres=(null)",
            "scheduler-no-gpu-allocated",
        ),
        (UNSEEN + "$ env | grep CUDA\nCUDA_VISIBLE_DEVICES=2", "visible-devices-conflict"),
        (ETH0 + LINKS, "collective-flag-misconfigured"),
        (CLOCKS + "0x0000000000000048", "gpu-throttled"),
        (
            INIT + "(0x62:0x1a:2631)\n\nDGX Spark (GB10), aarch64\nproprietary kernel modules",
            "nvidia-open-module-required",
        ),
        (INIT + "(0x22:0x56:884)\n\nRTX 5090\nopen kernel modules", "large-bar-disabled"),
    ],
    first=True,
)

test_not_named = names_not(
    [
        # nvidia-smi lists the GPU: its driver is loaded, whatever torch sees.
        (UNSEEN + LISTED, "nvidia-driver-not-loaded"),
        (UNSEEN + MODES + "Disabled", "mig-misconfigured"),
        (UNSEEN + MODES + "Disabled", "nvidia-driver-not-loaded"),
        ("training works\n" + MODES + "Enabled", "mig-misconfigured"),
        (
            UNSELECTED + "$ snap list\nfirefox  128.0  4451  latest/stable  mozilla✓  -",
            "container-engine-no-gpu-support",
        ),
        ("torch.cuda.is_available() is False\n" + LISTED + BUILD + "2.3.1 12.1 None", "torch-cpu-only-build"),
        # AMD's build answers None for CUDA alone.
        ("RX 7900 XTX, no GPU\n$ python -c 'print(torch.version.cuda)'\nNone", "torch-cpu-only-build"),
        (UNSEEN + SHOWN + "      nvidia.com/gpu:  1\nQoS Class:  Burstable", "scheduler-no-gpu-allocated"),
        (HANGS + DOMAIN + "identity", "iommu-not-passthrough"),
        (HANGS + UNITS + BOOTED + " iommu=pt", "iommu-not-passthrough"),
        ("training on 4x RTX 4090 is fine\n" + DOMAIN + "DMA-FQ", "iommu-not-passthrough"),
        # A node of processors has no GPUs to count.
        ("$ scontrol show node c1\nNodeName=c1\n   Gres=(null)", "scheduler-no-gpu-allocated"),
        # A job is given the GPUs of its own by number.
        (UNSEEN + "SLURM_JOB_ID=77\nSLURM_JOB_GPUS=2\nCUDA_VISIBLE_DEVICES=2", "visible-devices-conflict"),
        (ETH0.replace("eth0", "ens") + LINKS, "collective-flag-misconfigured"),
        # One interface alone is no list of all.
        (ETH0 + "$ ip -br a show ens5\nens5             UP             10.0.0.5/24\n", "collective-flag-misconfigured"),
        (CLOCKS + "0x0000000000000001", "gpu-throttled"),
        # Two GPUs are there: the second is one of them.
        (UNSEEN + "CUDA_VISIBLE_DEVICES=1\n2x RTX 3090 in the workstation", "visible-devices-conflict"),
        (INIT + "(0x62:0x1a:2631)\n\nDGX Spark\nopen kernel modules", "nvidia-open-module-required"),
        (INIT + "(0x22:0x56:884)\n\nRTX 5090\nproprietary kernel modules", "large-bar-disabled"),
    ]
)


def test_the_driver_is_accused_where_its_own_tool_does_not_reach_it() -> None:
    unreached = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    assert "nvidia-driver-not-loaded" in told(unreached + "after the kernel update; before:\n" + LISTED)


@pytest.mark.parametrize(
    ("line", "told_of"),
    [
        ("ivhd0  ivhd1  ivhd2", True),
        ("[    1.1] AMD-Vi: Interrupt remapping enabled", True),
        ("dmar0  dmar1", False),
        ("AMD-Vi: Disabled", False),
    ],
)
def test_an_iommu_of_amds_that_is_on(line: str, told_of: bool) -> None:
    assert ("amd-iommu-listed" in keys(line)) is told_of


@pytest.mark.parametrize(
    ("text", "iommu"),
    [
        (DOMAIN + "DMA", "translated"),
        ("$ cat /sys/kernel/iommu_groups/*/type\nDMA-FQ\nDMA-FQ", "translated"),
        ("$ grep . /sys/kernel/iommu_groups/*/type\n/sys/kernel/iommu_groups/7/type:identity", "passthrough"),
        # Groups that differ do not tell which is the GPUs'.
        ("$ cat /sys/kernel/iommu_groups/*/type\nDMA-FQ\nidentity", None),
    ],
)
def test_the_kind_of_an_iommu_group(text: str, iommu: str | None) -> None:
    assert read_text([text.encode()]).host.iommu == iommu


@pytest.mark.parametrize(
    ("text", "name", "arch"),
    [
        ("DGX Spark (GB10), aarch64", "DGX Spark", "sm_121"),
        ("8x H800", "H800", "sm_90"),
        ("NVIDIA L4, Ubuntu 22.04", "NVIDIA L4", "sm_89"),
        ("4x T4", "T4", "sm_75"),
        ("page size A4, 2 copies", None, None),
    ],
)
def test_a_gpu_that_is_only_named(text: str, name: str | None, arch: str | None) -> None:
    machine = read_text([text.encode()])
    gpus = machine.gpus or ()
    assert [(gpu.name, gpu.arch) for gpu in gpus] == ([(name, arch)] if name else [])
