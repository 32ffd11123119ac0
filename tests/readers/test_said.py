"""What texts say in passing of drivers and host, and cut-outs of nvidia-smi -q."""

from __future__ import annotations

import pytest

from doctor.errors import ReaderError
from doctor.readers import labelled_lines, nvidia_smi_excerpt, said_driver, said_host


@pytest.mark.parametrize(
    ("text", "fact", "value"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15", "nvidia_driver.flavour", "proprietary"),
        ("NVIDIA UNIX Open Kernel Module for x86_64  580.95.05", "nvidia_driver.version", "580.95.05"),
        ("modinfo nvidia: license: Dual MIT/GPL", "nvidia_driver.flavour", "open"),
        ("ii  nvidia-driver-570-open 570.153.02", "nvidia_driver.flavour", "open"),
        ("package nvidia-driver-570 (not nvidia-driver-570-open) installed", "nvidia_driver.flavour", "proprietary"),
        ("libcuda.so.1 -> libcuda.so.535.161.07", "nvidia_driver.user_version", "535.161.07"),
        ("ii  nvidia-smi     525.85.12-1  amd64  NVIDIA System Management", "nvidia_driver.user_version", "525.85.12"),
        ("`nvidia-driver-550:amd64 550.107.02-0ubuntu0.24.04.1`", "nvidia_driver.user_version", "550.107.02"),
        (
            "Upgrade: libnvidia-compute-460:amd64 (460.56-0ubuntu0.20.04.1, 460.73.01-0ubuntu0.20.04.1)",
            "nvidia_driver.user_version",
            "460.73.01",
        ),
        ("`modinfo amdgpu | grep ^version` -> 6.2.4", "amdgpu_driver.version", "6.2.4"),
        ("nvidia-utils-590.48.01-2", "nvidia_driver.user_version", "590.48.01"),
        ("kernel module 560.35.03, libraries 565.57", "nvidia_driver.user_version", "565.57"),
        ("kernel module 560.35.03 is loaded, NVML 565.57.01", "nvidia_driver.version", "560.35.03"),
        ("nvidia-driver-575-open", "nvidia_driver.flavour", "open"),
        ("nvidia-dkms was replaced by nvidia-open-dkms", "nvidia_driver.flavour", "open"),
        ("nvidia-open-dkms 570.133.07", "nvidia_driver.flavour", "open"),
        ("pacman: nvidia-open-dkms 590.48.01-2", "nvidia_driver.flavour", "open"),
        ("local/nvidia-open 590.48.01-3", "nvidia_driver.flavour", "open"),
        ("package: nvidia-driver-580", "nvidia_driver.flavour", "proprietary"),
        ("siderolabs/nonfree-kmod-nvidia-production", "nvidia_driver.flavour", "proprietary"),
        ("nvidia-open-gpu-kernel-modules-lts:550.90", "nvidia_driver.flavour", "open"),
        ("nvidia, 470.57.02, 5.4.0-81-generic, x86_64: installed", "nvidia_driver.built_for", ["5.4.0-81-generic"]),
        ("nvidia-fabricmanager-550  550.90.12-1", "nvidia_driver.fabric_manager.version", "550.90.12"),
        ("NVIDIA's open kernel modules", "nvidia_driver.flavour", "open"),
        ("proprietary kernel modules are loaded", "nvidia_driver.flavour", "proprietary"),
        ("libcuda.so.570.124.06\nit may need the open kernel modules", "nvidia_driver.flavour", None),
        ("Unit nvidia-fabricmanager.service could not be found.", "nvidia_driver.fabric_manager.installed", False),
        ("amdgpu-dkms 1:6.12.12.60401-2164967", "amdgpu_driver.release", "6.4.1"),
        ("ROCk module version 6.14.14 is loaded", "amdgpu_driver.version", "6.14.14"),
        ("MES feature version: 1, firmware version: 0x00000083", "gpus[#0].firmware", {"mes": "0x83"}),
    ],
)
def test_what_is_said_of_a_driver(text: str, fact: str, value: object) -> None:
    assert said_driver.read(text).get(fact) == value


