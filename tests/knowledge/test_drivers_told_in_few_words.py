"""Drivers and GPUs that fail, as threads tell it in a line or two, and what stands near to that."""

# ruff: noqa: E501

from __future__ import annotations

from doctor.intake import read_text
from tests.knowledge.texts import names, names_not, raised, told

ROCMINFO = "$ rocminfo\n*******\nAgent 2\n*******\n  Name:                    gfx1100\n  Marketing Name:          AMD Radeon RX 7900 XTX\n  Vendor Name:             AMD\n  Device Type:             GPU\n"
INSTINCT = "$ rocminfo\n*******\nAgent 2\n*******\n  Name:                    gfx942\n  Marketing Name:          AMD Instinct MI300X\n  Vendor Name:             AMD\n  Device Type:             GPU\n"
CARD = "GPUs:\nGPU 0: AMD Radeon RX 6800 XT\n"
H200 = "$ nvidia-smi -L\nGPU 0: NVIDIA H200\n"
NO_MODULE = "Error output:\nERROR:root:Driver not initialized (amdgpu not found in modules)\n"

# A listing of what the GPU is may be of a boot in which the driver was there.
test_an_error_against_a_listing = names(
    [
        (f"{NO_MODULE}{INSTINCT}Other output:\nclinfo: Number of devices: 0\n", "amdgpu-driver-not-loaded"),
        (f"{NO_MODULE}{INSTINCT}Other output:\nlsmod does not list amdgpu\n", "amdgpu-driver-not-loaded"),
        (f"{NO_MODULE}{INSTINCT}Other output:\nthe node fails its health check\n", "amdgpu-driver-not-loaded"),
        (
            f"Error output:\nROCk module is NOT loaded, possibly no GPU devices\n{ROCMINFO}Other output:\namdgpu is blacklisted in /etc/modprobe.d\n",
            "amdgpu-driver-not-loaded",
        ),
        (
            f"Error output:\nUnable to detect any GPU devices, check amdgpu version and module status\n{INSTINCT}",
            "amdgpu-driver-not-loaded",
        ),
    ]
)
test_a_listing_against_an_error = names_not(
    [
        (
            f"{NO_MODULE}{INSTINCT}Other output:\namdgpu is built into the kernel\nrocminfo lists the GPU\n",
            "amdgpu-driver-not-loaded",
        ),
        (
            f"{NO_MODULE}{INSTINCT}PyTorch version: 2.7.1+rocm6.3\nROCM used to build PyTorch: 6.3.4\nIs CUDA available: True\n",
            "amdgpu-driver-not-loaded",
        ),
        (f"Error output:\nnumber of devices: 2 shown, 3 asked\n{INSTINCT}", "amdgpu-driver-not-loaded"),
    ]
)

# What the kernel lacks no container can have been given.
test_no_compute_side_in_the_kernel = names(
    [
        (
            f"Error output:\nno GPU in ollama\n{CARD}Other output:\n/dev/kfd missing, /dev/dri present\nkernel of the NAS has no KFD\n",
            "amdgpu-driver-not-loaded",
        ),
        (
            f"Error output:\nrocminfo finds no GPU\n{CARD}Container:\nrunning inside a container: yes\nOther output:\ndmesg | grep -i kfd gives no output\n",
            "amdgpu-driver-not-loaded",
        ),
        (f"Error output:\nno /dev/kfd\n{CARD}Other output:\nCONFIG_HSA_AMD is not set\n", "amdgpu-driver-not-loaded"),
        ("Error output:\nno amd.com/gpu resource\nplugin waits, /sys/class/kfd missing\n", "amdgpu-driver-not-loaded"),
        (f"Error output:\nrocminfo fails\namdgpu DKMS module was not built\n{CARD}", "amdgpu-driver-not-loaded"),
        (f"Error output:\nROCm works only after modprobe amdgpu\n{CARD}", "amdgpu-driver-not-loaded"),
        (f"Error output:\nrocminfo finds no GPU\nno amdgpu lines in dmesg\n{CARD}", "amdgpu-driver-not-loaded"),
        (
            f"Kernel log:\n$ dmesg\namdgpu: probe of 0000:03:00.0 failed with error -22\n{CARD}",
            "amdgpu-driver-not-loaded",
        ),
    ]
)
test_a_compute_side_that_is_there = names_not(
    [
        (f"Error output:\nno GPU in ollama\n{CARD}dmesg | grep -i kfd shows kfd added\n", "amdgpu-driver-not-loaded"),
        (
            f"Kernel log:\n$ dmesg\namdgpu: probe of 0000:03:00.0 failed with error -19\n{CARD}",
            "amdgpu-driver-not-loaded",
        ),
        (f"Error output:\nTypeError\nmodprobe amdgpu was run\n{CARD}", "amdgpu-driver-not-loaded"),
    ]
)

