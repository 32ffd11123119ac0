"""What parts of an AMD stack say of each other, and near misses of each."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, raised, told


def gpu(arch: str, name: str = "AMD Radeon Graphics") -> str:
    return f"GPU:\n$ rocminfo\n*******\nAgent 2\n*******\n  Name:                    {arch}\n  Marketing Name:          {name}\n  Vendor Name:             AMD\n  Device Type:             GPU\n"


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("ModuleNotFoundError: Unknown rocm library 'rocm_sysdeps_liblzma'", "torch-rocm-version-mismatch"),
        ("KeyError: 'hipsparselt'", "torch-rocm-version-mismatch"),
        ("KeyError: 'rocprofiler-sdk-roctx'", "torch-rocm-version-mismatch"),
        (
            "RuntimeError: The program was compiled against a ROCm version matching '7.11.0*' but the installed ROCm version in this Python environment is 7.10.0a20251204.",
            "torch-rocm-version-mismatch",
        ),
        ("ModuleNotFoundError: Missing required rocm libraries. Please refer to Python setup", "gpu-libs-not-found"),
        ("FileNotFoundError: Could not find rocm library 'miopen' at path '/venv/lib,' no match", "gpu-libs-not-found"),
        ("UnboundLocalError: cannot access local variable 'py_module' where it is not", "gpu-libs-not-found"),
        ("ERROR: Could not load the `rocm[devel]` package, which is required", "gpu-libs-not-found"),
    ],
)
def test_python_packages_of_rocm(line: str, cause: str) -> None:
    assert cause in told(f"Error output:\n{line}\n")


@pytest.mark.parametrize("line", ["KeyError: 'hipster'", "KeyError: 'model'", "Found rocm library 'hipblaslt'"])
def test_other_keys_are_of_no_package(line: str) -> None:
    assert not keys(line) & {"rocm-sdk-names-no-such-library", "rocm-sdk-lacks-library"}


def test_a_release_that_is_only_warned_of() -> None:
    line = "UserWarning: The program was compiled against a ROCm version matching '7.11.0*' but the installed ROCm version is 7.12.0"
    assert "torch-rocm-version-mismatch" not in raised(f"Error output:\n{line}\nhow do I hide it?\n")
    assert "torch-rocm-version-mismatch" in raised(f"Error output:\n{line}\nSegmentation fault (core dumped)\n")


@pytest.mark.parametrize(
    "line",
    [
        "rocminfo of ROCm 5.7 lists the GPU, that of 7.0 does not",
        "the distribution's rocminfo 5.7 lists the GPU",
        "the GPU is found with ROCm 6.2",
        "with ROCm 6.2 the same GPU is found",
        "works under stock ROCm 5.7",
    ],
)
def test_a_rocm_of_another_release_sees_the_gpu(line: str) -> None:
    text = f"Error output:\nno ROCm-capable device is detected\nOther output:\n{line}\n{gpu('gfx942')}"
    assert told(text)[0] == "amdgpu-rocm-version-skew"


@pytest.mark.parametrize(
    "line",
    [
        "Ubuntu 20.04 with ROCm 3.7 can not detect the GPU, only the CPU",
        "rocminfo 6.2 lists no GPU",
        "ROCm 6.2 is installed",
        "torch works with ROCm 6.2",
    ],
)
def test_no_release_is_said_to_see_it(line: str) -> None:
    assert "rocm-of-other-release-sees-gpu-told" not in keys(line)


def test_a_seen_gpu_has_nodes_that_may_be_opened() -> None:
    text = (
        "Error output:\nno ROCm-capable device is detected\nContainer:\n$ docker run --device /dev/kfd --device /dev/dri --group-add video miner:1\n"
        f"Other output:\nrocminfo of ROCm 5.7 lists the GPU\n{gpu('gfx942')}"
    )
    assert "container-render-group-mismatch" not in raised(text)


@pytest.mark.parametrize(
    ("line", "causes"),
    [
        ("the toolbox has no access to /dev/kfd", {"container-missing-gpu-passthrough", "device-node-permission"}),
        ("/dev/kfd cannot be accessed from inside", {"container-missing-gpu-passthrough", "device-node-permission"}),
        ("/dev/kfd is not available in the container", {"container-missing-gpu-passthrough"}),
        ("/dev/kfd and /dev/dri are not passed into the box", {"container-missing-gpu-passthrough"}),
    ],
)
def test_nodes_that_a_container_does_not_reach(line: str, causes: set[str]) -> None:
    assert causes <= set(told(f"Error output:\nclinfo lists no device\nOther output:\n{line}\n"))


@pytest.mark.parametrize("line", ["/dev/kfd is not needed for Vulkan", "the container has access to /dev/kfd"])
def test_nodes_that_are_reached_or_not_needed(line: str) -> None:
    assert not keys(line) & {"gpu-nodes-not-passed-told", "gpu-nodes-out-of-reach-told"}


@pytest.mark.parametrize("line", ["AtomicOpsCtl: ReqEn-", "root port: AtomicOpsCap: Routing- 32bit- 64bit- 128bitCAS-"])
def test_atomics_in_lspci_of_a_gpu_that_stands(line: str) -> None:
    text = (
        f"Error output:\nevery copy to the GPU hangs\nOther output:\n{line}\n{gpu('gfx1100', 'AMD Radeon RX 7900 XTX')}"
    )
    assert "pcie-atomics-missing" in told(text)


def test_atomics_in_lspci_of_a_gpu_that_works() -> None:
    text = f"Error output:\nhow do I lower the fan?\nOther output:\nAtomicOpsCtl: ReqEn-\n{gpu('gfx1100')}"
    assert raised(text) == []


def test_code_that_tensorflow_lacks() -> None:
    packages = "Packages:\n$ pip list\nPackage    Version\n---------- -------\n"
    error = 'Error output:\n"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"\n'
    found = told(error + gpu("gfx1010", "Radeon RX 5700 XT") + packages + "tensorflow-rocm 2.8.0\n")
    assert {"library-missing-gpu-arch", "amd-gpu-unsupported-by-rocm"} <= set(found)
    assert "torch-missing-gpu-arch" not in found
    assert "torch-missing-gpu-arch" in told(error + gpu("gfx1010") + packages + "torch 2.1.0+rocm5.6\n")


def test_a_gpu_newer_than_the_table_is_not_called_unsupported() -> None:
    assert "amd-gpu-unsupported-by-rocm" not in raised(f"Error output:\nhipErrorNoBinaryForGpu\n{gpu('gfx1250')}")


def test_a_card_whose_table_of_parts_is_not_read() -> None:
    text = "Kernel log:\n$ dmesg\namdgpu 0000:05:00.0: amdgpu: get invalid ip discovery binary signature\n"
    assert told(text)[0] == "amdgpu-driver-not-loaded"


def test_a_driver_that_comes_up_under_another_kernel() -> None:
    text = f"Error output:\namdgpu: Fatal error during GPU init\nOther output:\nworks with kernel 5.14.0-570.58.1.el9_6.x86_64\n{gpu('gfx942')}"
    assert "amdgpu-kernel-or-os-unsupported" in told(text)
    hang = f"Error output:\nGPU Hang\nOther output:\nworks with kernel 6.12.4-200.fc41.x86_64\n{gpu('gfx1100')}"
    assert "amdgpu-kernel-or-os-unsupported" not in told(hang)


@pytest.mark.parametrize(
    "line",
    [
        "the same container runs with 6.14.0",
        "booted back into 6.14.9-300.fc42 and the job finishes",
        "6.12.41 does not show this",
        "on 6.14.0-37 the same model runs for days",
    ],
)
def test_a_kernel_that_is_told_by_its_release_alone(line: str) -> None:
    text = (
        f"Error output:\nGPU reset during training\nSystem:\nKernel: 6.16.3\n{gpu('gfx1100')}\nOther output:\n{line}\n"
    )
    assert "amdgpu-driver-known-bad" in raised(text)


@pytest.mark.parametrize(
    "line",
    [
        "the same script runs with 6.3.4 of ROCm",
        "it does not run with 6.14.0 either",
        "the same fault with 6.14.0",
        "the test ran with 6.14.0 too and failed",
        "works with protobuf 6.30.2",
        "works with 6.30.2",
    ],
)
def test_releases_that_are_no_other_kernel_that_works(line: str) -> None:
    assert "other-kernel-works" not in keys(line)


@pytest.mark.parametrize(
    "line",
    [
        "no freeze with torch 2.13.0.dev20260420+rocm7.2",
        "the crash is gone with torch 2.6.0.dev20241122+rocm6.2",
        "no more hangs with ROCm 6.3.4",
        "the same job passes with torch 2.8.0",
    ],
)
def test_a_fault_that_another_release_does_not_have(line: str) -> None:
    text = f"Error output:\nthe program hangs, then Segmentation fault (core dumped)\n{gpu('gfx1100')}\nOther output:\n{line}\n"
    assert told(text)[0] == "known-bad-library-version"


@pytest.mark.parametrize(
    "line",
    [
        "no idea whether it does with torch 2.12.0",
        "no difference with torch 2.12.0",
        "no crash with torch 2.8.0+cpu",
        "the same crash with torch 2.8.0",
    ],
)
def test_other_releases_that_say_nothing(line: str) -> None:
    assert "fault-absent-in-other-release" not in keys(line)


@pytest.mark.parametrize(
    "line",
    [
        "python3[8123]: segfault at 0 ip 00007fe4 sp 00007ffd error 4 in libMIOpen.so.1.0.60403[7fe4+2000]",
        "ollama[77]: segfault at 18 ip 00007f4b sp 00007ffd error 4 in libhsa-runtime64.so.1.14.0[7f4b+1f0000]",
        "llama-server[9]: segfault at 8 ip 00007f11 sp 00007ffc error 6 in libamd_comgr.so.3.0[7f11+9000]",
    ],
)
def test_a_library_of_rocm_that_crashes(line: str) -> None:
    assert "known-bad-library-version" in raised(f"{gpu('gfx1100')}\nKernel log:\n{line}\n")
    assert "segfault-in-rocm-library" not in keys(line.replace(" in lib", " in libxyz-"))


@pytest.mark.parametrize(
    "line",
    [
        "HIP 6.4 amdhip64_6.dll: hipGetDeviceCount => err=0, count=1",
        "amdhip64_6.dll returns 1 device",
        "with amdhip64_6.dll the count is 1, with amdhip64_7.dll it is 0",
    ],
)
def test_one_of_two_hip_dlls_sees_the_gpu(line: str) -> None:
    text = f"Error output:\nno ROCm-capable device is detected\nSystem:\nOS: Windows 11\n{gpu('gfx1100')}\nOther output:\n{line}\n"
    assert told(text)[0] == "known-bad-library-version"


@pytest.mark.parametrize(
    "line",
    [
        "amdhip64_6.dll and amdhip64_7.dll are both installed",
        "amdhip64_7.dll: count=0",
        "amdhip64_7.dll sits in System32",
    ],
)
def test_hip_dlls_that_tell_nothing(line: str) -> None:
    assert "other-hip-dll-sees-gpu-told" not in keys(line)


@pytest.mark.parametrize(
    "line",
    [
        "Ubuntu's ROCm 7.1 packages (HSA runtime 1.18.0) work on the same system",
        "the distribution's rocminfo 6.1 works on the same machine",
        "Fedora's own ROCm 6.4 packages run it without a fault",
        "the packages of ROCm 6.3.3 work here",
    ],
)
def test_rocm_of_another_packager_works(line: str) -> None:
    text = f"Error output:\nrocminfo: Segmentation fault (core dumped)\n{gpu('gfx1201')}\nOther output:\n{line}\n"
    assert told(text)[0] == "known-bad-library-version"


@pytest.mark.parametrize(
    "line",
    [
        "Ubuntu's ROCm packages do not work either",
        "Ubuntu's ROCm packages are not installed",
        "Debian's ROCm runs torch 2.6",
        "the same crash with the packages of ROCm 6.3.3, they work no better",
    ],
)
def test_other_packages_that_tell_nothing(line: str) -> None:
    assert "other-rocm-packages-work-told" not in keys(line)


@pytest.mark.parametrize(
    "line",
    [
        "AssertionError: Aiter MLA only supports 16 or 128 number of heads.",
        "NotImplementedError: aiter paged attention only supports block sizes of 16",
        "RuntimeError: aiter fmha does not support head_dim 96",
    ],
)
def test_aiter_refuses_a_shape(line: str) -> None:
    assert told(f"Error output:\n{line}\n{gpu('gfx950')}")[0] == "companion-kernel-lib-outdated"


def test_aiter_refuses_a_gpu_or_a_page_says_so() -> None:
    for line in (
        "RuntimeError: aiter only supports gfx942 and gfx950",
        "AITER only supports head sizes of 128, says its page",
    ):
        assert "ck-or-aiter-kernel-refuses" not in keys(line)


@pytest.mark.parametrize(
    "line",
    [
        "the warning is gone with the graphics of the processor disabled",
        "turning the iGPU off in the BIOS makes the message go away",
        "no fault once the integrated graphics is disabled in the BIOS",
        "works after the onboard graphics of the Ryzen was switched off",
        "with the iGPU hidden the server is stable",
    ],
)
def test_a_fault_that_goes_with_the_integrated_gpu(line: str) -> None:
    text = f"Error output:\nMemory access fault by GPU node-1\n{gpu('gfx1101')}\nOther output:\n{line}\n"
    assert "integrated-gpu-conflict" in raised(text)


@pytest.mark.parametrize("line", ["the iGPU is disabled in the BIOS", "same fault with the iGPU disabled in the BIOS"])
def test_an_integrated_gpu_that_is_off(line: str) -> None:
    assert not keys(line) & {"integrated-gpu-off-cures-told", "igpu-off-helps"}


def test_isa_that_torch_has_no_code_for() -> None:
    error = "HSA_STATUS_ERROR_INVALID_ISA: The instruction set architecture is invalid. code: 0x100f"
    wheel = "Packages:\n$ pip list\nPackage    Version\n---------- -------\ntorch 2.4.0+rocm6.0\n"
    assert "torch-missing-gpu-arch" in raised(f"Error output:\n{error}\n{gpu('gfx1102')}\n{wheel}")
    assert "torch-missing-gpu-arch" not in raised(f"Error output:\n{error}\n{gpu('gfx942')}\n{wheel}")
    override = "Environment variables:\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
    assert "hsa-override-misuse" in raised(f"Error output:\n{error}\n{gpu('gfx1102')}\n{wheel}{override}")


@pytest.mark.parametrize(
    "line",
    [
        "the examples of ROCm 5.7 finish on this card",
        "comgr 6.2.4 from the archive does not do it",
        "torch 2.7.1+rocm6.3 trains all night",
        "rocprofv3 6.2.4 on the same node writes its trace",
        "rocFFT 5.5 is right on the same input",
    ],
)
def test_a_part_of_rocm_of_another_release_does_well(line: str) -> None:
    text = f"Error output:\nSegmentation fault (core dumped)\n{gpu('gfx1030')}\nOther output:\n{line}\n"
    assert told(text)[0] == "known-bad-library-version"


@pytest.mark.parametrize(
    "line",
    [
        "the same crash with ROCm 5.7, it works no better",
        "ROCm 5.7 does not work either",
        "torch 2.7.1 works on the CPU only",
        "the image of ROCm 6.2 works",
        "built with ROCm 6.2, the tests pass",
        "ROCm 6.2 is needed",
        "ROCm 6.2 is found and works",
    ],
)
def test_a_part_of_rocm_of_which_nothing_good_is_told(line: str) -> None:
    assert "rocm-part-of-other-release-fine-told" not in keys(line)


@pytest.mark.parametrize(
    "line",
    [
        "6.6.90 lts: no stalls",
        "6.12.41 is stable",
        "since the update from 6.16.10",
        "it began after upgrading to 6.17.2",
    ],
)
def test_a_kernel_release_at_the_start_of_a_line(line: str) -> None:
    text = f"Error output:\nthe GPU hangs, program aborted\nSystem:\nKernel: 6.17.5\n{gpu('gfx1100')}\nOther output:\n{line}\n"
    assert "amdgpu-driver-known-bad" in raised(text)


@pytest.mark.parametrize("line", ["6.5.1 is the newest release", "since the update from 6.3.4", "6.4.2: no GPU"])
def test_releases_at_the_start_of_a_line_that_are_no_kernels(line: str) -> None:
    assert not keys(line) & {"other-kernel-works", "kernel-regression-told"}


def test_without_dkms() -> None:
    for line in ("without dkms, the kernel's own driver, it passes", "with the in-tree amdgpu the same job is stable"):
        assert "other-amdgpu-driver-works" in keys(line)
    for line in ("without dkms the same fault", "the in-tree amdgpu does not work either", "dkms works"):
        assert "other-amdgpu-driver-works" not in keys(line)


@pytest.mark.parametrize("line", ["lshw: *-display:1 UNCLAIMED Vega 20", "lshw shows the MI210 as UNCLAIMED"])
def test_an_unclaimed_card(line: str) -> None:
    sick = f"Error output:\nrocminfo: no agents\nSystem:\nOS: Rocky Linux 9\nOther output:\n{line}\nInstinct MI210\n"
    assert "amdgpu-driver-not-loaded" in raised(sick)
    assert "amdgpu-driver-not-loaded" not in raised(
        f"Error output:\nthe job is slow\nOther output:\n{line}\n{gpu('gfx90a')}"
    )


@pytest.mark.parametrize(
    ("line", "neither"),
    [
        ("id ollama: groups=ollama", True),
        ("id -Gn worker: groups=worker,docker", True),
        ("id ollama: groups=ollama,render", False),
        ("id ollama: groups=ollama,video", False),
        ("groups=3 in the convolution", False),
    ],
)
def test_an_account_in_neither_group(line: str, neither: bool) -> None:
    assert ("account-in-neither-group-told" in keys(line)) is neither


@pytest.mark.parametrize(
    ("line", "lacks"),
    [
        ("installed without --usecase=wsl", True),
        ("hsa-runtime-rocr4wsl-amdgpu is not installed", True),
        ("amdgpu-install --usecase=rocm", True),
        ("amdgpu-install --usecase=wsl,rocm --no-dkms", False),
        ("hsa-runtime-rocr4wsl-amdgpu 25.10", False),
    ],
)
def test_the_runtime_for_wsl(line: str, lacks: bool) -> None:
    assert ("rocm-without-wsl-runtime-told" in keys(line)) is lacks


@pytest.mark.parametrize(
    "line",
    ["since the update of linux-firmware", "after upgrading firmware-amd-graphics", "since linux-firmware 20251111"],
)
def test_trouble_since_another_firmware(line: str) -> None:
    text = f"Error output:\nthe GPU hangs in every run\n{gpu('gfx1151')}\nOther output:\n{line}\n"
    assert "amdgpu-firmware-bad" in raised(text)


@pytest.mark.parametrize(
    "line",
    ["since the update of the BIOS firmware", "linux-firmware 20251111", "still after the update of linux-firmware"],
)
def test_firmware_that_nothing_is_told_of(line: str) -> None:
    assert "firmware-updated-before-told" not in keys(line)


@pytest.mark.parametrize(
    "line",
    [
        "It was working on rocm 1.6",
        "worked with MIOpen 2.20",
        "the error is gone with rocBLAS 4.2.1",
        "it is fixed by hipBLASLt 0.12.0",
        "the fault is in rocBLAS, not in MIOpen",
        "the same load runs on 7.13.0",
    ],
)
def test_a_release_that_did_or_does_well(line: str) -> None:
    text = f"Error output:\nSegmentation fault (core dumped)\n{gpu('gfx1030')}\nOther output:\n{line}\n"
    assert told(text)[0] == "known-bad-library-version"


@pytest.mark.parametrize(
    "line",
    [
        "is the fault in rocBLAS?",
        "the fault is in rocBLAS 's build script",
        "it works with the driver of ROCm 6.2",
        "worked with the image of ROCm 6.2",
        "the same load runs on 6.14.0",
        "the same load runs on 2.6.0",
        "I am not sure it works with ROCm 6.2 only",
    ],
)
def test_releases_of_which_other_things_are_told(line: str) -> None:
    assert "rocm-part-of-other-release-fine-told" not in keys(line)


@pytest.mark.parametrize(
    "line",
    [
        "clr-rocm-6.0.2/rocclr/os/os_posix.cpp:321: static void amd::Os::currentStackInfo(unsigned char**, size_t*): Assertion `Os::currentStackPtr() >= *base - *size' failed.",
        "/hipamd/src/hip_memory.cpp:88: hipError_t ihipFree(void*): Assertion `device != nullptr' failed.",
        "python3: /build/rocclr/platform/memory.cpp:12: void amd::Os::x(): Assertion `size > 0' failed.",
    ],
)
def test_an_assertion_of_hips_runtime(line: str) -> None:
    assert "known-bad-library-version" in raised(f"Error output:\n{line}\n{gpu('gfx1030')}")


def test_an_assertion_of_a_program() -> None:
    line = "llama.cpp/ggml-cuda.cu:88: Assertion `device >= 0' failed, see amd::Os::abort"
    assert "hip-runtime-asserts" not in keys(line)
    assert "hip-runtime-asserts" not in keys("/rocclr/os/os_posix.cpp is compiled with assertions")


def test_memory_of_kfd_that_a_container_may_not_map() -> None:
    error = (
        "Memory critical error by agent node-0 (Agent handle: 0x388b) on address 0x7f561fead000. Reason: Memory in use."
    )
    inside = "Container:\nrunning inside a container: yes\ncontainer engine: podman\n$ podman run --device /dev/kfd --device /dev/dri{} own/rocm:7.2\n"
    text = f"Error output:\n{error}\n{gpu('gfx1151')}\n"
    assert "container-security-profile" in raised(text + inside.format(""))
    for option in (" --ipc=host", " --security-opt label=disable", " --privileged"):
        assert "container-security-profile" not in raised(text + inside.format(option))
    assert "container-security-profile" not in raised(text)


@pytest.mark.parametrize(
    "line",
    [
        "removing HSA_OVERRIDE_GFX_VERSION from the environment variables solved it",
        "works after unsetting HSA_OVERRIDE_GFX_VERSION",
        "without HSA_OVERRIDE_GFX_VERSION it works",
        "solved by deleting HSA_OVERRIDE_GFX_VERSION",
    ],
)
def test_an_override_whose_absence_cures(line: str) -> None:
    assert "hsa-override-misuse" in raised(
        f"Error output:\namdgpu is not supported (supported types:[])\nOther output:\n{line}\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        "removing HSA_OVERRIDE_GFX_VERSION does not help",
        "without HSA_OVERRIDE_GFX_VERSION the same error",
        "works with HSA_OVERRIDE_GFX_VERSION=10.3.0",
        "solved by HSA_OVERRIDE_GFX_VERSION=10.3.0",
        "without HSA_OVERRIDE_GFX_VERSION it crashes",
    ],
)
def test_an_override_whose_absence_cures_nothing(line: str) -> None:
    assert "override-gone-cures-told" not in keys(line)