def test_a_compat_copy_is_not_the_drivers_library() -> None:
    with pytest.raises(ReaderError):
        said_driver.read("/usr/local/cuda/compat/libcuda.so.575.57.08")


@pytest.mark.parametrize(
    "text", ["rc  nvidia-utils-535  535.161.07-0ubuntu0.22.04.1", "Remove: nvidia-utils-535 535.1.7-1"]
)
def test_a_package_that_is_gone_is_no_version(text: str) -> None:
    with pytest.raises(ReaderError):
        said_driver.read(text)


@pytest.mark.parametrize(
    ("text", "fact", "value"),
    [
        ("kernel.numa_balancing = 1", "host.numa_balancing", 1),
        ("cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor\npowersave", "host.cpu_governor", "powersave"),
        ("iommu: Default domain type: Passthrough (set via kernel command line)", "host.iommu", "passthrough"),
        ("cat /sys/kernel/iommu_groups/0/type\nidentity", "host.iommu", "passthrough"),
        ("CONFIG_IOMMU_DEFAULT_PASSTHROUGH=y", "host.iommu", "passthrough"),
        ("SecureBoot enabled", "kernel.secure_boot", True),
        ("mem_info_gtt_total 103079215104", "gpus[#0].gtt_bytes", 103079215104),
        (
            "amdgpu 0000:0b:00.0: 15.7 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x2 link at 0000:00:03.1 "
            "(capable of 252.0 Gb/s with 16.0 GT/s PCIe x16 link)",
            "gpus[0000:0b:00.0].link.width",
            2,
        ),
    ],
)
def test_what_is_said_of_the_host(text: str, fact: str, value: object) -> None:
    assert said_host.read(text).get(fact) == value


def test_advice_is_no_setting() -> None:
    with pytest.raises(ReaderError):
        said_host.read('Disable by "sudo sysctl kernel.numa_balancing=0"')


def test_a_cut_out_finds_its_headings_again() -> None:
    sheet = nvidia_smi_excerpt.read("    Link Width\n        Max     : 16x\n        Current : 4x")
    assert (sheet.get("gpus[#0].link.width"), sheet.get("gpus[#0].link.max_width")) == (4, 16)


def test_whole_blocks_are_another_readers() -> None:
    with pytest.raises(ReaderError):
        nvidia_smi_excerpt.read("GPU 00000000:1B:00.0\n    Persistence Mode : Disabled")


@pytest.mark.parametrize(
    ("value", "release", "module"),
    [
        ("30.20.0", "30.20.0", None),
        ("30.30.0 (6.16.13)", "30.30.0", "6.16.13"),
        ("6.12.12-2164967", None, "6.12.12-2164967"),
        ("in-tree", None, None),
    ],
)
def test_a_drivers_number_is_its_packages_or_its_modules(value: str, release: str | None, module: str | None) -> None:
    sheet = labelled_lines.read(f"amdgpu driver: {value}")
    assert (sheet.get("amdgpu_driver.release"), sheet.get("amdgpu_driver.version")) == (release, module)


def test_an_excerpt_tells_that_mig_is_on_and_has_no_device() -> None:
    text = "    MIG Mode\n        Current       : Enabled\n    MIG Devices       : None"
    sheet = nvidia_smi_excerpt.read(text)
    assert sheet.get("gpus[#0].mig_mode") == "enabled"
    assert sheet.get("gpus[#0].partitions") == []


@pytest.mark.parametrize(
    "text",
    [
        "nvidia-smi works on the host, the container sees nothing",
        "On the node `nvidia-smi` shows all 8 GPUs",
        "nvidia-smi is fine",
    ],
)
def test_who_says_that_nvidia_smi_works_says_that_the_module_is_loaded(text: str) -> None:
    assert said_driver.read(text).get("nvidia_driver.loaded") is True


