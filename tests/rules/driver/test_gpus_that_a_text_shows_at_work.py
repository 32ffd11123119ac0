"""What a pasted text shows to work (nvidia-smi lists it, its runtime has it) or to be meant is no fault of a driver."""

from __future__ import annotations

from doctor.parsers.kernel import kernel_log
from tests.each import each
from tests.knowledge.texts import raised

LISTED = "$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX {} (UUID: GPU-4c1d2b0a-1c7d-3f6e-7a11-7de1f4a1c201)\n"
FAILED = "$ nvidia-smi\nNVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
BANNER = "NVRM version: NVIDIA UNIX {}Kernel Module{}  {}  Tue Jan 14 00:00:00 UTC 2025\n"
PROPRIETARY = BANNER.format("x86_64 ", "", "{}")
OPEN = BANNER.format("Open ", " for x86_64", "{}")
PACKAGE = "ii  libnvidia-compute-535:amd64  535.183.01-0ubuntu0.22.04.1  amd64  NVIDIA libcompute package\n"
CLIENT = (
    "[ 99.1] NVRM: API mismatch: the client has the version 560.35.03, but this kernel module has the version 565.77.\n"
)
NVIDIA = """01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA102 [GeForce RTX 3090] [10de:2204] (rev a1)
\tKernel driver in use: {}
"""
RADEON = """05:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Cedar [1002:68f9]
\tKernel driver in use: radeon
"""
NAVI = """03:00.0 Display controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [1002:744c]
\tKernel driver in use: amdgpu
"""
AGENT = "$ rocminfo\nAgent 2\n  Name:                    gfx1100\n  Device Type:             GPU\n"
REFUSED = "SecureBoot enabled\n[ 8.1] {}\n"
SKIPPED = "[ 4.1] kfd kfd: amdgpu: skipped device 1002:699f, PCI rejects atomics 730<0\n"
LSMOD = "$ lsmod | grep nvidia\nnvidia_modeset 1261568  6 nvidia_drm\nnvidia 1454080  9 nvidia_modeset\n"
NOT_FOUND = "$ rocm-smi\nERROR:root:Driver not initialized (amdgpu not found in modules)\n"
FALSE = "PyTorch version: 2.7.0+{}\nIs CUDA available: False\nGPU models and configuration: GPU 0: NVIDIA T400 4GB\n"

AT_WORK = [
    ("nvidia-driver-library-mismatch", PROPRIETARY.format("535.129.03") + PACKAGE + LISTED.format(3080)),
    (
        "nvidia-driver-library-mismatch",
        "Kernel: 6.6.87.2-microsoft-standard-WSL2\nNVML version        : 580.95\nDRIVER version      : 581.42\n",
    ),
    ("nvidia-open-module-required", "NVIDIA driver: 570.133.07 (proprietary)\n" + LISTED.format(5090)),
    (
        "nvidia-open-module-unsupported-gpu",
        OPEN.format("570.133.20")
        + "$ lspci\n01:00.0 VGA compatible controller: NVIDIA Corporation GB202 [GeForce RTX 5090] (rev a1)\n"
        + "06:00.0 VGA compatible controller: NVIDIA Corporation GP108 [GeForce GT 1030] (rev a1)\n"
        + LISTED.format(5090),
    ),
    (
        "nvidia-driver-not-loaded",
        "root@pve:~# lspci\n01:00.0 VGA compatible controller: NVIDIA Corporation GA104 [GeForce RTX 3070] (rev a1)\n"
        "root@pve:~# lsmod | grep nvidia\nroot@pve:~# ssh guest\n" + LISTED.format(3070),
    ),
    ("gpu-bound-to-other-driver", NVIDIA.format("nvidia") + RADEON + "torch 2.4.1+cu121\n"),
    ("nouveau-loaded", NVIDIA.format("nouveau") + NAVI + AGENT + "torch 2.5.1+rocm6.2\n"),
    ("pcie-atomics-missing", LISTED.format(4080) + "torch 2.3.1+cu121\n" + SKIPPED),
    (
        "secure-boot-blocks-module",
        REFUSED.format("Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7") + AGENT,
    ),
    ("secure-boot-blocks-module", REFUSED.format("Loading of unsigned module is rejected") + LISTED.format(3060)),
    ("torch-sees-no-gpu", FALSE.format("xpu")),
    ("nvidia-uvm-missing", "Kernel: 5.15.136-tegra\n" + LSMOD),
    ("nvidia-uvm-missing", "GPU: Jetson Orin Nano 8GB\n" + LSMOD),
]
NOT_AT_WORK = [
    ("nvidia-driver-library-mismatch", PROPRIETARY.format("535.129.03") + PACKAGE),
    ("nvidia-driver-library-mismatch", OPEN.format("565.77") + CLIENT),
    (
        "nvidia-driver-library-mismatch",
        CLIENT + LISTED.format(4070) + "Failed to initialize NVML: Driver/library version mismatch\n",
    ),
    ("nvidia-open-module-required", "NVIDIA driver: 570.133.07 (proprietary)\nGPU: RTX 5090\n"),
    (
        "nvidia-driver-not-loaded",
        NVIDIA.format("nvidia").splitlines()[0] + "\n$ lsmod | grep nvidia\n$ uname -r\n" + FAILED,
    ),
    ("gpu-bound-to-other-driver", NVIDIA.format("vfio-pci") + FAILED),
    ("nouveau-loaded", NVIDIA.format("nouveau") + "torch 2.4.1+cu121\n"),
    ("nouveau-loaded", NVIDIA.format("nouveau") + NAVI + FAILED + "torch 2.5.1+rocm6.2\n"),
    ("pcie-atomics-missing", "GPU: RX 580\ntorch 2.5.1+rocm6.2\n" + SKIPPED),
    ("secure-boot-blocks-module", REFUSED.format("Loading of unsigned module is rejected") + "GPU: RTX 3060\n"),
    (
        "secure-boot-blocks-module",
        "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service\nGPU: RTX 3060\n",
    ),
    ("amdgpu-driver-not-loaded", NOT_FOUND + "GPU: RX 7900 XTX\n"),
    ("torch-sees-no-gpu", FALSE.format("cu128")),
    ("nvidia-uvm-missing", "Kernel: 5.15.0-136-generic\n" + LSMOD),
]


@each("rule, text", AT_WORK)
def test_what_works_is_not_accused(rule: str, text: str) -> None:
    assert rule not in raised(text)


@each("rule, text", NOT_AT_WORK)
def test_what_is_not_shown_to_work_still_is(rule: str, text: str) -> None:
    assert rule in raised(text)


def test_a_log_s_line_on_another_module_is_no_event() -> None:
    line = "[ 8.100000] modprobe: ERROR: could not insert '{}': Key was rejected by service\n"
    codes = {name: kernel_log.read(line.format(name)).get("kernel_log.events") for name in ("vboxdrv", "nvidia")}
    assert not codes["vboxdrv"]
    assert codes["nvidia"]
