"""Lines of amdgpu and KFD that give a GPU up, and what stands near to them."""

# ruff: noqa: E501

from __future__ import annotations

from tests.knowledge.texts import names, names_not

CARD = "GPUs:\nGPU 0: AMD Radeon RX 7900 XTX\n"
GFX = "$ rocminfo\n*******\nAgent 2\n*******\n  Name:                    gfx1100\n  Marketing Name:          AMD Radeon RX 7900 XTX\n  Vendor Name:             AMD\n  Device Type:             GPU\n"
BLIND = "Error output:\ntorch.cuda.is_available() -> False\n"
CRASH = "Error output:\nserver: Segmentation fault (core dumped)\n"
LOG = "Kernel log:\n$ dmesg\n"
AT = "amdgpu 0000:03:00.0: amdgpu:"
KFD = "Error output:\nUnable to open /dev/kfd read-write: {}\n"

test_named = names(
    [
        (f"{LOG}{AT} PSP load tos failed!\n{CARD}", "amdgpu-driver-not-loaded"),
        (f"{LOG}{AT} PSP create ring failed!\n{CARD}", "amdgpu-driver-not-loaded"),
        (f"{LOG}{AT} PSP tmr init failed!\n{CARD}", "amdgpu-driver-not-loaded"),
        (f"{LOG}{AT} Unable to locate a BIOS ROM\n{CARD}", "amdgpu-driver-not-loaded"),
        (
            f"{LOG}[drm:amdgpu_get_bios [amdgpu]] *ERROR* Unable to locate a BIOS ROM\n{CARD}",
            "amdgpu-driver-not-loaded",
        ),
        (f"{BLIND}{LOG}kfd kfd: amdgpu: device 1002:744c NOT added due to errors\n{CARD}", "amdgpu-driver-not-loaded"),
        (f"{BLIND}{LOG}kfd kfd: Failed to start queue manager for node 0\n{CARD}", "amdgpu-driver-not-loaded"),
        (f"{BLIND}{LOG}kfd kfd: DID 744c is missing in supported_devices\n{GFX}", "amdgpu-kernel-or-os-unsupported"),
        (
            f"{BLIND}{LOG}kfd kfd: DID 15d8 is missing in supported_devices\nAMD Ryzen 5 2500U\n",
            "amd-gpu-unsupported-by-rocm",
        ),
        (
            f"{LOG}amdgpu 0000:03:00.0: Unable to change power state from D3cold to D0, device inaccessible\n{CARD}",
            "amdgpu-gpu-hang",
        ),
        (
            f"{LOG}amdgpu 0000:03:00.0: can't change power state from D3cold to D0 (config space inaccessible)\n{CARD}",
            "amdgpu-gpu-hang",
        ),
        (f"{LOG}{AT} Msg issuing pre-check failed and SMU may be not in the right state!\n{CARD}", "amdgpu-gpu-hang"),
        (
            f"{CRASH}{LOG}amdgpu: SVM mapping failed, exceeds resident system memory limit\n{CARD}",
            "gpu-memory-exhausted",
        ),
        (f"{CRASH}{LOG}[TTM] Failed to find memory space for buffer 0x1 eviction\n{CARD}", "gpu-memory-exhausted"),
        (
            f"{CRASH}{LOG}[drm:amdgpu_gem_object_create [amdgpu]] *ERROR* Failed to allocate GEM object (16777216, 2, 4096, -12)\n{CARD}",
            "gpu-memory-exhausted",
        ),
        (f"{KFD.format('No such device or address')}{CARD}", "amdgpu-driver-not-loaded"),
        (f"{KFD.format('No such device')}{CARD}", "amdgpu-driver-not-loaded"),
        (
            f"{KFD.format('No such device or address')}{CARD}Container:\nrunning inside a container: yes\n",
            "container-missing-gpu-passthrough",
        ),
    ]
)

test_near = names_not(
    [
        (
            f"{LOG}[drm:radeon_get_bios [radeon]] *ERROR* Unable to locate a BIOS ROM\n{CARD}",
            "amdgpu-driver-not-loaded",
        ),
        (f"{LOG}kfd kfd: amdgpu: added device 1002:744c\n{CARD}", "amdgpu-driver-not-loaded"),
        (f"{LOG}kfd kfd: amdgpu: device 1002:164e NOT added due to errors\n{GFX}", "amdgpu-driver-not-loaded"),
        (f"{LOG}kfd kfd: DID 15d8 is missing in supported_devices\n{GFX}", "amdgpu-kernel-or-os-unsupported"),
        (
            f"{LOG}nvme 0000:01:00.0: Unable to change power state from D3cold to D0, device inaccessible\n{CARD}",
            "amdgpu-gpu-hang",
        ),
        (f"{CRASH}{LOG}Failed to allocate GEM object (16777216, 2, 4096, -22)\n{CARD}", "gpu-memory-exhausted"),
        (f"{LOG}[TTM] Failed to find memory space for buffer 0x1 eviction\n{CARD}", "gpu-memory-exhausted"),
        (f"{KFD.format('No such file or directory')}{CARD}", "container-missing-gpu-passthrough"),
    ]
)