test_a_gpu_that_hangs = names(
    [
        (
            f"Kernel log:\n$ dmesg\nINFO: task kworker/3:1:811 blocked for more than 122 seconds.\nWorkqueue: amdgpu-reset-dev drm_sched_job_timedout [gpu_sched]\n{ROCMINFO}",
            "amdgpu-gpu-hang",
        ),
        (
            f"Kernel log:\n$ dmesg\nWorkqueue: events_freezable svm_range_restore_work [amdgpu]\n{ROCMINFO}",
            "amdgpu-gpu-hang",
        ),
        (f"Kernel log:\n$ dmesg\namdgpu: Failed to evict process queues\n{ROCMINFO}", "amdgpu-gpu-hang"),
        (f"Kernel log:\n$ dmesg\n[drm] AMDGPU device coredump file has been created\n{ROCMINFO}", "amdgpu-gpu-hang"),
        (f"Error output:\nGPUVM page faults now and then\n{ROCMINFO}", "amdgpu-gpu-hang"),
        (f"Error output:\npage fault in the kernel log while the server runs\n{ROCMINFO}", "amdgpu-gpu-hang"),
        (f"Error output:\nhost reboots under load\nsdma0 timeout in dmesg\n{ROCMINFO}", "amdgpu-gpu-hang"),
        (f"Error output:\namdgpu resets the GPU during inference\n{ROCMINFO}", "amdgpu-gpu-hang"),
        (f"Error output:\ndesktop frozen\nMES in unrecoverable state\n{ROCMINFO}", "amdgpu-gpu-hang"),
        (f"Error output:\ncard locks up at the second image\n{ROCMINFO}", "amdgpu-gpu-hang"),
        (f"Error output:\njob aborted\nsoft lockup in amdgpu\n{ROCMINFO}", "amdgpu-gpu-hang"),
    ]
)
test_what_is_no_hang = names_not(
    [
        (f"Error output:\nprogress bar is wrong\nno page faults in dmesg\n{ROCMINFO}", "amdgpu-gpu-hang"),
        (f"Error output:\nhttp request timed out\namdgpu is idle\n{ROCMINFO}", "amdgpu-gpu-hang"),
        (f"Error output:\ntest_page_fault fails\n{ROCMINFO}", "amdgpu-gpu-hang"),
        (f"Error output:\npage fault in the kernel log\n{H200}", "amdgpu-gpu-hang"),
        ("Kernel log:\n$ dmesg\nWorkqueue: events_highpri dm_irq_work_func [amdgpu]\n", "amdgpu-gpu-hang"),
    ]
)

test_memory_that_counts_errors = names(
    [
        (f"Error output:\nCUDA error: out of memory\nVolatile Uncorr. ECC: 1\n{H200}", "gpu-ecc-errors"),
        (f"Error output:\njobs die\nnvidia-smi shows 2 volatile uncorr. ECC on GPU 5\n{H200}", "gpu-ecc-errors"),
        (
            f"Error output:\nloss becomes NaN on one node\nSRAM uncorrectable errors 12 on GPU 7\n{H200}",
            "gpu-ecc-errors",
        ),
        (f"Error output:\ndevice is unhealthy\nDBE count 3\n{H200}", "gpu-ecc-errors"),
        (f"Error output:\nCuda failure 214\n{H200}", "gpu-ecc-errors"),
        (f"Error output:\njob aborted\nDBE in the framebuffer\n{H200}", "gpu-ecc-errors"),
        (
            f"Error output:\namdgpu: Fatal error during GPU init\nuncorrectable error reported in dmesg\n{CARD}",
            "gpu-ecc-errors",
        ),
        (f"Error output:\njob stops\nthe kernel log has an uncorrectable HBM error\n{INSTINCT}", "gpu-ecc-errors"),
    ]
)
test_memory_that_counts_none = names_not(
    [
        (f"Error output:\nno metrics\nVolatile Uncorr. ECC: 0\n{H200}", "gpu-ecc-errors"),
        (f"Error output:\nno metrics\nuncorrectable ECC errors 0, remapped rows 0\n{H200}", "gpu-ecc-errors"),
        (f"Error output:\nCI fails\nthe mock of NVML returns 3 uncorrectable errors\n{H200}", "gpu-ecc-errors"),
        (f"Error output:\nassertion failed\nPCIe uncorrectable errors 2\n{H200}", "gpu-ecc-errors"),
        (f"Error output:\njob stops\nno uncorrectable error was logged\n{INSTINCT}", "gpu-ecc-errors"),
    ]
)