@pytest.mark.parametrize(
    "text",
    [
        "nvidia-smi doesn't show the GPU", "nvidia-smi works only after modprobe", "nvidia-smi shows no GPU",
        "nvidia-smi no longer works", "It ran until yesterday, when nvidia-smi works", "nvidia-smi used to work",
    ],
)  # fmt: skip
def test_another_time_or_a_wish_is_no_driver_that_works(text: str) -> None:
    with pytest.raises(ReaderError):
        said_driver.read(text)


@pytest.mark.parametrize(
    ("value", "flavour"),
    [("575.51.03 (open)", "open"), ("570.86 (proprietary)", "proprietary"), ("550.90, open", "open"), ("535.1", None)],
)
def test_a_drivers_flavour_may_stand_behind_its_number(value: str, flavour: str | None) -> None:
    assert labelled_lines.read(f"NVIDIA driver version: {value}").get("nvidia_driver.flavour") == flavour


@pytest.mark.parametrize(
    "line", ["kfd kfd: amdgpu: added device 1002:744c", "[   13.3] kfd kfd: added device 1002:6fdf"]
)
def test_a_gpu_that_kfd_took_has_a_driver(line: str) -> None:
    sheet = said_driver.read(line)
    assert (sheet.get("kfd.present"), sheet.get("amdgpu_driver.loaded")) == (True, True)


def test_one_that_kfd_left_out_tells_of_none() -> None:
    with pytest.raises(ReaderError):
        said_driver.read("kfd kfd: amdgpu: skipped device 1002:67df, PCI rejects atomics 730<0")


def test_dkms_tells_the_sources_it_keeps_and_for_which_kernels_they_are_built() -> None:
    lines = (
        "dkms status\nnvidia/570.153.02: added\nnvidia/550.163.01, 6.12.30-amd64, x86_64: installed\n"
        "amdgpu/6.14.14-2212064.24.04, 6.14.0-29-generic, x86_64: installed\n"
    )
    sheet = said_driver.read(lines)
    assert sheet.get("kernel.dkms") == [
        {"key": "nvidia/570.153.02", "built_for": []},
        {"key": "nvidia/550.163.01", "built_for": ["6.12.30-amd64"]},
    ]
    assert sheet.get("amdgpu_driver.version") == "6.14.14"
    assert said_driver.read("nvidia-fs, 2.19.7, 6.12.30-amd64, x86_64: installed").get("kernel.dkms") is None


@pytest.mark.parametrize(
    ("value", "version", "flavour"),
    [
        ("470", "470.x", None), ("R535", "535.x", None), ("550.x", "550.x", None), ("580-server", "580.x", None),
        ("570 (open)", "570.x", "open"), ("nvidia-driver-570", "570.x", "proprietary"), ("570-open", "570.x", "open"),
        ("nvidia-driver-580-open", "580.x", "open"), ("535.104.05", "535.104.05", None),
    ],
)  # fmt: skip
def test_a_branch_of_the_driver_stands_for_its_releases(value: str, version: str, flavour: str | None) -> None:
    sheet = labelled_lines.read(f"OS: Debian 12\nNVIDIA driver version: {value}")
    assert (sheet.get("nvidia_driver.version"), sheet.get("nvidia_driver.flavour")) == (version, flavour)


@pytest.mark.parametrize("value", ["390, 450 and 455 were tried", "470-550+", "from 535 to 550", "latest", "12.4"])
def test_several_branches_or_none_are_no_drivers_version(value: str) -> None:
    assert labelled_lines.read(f"OS: Debian 12\nNVIDIA driver version: {value}").get("nvidia_driver.version") is None


@pytest.mark.parametrize(
    "line",
    [
        "NVIDIA driver version: 550.90.07 (host), 550.120 (container)",
        "NVIDIA driver version: host 550.90.07, container 550.120",
        "NVIDIA driver version: 550.120 in the image, 550.90.07 on the host",
        "NVIDIA kernel module version: 550.90.07, user space 550.120",
    ],
)
def test_the_versions_of_both_halves_in_one_field(line: str) -> None:
    sheet = labelled_lines.read(line)
    assert sheet.get("nvidia_driver.version") == "550.90.07"
    assert sheet.get("nvidia_driver.user_version") == "550.120"


