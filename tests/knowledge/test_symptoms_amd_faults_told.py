"""What people tell of AMD's driver without the kernel's log: GPUs reset or lost, a kernel that falls, groups of images."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, names_not, raised, told

CARD = "GPUs:\nGPU 0: AMD Radeon RX 7900 GRE\n"
NVIDIA = "GPUs:\nGPU 0: NVIDIA GeForce RTX 4090\n"
INSIDE = "Container:\nrunning inside a container: yes\n"
POLARIS = "ROCm version: 7.0.2\nGPUs:\nGPU 0: Radeon RX 580\n"

test_a_gpu_that_is_reset_or_lost = names(
    [
        (f"the GPU resets in the middle of a long prompt\n{CARD}", "amdgpu-gpu-hang"),
        (f"GPU was reset while the image was made\n{CARD}", "amdgpu-gpu-hang"),
        (f"vk::Queue::submit: ErrorDeviceLost\n{CARD}", "amdgpu-gpu-hang"),
        (f"ggml_vulkan: VK_ERROR_DEVICE_LOST\n{CARD}", "amdgpu-gpu-hang"),
        (f"the server ends with device lost after an hour of load\n{CARD}", "amdgpu-gpu-hang"),
        (
            f"radv/amdgpu: The CS has been cancelled because the context is lost. This context is guilty of a soft recovery.\n{CARD}",
            "amdgpu-gpu-hang",
        ),
        ("GPU lockup timeout in the second batch, amdgpu recovers\nROCm 6.4", "amdgpu-gpu-hang"),
    ]
)
test_no_gpu_was_reset = names_not(
    [
        (f"no GPU reset in two weeks\n{CARD}", "amdgpu-gpu-hang"),
        (f"rocm-smi --gpureset -d 0 is not permitted\n{CARD}", "amdgpu-gpu-hang"),
        (f"the guest starts once, the AMD reset bug needs vendor-reset\n{CARD}", "amdgpu-gpu-hang"),
        (f"VK_ERROR_DEVICE_LOST\n{NVIDIA}", "amdgpu-gpu-hang"),
        (f"USB device lost at suspend\n{CARD}", "amdgpu-gpu-hang"),
    ]
)

test_a_kernel_that_falls_in_amdgpu = names(
    [
        ("Kernel: NULL pointer dereference in amdgpu_vm_update_range\nROCm 6.3", "amdgpu-driver-known-bad"),
        (f"amdgpu kernel oops as soon as the model is loaded\n{CARD}", "amdgpu-driver-known-bad"),
        (f"kernel panic in amdkfd at the first allocation\n{CARD}", "amdgpu-driver-known-bad"),
        (f"Blender crashes\nfine with kernel commit 0f1e2d3c4b5a reverted\n{CARD}", "amdgpu-driver-known-bad"),
    ]
)
test_another_program_falls = names_not(
    [
        (f"NULL pointer dereference in my own parser\n{CARD}", "amdgpu-driver-known-bad"),
        (f"no kernel oops and no amdgpu message in the log\n{CARD}", "amdgpu-driver-known-bad"),
        (f"the program crashes since llama.cpp commit 0f1e2d3c4b5a\n{CARD}", "amdgpu-driver-known-bad"),
    ]
)


@pytest.mark.parametrize(
    "line",
    [
        "the desktop freezes after amdgpu-dkms was installed",
        "the in-tree driver works",
        "stable with Ubuntu's own amdgpu",
        "no crashes with the inbox driver",
        "removing amdgpu-dkms cures it",
    ],
)
def test_a_driver_of_dkms_that_the_kernels_own_cures(line: str) -> None:
    assert told(f"training crashes\n{line}\n{CARD}") == ["amdgpu-driver-known-bad"]


@pytest.mark.parametrize(
    "line",
    [
        "the in-tree driver crashes too",
        "amdgpu-dkms does not build for 6.16, the in-tree driver works",
        "same crash with the inbox driver",
    ],
)
def test_a_driver_that_is_not_at_fault(line: str) -> None:
    assert "amdgpu-driver-known-bad" not in told(f"training crashes\n{line}\n{CARD}")


@pytest.mark.parametrize(
    "line", ["rocminfo fails with HSA_STATUS_ERROR", "clinfo shows 0 devices", "clinfo: 0 devices found"]
)
def test_tools_that_list_nothing_on_a_gpu_that_the_runtime_leaves_out(line: str) -> None:
    assert told(POLARIS + line)[0] == "amd-gpu-unsupported-by-rocm"


def test_tools_that_list_something() -> None:
    assert "rocm-tool-lists-none-said" not in keys("rocminfo shows 10 devices") | keys("clinfo gives HSA_ENABLE_SDMA=0")
    assert "amd-gpu-unsupported-by-rocm" not in told("ROCm version: 6.4\nGPU 0: Radeon RX 580\nall is fine")


test_a_group_that_an_image_lacks = names(
    [
        (f"{INSIDE}the image has no render group", "container-render-group-mismatch"),
        (f"{INSIDE}there is no video group in the container", "container-render-group-mismatch"),
        (f"{INSIDE}on some nodes /dev/kfd is of group render instead of video", "container-render-group-mismatch"),
        (
            f"{INSIDE}/dev/kfd is owned by group render, the container's user is in video only",
            "container-render-group-mismatch",
        ),
    ]
)
test_a_group_that_an_image_has = names_not(
    [
        (f"{INSIDE}the image has a render group", "container-render-group-mismatch"),
        ("the image has no render group", "container-render-group-mismatch"),
    ]
)


def test_the_image_of_the_hosts_own_rocm_works() -> None:
    lines = "convolutions give errors\nthe ROCm 6.1 image works on the same nodes\n"
    assert told(f"{INSIDE}host has ROCm 6.1.3\n{lines}") == ["amdgpu-rocm-version-skew"]
    assert "amdgpu-rocm-version-skew" not in told(INSIDE + lines)


OF_TENSORFLOW = "Ignoring visible gpu device (device: 0, name: {}, pci bus id: 0000:03:00.0) with AMDGPU ISA {}. The minimum required AMDGPU ISA is gfx803."


def test_tensorflow_leaves_an_old_gpu_out() -> None:
    agent = "$ rocminfo\n*******\nAgent 2\n*******\n  Name:                    {}\n  Marketing Name:          AMD Radeon R7 Graphics\n  Vendor Name:             AMD\n  Device Type:             GPU\n"
    plain = "$ pip list\nPackage    Version\n---------- -------\ntensorflow 1.12.0\n"
    line = OF_TENSORFLOW.format("AMD A12-9800", "gfx801")
    assert raised(f"{line}\n{agent.format('gfx801')}{plain}") == ["amd-gpu-unsupported-by-rocm"]
    assert "amd-gpu-unsupported-by-rocm" not in raised(f"{agent.format('gfx906')}{plain}")