test_a_gpu_that_is_gone = names(
    [
        (f"Kernel log:\n$ dmesg\nNVRM: _kgspRpcRecvPoll: GSP RM heartbeat timed out\n{H200}", "nvidia-xid-fatal"),
        ("Error output:\nGPU fell off the bus\ncudaErrorUnknown\n", "nvidia-xid-fatal"),
    ],
    first=True,
)
test_a_gpu_that_sleeps = names_not(
    [
        (f"Error output:\nGSP RM heartbeat timed out\nafter suspend and resume\n{H200}", "nvidia-xid-fatal"),
        ("Error output:\nGPU fell off the bus\ncudaErrorUnknown\n", "nvidia-uvm-stale-after-suspend"),
    ]
)


def test_an_nvlink_error_that_says_that_it_is_not_fatal() -> None:
    line = "NVRM: Xid (PCI:0018:01:00): {}, RLW_RXPIPE {} XC0 i0 Link 13 (0x0409a0c2 0x00000008)\n"
    told_mild = raised(f"Kernel log:\n$ dmesg\n{line.format(145, 'Nonfatal')}{H200}")
    assert "nvidia-xid-fatal" not in told_mild
    assert "nvidia-xid-fatal" in raised(f"Kernel log:\n$ dmesg\n{line.format(145, 'Fatal')}{H200}")


test_a_driver_of_another_age = names(
    [
        (
            f"Error output:\ndoes not work with earlier dkms drivers\n{CARD}ROCm version: 5.0\n",
            "amdgpu-rocm-version-skew",
        ),
        (f"Error output:\nneeds a host driver from ROCm 4.5 or later\n{CARD}", "amdgpu-rocm-version-skew"),
        (f"Error output:\nkfd ioctl version mismatch\n{CARD}", "amdgpu-rocm-version-skew"),
        (f"Error output:\nGPU health is 0\nsince driver 30.30.1, 30.30 is fine\n{INSTINCT}", "amdgpu-driver-known-bad"),
        (f"Error output:\nfatal records\namdgpu driver 30.30 does not show it\n{INSTINCT}", "amdgpu-driver-known-bad"),
        (
            f"Error output:\nsystem hangs with the package's driver\nin-tree driver works\n{ROCMINFO}",
            "amdgpu-driver-known-bad",
        ),
        (
            f"Error output:\nE: Unable to locate package linux-modules-extra-5.14.0-1051-oem\n{CARD}",
            "amdgpu-kernel-or-os-unsupported",
        ),
        (f"Error output:\ndkms build error for amdgpu/6.16.13\n{CARD}", "amdgpu-kernel-or-os-unsupported"),
        (f"Error output:\nno ROCm packages for Debian 13\n{CARD}", "amdgpu-kernel-or-os-unsupported"),
        (
            f"Error output:\napt: rocm depends on libpython3.8, not installable\n{CARD}",
            "amdgpu-kernel-or-os-unsupported",
        ),
    ]
)
test_a_driver_of_the_same_age = names_not(
    [
        (f"Error output:\nworks with earlier dkms drivers, wrong label\n{CARD}", "amdgpu-rocm-version-skew"),
        (f"Error output:\nnot tested with older NVIDIA drivers\n{H200}", "amdgpu-rocm-version-skew"),
        (f"Error output:\nTypeError\nsince driver 30.30.1 as before\n{INSTINCT}", "amdgpu-driver-known-bad"),
        (f"Error output:\nsystem hangs\nwith the in-tree driver too\n{ROCMINFO}", "amdgpu-driver-known-bad"),
        (
            f"Error output:\nTypeError\nlinux-modules-extra-5.14.0-1051-oem is installed\n{CARD}",
            "amdgpu-kernel-or-os-unsupported",
        ),
        (
            f"Error output:\nTypeError\nROCm packages for Debian 13 are installed\n{CARD}",
            "amdgpu-kernel-or-os-unsupported",
        ),
    ]
)