@pytest.mark.parametrize(
    "line",
    [
        "NVIDIA driver version: 535.104.05 on the host, 570.86.15 of cuda-compat in the container",
        "NVIDIA driver version: 550.90.07 (in the container)",
        "NVIDIA kernel module version: 550.90.07 (loaded module)",
    ],
)
def test_one_half_or_libraries_of_forward_compatibility(line: str) -> None:
    assert labelled_lines.read(line).get("nvidia_driver.user_version") is None


def test_a_driver_that_is_not_installed_is_not_loaded() -> None:
    for value in ("not installed", "no driver installed on the host", "not loaded"):
        assert labelled_lines.read(f"NVIDIA driver version: {value}").get("nvidia_driver.loaded") is False
    inside = "OS: Debian 12\nNVIDIA driver version: not installed in the container"
    assert labelled_lines.read(inside).get("nvidia_driver.loaded") is None


@pytest.mark.parametrize(
    ("value", "release"), [("6.8.x", "6.8"), ("6.19-rc3", "6.19-rc3"), ("7.0-rc4-custom", "7.0-rc4-custom")]
)
def test_a_series_or_a_candidate_of_the_kernel(value: str, release: str) -> None:
    assert labelled_lines.read(f"Kernel: {value}").get("kernel.release") == release


@pytest.mark.parametrize("line", ["nv-fabricmanager is 550.127", "NVIDIA Fabric Manager version: 550.127.05"])
def test_a_fabric_managers_version_in_words(line: str) -> None:
    assert (said_driver.read(line).get("nvidia_driver.fabric_manager.version") or "").startswith("550.127")


def test_a_fabric_manager_that_is_asked_for_has_no_version() -> None:
    with pytest.raises(ReaderError):
        said_driver.read("install a fabric manager of driver 550.127 there")


@pytest.mark.parametrize(
    ("line", "flavour"),
    [
        ("hardware.nvidia.open = false;", "proprietary"),
        ("NVIDIA kernel module type: hardware.nvidia.open = true", "open"),
        ("NVIDIA kernel module type: nonfree", "proprietary"),
        ("NVIDIA kernel module type: not open, proprietary", "proprietary"),
    ],
)
def test_the_flavour_as_nixos_and_others_set_it(line: str, flavour: str) -> None:
    assert labelled_lines.read(line).get("nvidia_driver.flavour") == flavour


def test_a_flavour_that_is_left_to_a_variable_is_not_known() -> None:
    line = "OS: NixOS 25.05\nhardware.nvidia.open = config.blackwell;"
    assert labelled_lines.read(line).get("nvidia_driver.flavour") is None


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("amdgpu: 6.8.5", "6.8.5"),
        ("amdgpu: 1:6.3.6.60100-1234567", "6.3.6"),
        ("amdgpu: driver 6.7.0 (DKMS)", "6.7.0"),
        ("amdgpu driver: 6.10.5 (of 0000:03:00.0)", "6.10.5"),
    ],
)
def test_a_number_behind_amdgpu_is_the_drivers(text: str, version: str) -> None:
    assert labelled_lines.read(text).get("amdgpu_driver.version") == version


@pytest.mark.parametrize(
    "text",
    [
        "amdgpu: probe of 0000:0b:00.0 failed with error -22",
        "amdgpu: 0000:0b:00.0: Fatal error during GPU init",
        "amdgpu: SMU firmware version = 78.57 (0x0)",
        "amdgpu: Display Core v3.2.334 initialized on DCN 3.5.1",
        "amdgpu driver: probe of 0000:0b:00.0 failed",
    ],
)
def test_the_kernels_line_is_no_release_of_its_driver(text: str) -> None:
    """amdgpu begins its lines in the kernel's log with its name: an address and a firmware's number follow it there."""
    with pytest.raises(ReaderError):
        labelled_lines.read(text)
