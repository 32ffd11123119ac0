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
        (f"$ sudo dmesg | grep -i -e timeout -e 'GPU reset'\n{CARD}", "amdgpu-gpu-hang"),
        (
            f"terminate called after throwing an instance of 'vk::DeviceLostError'\n{CARD}\n$ dmesg\n"
            "[ 9112.3] [drm:amdgpu_cs_ioctl [amdgpu]] *ERROR* Not enough memory for command submission!",
            "amdgpu-gpu-hang",
        ),
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


test_a_driver_that_is_kept_from_loading = names(
    [
        (f"{CARD}amdgpu is on the blacklist of /etc/modprobe.d\nblacklisted amdgpu", "amdgpu-driver-not-loaded"),
        (f"{CARD}the kernel of the image was built without amdgpu", "amdgpu-driver-not-loaded"),
        (f"{CARD}CONFIG_DRM_AMDGPU is not set", "amdgpu-driver-not-loaded"),
    ]
)
test_a_driver_that_is_left_to_others = names_not(
    [
        (f"{CARD}amdgpu is blacklisted on the host for vfio", "amdgpu-driver-not-loaded"),
        (f"{CARD}modprobe.blacklist=amdgpu is set and a unit loads it later", "amdgpu-driver-not-loaded"),
        (f"{CARD}amdgpu is not blacklisted", "amdgpu-driver-not-loaded"),
    ]
)

test_firmware_that_is_bad_by_its_date_or_age = names(
    [
        (f"{CARD}the screen stutters with linux-firmware 20251125, fine with 20251111", "amdgpu-firmware-bad"),
        (f"{CARD}the cards had an older IFWI", "amdgpu-firmware-bad"),
        (f"{CARD}flashing the VBIOS cured it", "amdgpu-firmware-bad"),
    ]
)
test_firmware_that_is_not = names_not(
    [
        (f"{CARD}linux-firmware 20251125: same crash as with 20251111", "amdgpu-firmware-bad"),
        (f"{CARD}updating the VBIOS makes no difference, it works neither way", "amdgpu-firmware-bad"),
    ]
)


def test_a_kernel_after_which_rocm_stopped() -> None:
    line = "ROCm stopped working after the update to kernel 6.15.3"
    assert told(f"{line}\n{CARD}") == ["amdgpu-driver-known-bad"]
    assert not told(f"all is well since the update to kernel 6.15.3\n{CARD}")


test_a_gpu_that_rocm_gave_up = names(
    [
        (
            "rocminfo lists nothing\nsupport for the card was dropped in ROCm 6.0\nGPUs:\nGPU 0: Radeon Pro WX 7100",
            "amd-gpu-unsupported-by-rocm",
        ),
        ("ROCm 7 no longer supports gfx1010\nGPUs:\nGPU 0: AMD Radeon RX 5700 XT", "amd-gpu-unsupported-by-rocm"),
    ]
)
test_what_else_was_dropped = names_not(
    [
        (
            "ROCm 7 no longer supports gfx1010, it works all the same\nGPUs:\nGPU 0: AMD Radeon RX 5700 XT",
            "amd-gpu-unsupported-by-rocm",
        ),
        (f"{CARD}packets are dropped from 10.0.0.4", "amd-gpu-unsupported-by-rocm"),
    ]
)

test_nodes_that_a_package_or_a_machine_shuts_off = names(
    [
        (f"{CARD}the snap finds no GPU", "container-engine-no-gpu-support"),
        (f"{CARD}the flatpak can't open /dev/kfd", "container-engine-no-gpu-support"),
        ("podman machine has no /dev/dri", "container-engine-no-gpu-support"),
    ]
)
test_packages_that_say_nothing = names_not(
    [
        (f"{CARD}snap list shows no devices extension", "container-engine-no-gpu-support"),
        (f"{CARD}neither the snap nor the deb finds a GPU", "container-engine-no-gpu-support"),
    ]
)