test_a_gpu_that_another_driver_has = names(
    [
        (
            "Error output:\nboot loops with the NVIDIA driver\nnova_core is loaded since kernel 6.18\n",
            "gpu-bound-to-other-driver",
        ),
        ("Error output:\nnvidia.ko: No such device\nnova_core claims the card at boot\n", "gpu-bound-to-other-driver"),
        ("Error output:\nnvidia driver and nova-core conflict\n", "gpu-bound-to-other-driver"),
        (
            "Error output:\nnvidia-smi -L no longer lists the GPU once the VM has been stopped\n",
            "gpu-bound-to-other-driver",
        ),
        (
            "Error output:\nnvidia-smi: No devices were found\nGPU claimed by vfio at boot\n",
            "gpu-bound-to-other-driver",
        ),
        ("Error output:\nnvidia-smi: No devices were found\nxen-pciback holds the card\n", "gpu-bound-to-other-driver"),
        (
            "Error output:\nROCm finds no GPU\nradeon driver instead of amdgpu\nGPU 0: AMD FirePro W7100\n",
            "gpu-bound-to-other-driver",
        ),
        (
            "Error output:\nCUDA sees no device\n01:00.0 VGA compatible controller: NVIDIA GA102 [GeForce RTX 3090] (driver vfio-pci)\n",
            "gpu-bound-to-other-driver",
        ),
    ]
)
test_a_gpu_that_its_own_driver_has = names_not(
    [
        ("Error output:\nthe guide says to blacklist nova_core for nvidia\n", "gpu-bound-to-other-driver"),
        ("Error output:\nOpenStack nova claims the instance twice\n", "gpu-bound-to-other-driver"),
        (f"Error output:\nTypeError\nnova_core  204800  0\n{H200}", "gpu-bound-to-other-driver"),
        (
            "Error output:\nwrong count\nnvidia-smi lists the GPU once the VM has been stopped\n",
            "gpu-bound-to-other-driver",
        ),
        (f"Error output:\nTypeError\namdgpu instead of radeon\n{CARD}", "gpu-bound-to-other-driver"),
        ("Error output:\nthe network driver vfio-pci is missing\n", "gpu-bound-to-other-driver"),
    ]
)

test_a_module_that_secure_boot_stops = names(
    [
        (
            "Error output:\nthe GPU extension cannot load the driver\nsecurity type: Trusted launch\n",
            "secure-boot-blocks-module",
        ),
    ]
)
test_a_module_that_it_lets_in = names_not(
    [
        (
            "Error output:\nthe GPU extension cannot load the driver list\nTrusted launch: off\n",
            "secure-boot-blocks-module",
        ),
    ]
)


# One line, as the title of a change has it.
test_titles = names(
    [
        ("Error output:\nthe plugin stops at a dead GPU\n", "nvidia-xid-fatal"),
        ("Error output:\nnvidia-smi: Unknown Error on one GPU\n", "nvidia-xid-fatal"),
        (f"Error output:\nRAS error, GPU taken out of service\n{INSTINCT}", "gpu-ecc-errors"),
        ("Error output:\nKFD not enabled in the kernel\n", "amdgpu-driver-not-loaded"),
        ("Error output:\ngfxhub page fault\n", "amdgpu-gpu-hang"),
        ("Error output:\nhost kernel driver older than the container's ROCm\n", "amdgpu-rocm-version-skew"),
        ("Error output:\nROCm apt repository has no packages for Ubuntu 25.04\n", "amdgpu-kernel-or-os-unsupported"),
        ("Error output:\nROCm is not supported on Debian 13\n", "amdgpu-kernel-or-os-unsupported"),
        ("Error output:\namdgpu 30.30.1 reports healthy GPUs as failed\n", "amdgpu-driver-known-bad"),
        ("Error output:\ncrash fixed by a newer amdgpu driver\n", "amdgpu-driver-known-bad"),
    ]
)
test_titles_near_to_them = names_not(
    [
        ("Error output:\nthe report counts lost GPU time twice\n", "nvidia-xid-fatal"),
        ("Error output:\nthe container lost GPU access\n", "nvidia-xid-fatal"),
        ("Error output:\nFailed to initialize NVML: Unknown Error\n", "nvidia-xid-fatal"),
        (f"Error output:\nRAS error counters are missing from the metrics\n{INSTINCT}", "gpu-ecc-errors"),
        ("Error output:\nthe page on KFD is not finished\n", "amdgpu-driver-not-loaded"),
        ("Error output:\nno gfxhub page fault any more\n", "amdgpu-gpu-hang"),
        ("Error output:\nhost kernel driver is newer, label is wrong\n", "amdgpu-rocm-version-skew"),
        ("Error output:\nROCm 7 is supported on Ubuntu 24.04, label is wrong\n", "amdgpu-kernel-or-os-unsupported"),
        ("Error output:\namdgpu 30.30.1 is shown as 30.30\n", "amdgpu-driver-known-bad"),
    ]
)


def test_two_gpus_that_are_listed_are_no_lack() -> None:
    assert told(f"Error output:\nTypeError: list index out of range\n{INSTINCT}") == []
    assert read_text([INSTINCT.encode()]).gpus