test_a_folder_of_kernels_that_was_not_taken_along = names(
    [
        (f"{CARD}lib/rocblas/library is empty", "blas-kernels-missing"),
        (f"{CARD}the bundle lacks the rocblas/library folder", "blas-kernels-missing"),
        (f"{CARD}hipBLASLt ships no kernels for gfx1100", "blas-kernels-missing"),
    ]
)
test_a_folder_that_is_there = names_not([(f"{CARD}rocblas/library has 297 files", "blas-kernels-missing")])

test_an_override_for_whatever_gpu = names(
    [
        (
            f"{CARD}it falls back to the CPU\nrun.sh sets HSA_OVERRIDE_GFX_VERSION=10.3.0 for every AMD GPU",
            "hsa-override-misuse",
        ),
        (f"{CARD}Memory access fault by GPU node-1\nan override left over from another card", "hsa-override-misuse"),
    ]
)
test_an_override_of_an_image_that_works = names_not(
    [(f"{CARD}HSA_OVERRIDE_GFX_VERSION is hard-coded in the image, all works", "hsa-override-misuse")]
)


def test_nodes_and_groups_that_are_not_given() -> None:
    compose = f"{INSIDE}compose has no devices section\nthe program runs on the CPU\n"
    assert told(compose + CARD) == ["container-missing-gpu-passthrough"]
    assert told(compose.replace("has no", "has a") + CARD) != ["container-missing-gpu-passthrough"]
    assert told(f"{CARD}the service account lacks render and video") == ["device-node-permission"]
    assert told(f"{CARD}the user is not in render\nrocminfo finds no GPU")[0] == "device-node-permission"
    assert not told(f"{CARD}the shader lacks video decoding")


def test_a_folder_of_rocm_that_has_another_soname_is_there() -> None:
    text = "torch 2.5.1+rocm6.2\nlibhipblas.so.1 not found, /opt/rocm has libhipblas.so.2"
    assert "torch-rocm-version-mismatch" in told(text)
    assert "rocm-path-broken" not in told(text)
    assert "rocm-path-broken" in told("could not find hipcc in /opt/rocm/bin")


test_hangs_in_the_kernels_words_and_in_peoples = names(
    [
        (f"{CARD}gfxhub page fault at every epoch", "amdgpu-gpu-hang"),
        (f"{CARD}ring sdma0 timeout, says the journal", "amdgpu-gpu-hang"),
        (f"{CARD}the screen goes black during sampling", "amdgpu-gpu-hang"),
        (f"{CARD}the card hangs until a power cycle", "amdgpu-gpu-hang"),
    ]
)
test_what_does_not_hang = names_not(
    [
        (f"{CARD}no page fault in dmesg, no ring gfx timeout", "amdgpu-gpu-hang"),
        (f"{CARD}HTTP request timed out", "amdgpu-gpu-hang"),
        (f"{CARD}the screen never goes black during sampling", "amdgpu-gpu-hang"),
        (f"{NVIDIA}the screen goes black during sampling", "amdgpu-gpu-hang"),
    ]
)
test_releases_that_do_not_fit = names(
    [
        (f"{CARD}amdgpu 5.16.9 on the host is too old for ROCm 6.2", "amdgpu-rocm-version-skew"),
        (f"{CARD}the kernel driver is newer than the user space by two releases", "amdgpu-rocm-version-skew"),
        (f"{CARD}the kernel is too old for this ROCm", "amdgpu-kernel-or-os-unsupported"),
        (f"{CARD}there is no ROCm repository for trixie", "amdgpu-kernel-or-os-unsupported"),
    ]
)
test_releases_that_fit = names_not(
    [
        (f"{CARD}the kernel driver is newer than the user space, everything works", "amdgpu-rocm-version-skew"),
        (f"{CARD}ROCm is not made for this kernel, and works", "amdgpu-kernel-or-os-unsupported"),
    ]
)
