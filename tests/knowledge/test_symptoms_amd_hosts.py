"""What AMD hosts print: package managers that can't complete a ROCm, modules that hold the card, drivers too old."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, names_not, raised, told

EXAMPLES = {
    "amdgpu-not-in-lsmod-told": "amdgpu is not in lsmod after boot",
    "rocm-package-of-other-repository": "rocm-dev : Depends: rocm-cmake (= 0.14.0.60401-83~22.04) but 5.0.0-1 is to be installed",
    "distribution-pockets-apart": "zlib1g-dev : Depends: zlib1g (= 1:1.3.dfsg-3.1ubuntu2) but 1:1.3.dfsg-3.1ubuntu2.1 is to be installed",
    "package-needs-what-no-source-has": "Problem: nothing provides 'perl-URI-Encode' needed by the to be installed hip-devel-5.4",
    "radeon-module-drives-card": "[drm] radeon: 8192M of VRAM memory ready",
    "hip-memory-info-refused": "hipMemGetInfo - hipErrorInvalidValue: invalid argument",
    "hip-invalid-handle": "hipModuleLaunchKernel failed with hipErrorInvalidHandle",
    "variable-not-passed-on-told": "the systemd unit does not have it in its environment",
    "kernel-headers-not-in-sources": "No match for argument: kernel-headers-5.3.7-301.fc31.x86_64",
    "nvidia-driver-named": "the NVIDIA driver",
    "amdgpu-driver-named": "installing amdgpu-dkms",
    "container-of-fake-root": "works on the host, not with fakeroot",
    "rocm-with-fake-root": "$ apptainer exec --fakeroot --rocm torch.sif rocminfo",
}
NOTHING = {
    "rocm-package-of-other-repository": "mylib : Depends: libfoo (= 1.2) but 1.3 is to be installed",
    "distribution-pockets-apart": "rocm-dev : Depends: rocm-core (= 6.2) but 6.1 is to be installed",
    "package-needs-what-no-source-has": "nothing provides 'kernel-devel = 5.14' needed by amdgpu-dkms",
    "radeon-module-drives-card": "[drm] radeon kernel modesetting enabled.",
    "hip-memory-info-refused": "hipMemGetInfo: free 12 GiB",
    "variable-not-passed-on-told": "the script prints its environment",
    "kernel-headers-not-in-sources": "kernel-headers-5.3.7-301.fc31.x86_64 is already installed",
    "container-of-fake-root": "fakeroot is installed",
    "rocm-with-fake-root": "$ apptainer exec --rocm torch.sif rocminfo",
}
CARD = "GPUs:\nGPU 0: {}\n"


@pytest.mark.parametrize("key", sorted(EXAMPLES))
def test_the_line_shows_the_symptom(key: str) -> None:
    assert key in keys(EXAMPLES[key])


@pytest.mark.parametrize("key", sorted(NOTHING))
def test_a_line_near_it_does_not(key: str) -> None:
    assert key not in keys(NOTHING[key])


def test_rocm_of_two_repositories_is_no_matter_of_the_release() -> None:
    text = "ROCm version: 5.6\n" + EXAMPLES["rocm-package-of-other-repository"]
    assert told(text) == ["gpu-libs-conflict"]


@pytest.mark.parametrize(
    "line",
    [
        EXAMPLES["distribution-pockets-apart"],
        "python3-dev : Depends: python3 (= 3.12.3-0ubuntu1) but 3.12.3-0ubuntu2 is to be installed",
        "Problem: nothing provides 'libLLVM7 >= 7.0.1' needed by the to be installed rocblas-2.46.0",
        "Error: Package: rocm-opencl-devel-1.2.0 (rocm)\nRequires: libOpenCL.so.1()(64bit)",
        "Problem: package hip-devel-6.0.2 requires perl(URI::Encode), but none of the providers can be installed",
    ],
)
def test_what_the_distribution_lacks_is_a_system_library(line: str) -> None:
    assert "system-library-missing" in told("ROCm version: 6.0\n" + line)


def test_headers_that_no_source_has_are_of_the_vendor_that_is_told() -> None:
    line = "Unable to find a match: kernel-headers-4.18.0-240.el8.x86_64\n"
    assert told("installing amdgpu-dkms\n" + line) == ["amdgpu-kernel-or-os-unsupported"]
    of_nvidia = told("installing the NVIDIA driver\n" + line)
    assert "nvidia-kernel-incompatible" in of_nvidia
    assert "amdgpu-kernel-or-os-unsupported" not in of_nvidia


@pytest.mark.parametrize(
    ("card", "chip", "cause"),
    [
        ("AMD Radeon RX 7900 XTX", "NAVI31 ", "amdgpu-kernel-or-os-unsupported"),
        ("AMD Radeon RX Vega", "", "amdgpu-kernel-or-os-unsupported"),
        ("AMD Radeon HD 7750", "VERDE ", "amd-gpu-unsupported-by-rocm"),
    ],
)
def test_a_kfd_older_than_the_chip_is_not_a_chip_that_rocm_lacks(card: str, chip: str, cause: str) -> None:
    assert told(CARD.format(card) + f"kfd kfd: amdgpu: {chip} not supported in kfd\n") == [cause]


def test_the_older_module_holds_the_card() -> None:
    log = "radeon 0000:02:00.0: VRAM: 16384M 0x0000000000000000 - 0x00000003FFFFFFFF (16384M used)\n"
    assert "gpu-bound-to-other-driver" in told(CARD.format("AMD FirePro W9100") + log)
    assert "gpu-bound-to-other-driver" not in told(CARD.format("AMD Radeon HD 5850") + log)


def test_a_driver_older_than_the_runtime_refuses_to_tell_its_memory() -> None:
    text = "failed to query device memory info: HIP_ERROR_InvalidValue\n"
    assert "amdgpu-rocm-version-skew" in told("ROCm version: 5.7\n" + text)


def test_a_variable_that_the_start_script_lacks() -> None:
    text = "export HSA_ENABLE_SDMA=0 is in /etc/profile.d/rocm.sh\nthe start script does not have the variable in its environment\n"
    assert told(CARD.format("AMD Radeon VII") + text) == ["env-not-seen-by-service"]


def test_an_old_card_in_wsl_may_be_one_that_its_driver_leaves_out() -> None:
    text = "OS: Ubuntu 22.04 (WSL2)\nWSL environment detected.\nHSA_STATUS_ERROR_OUT_OF_RESOURCES\n"
    assert "amd-gpu-unsupported-by-rocm" in told(text + CARD.format("AMD Radeon RX 6700 XT"))
    assert "amd-gpu-unsupported-by-rocm" not in told(text + CARD.format("AMD Radeon RX 7900 XTX"))


def test_apptainer_keeps_the_groups_of_the_account_unless_it_fakes_root() -> None:
    text = "Compiled with WITH_GPU, but no GPU found in runtime.\nROCm version: 4.0\nrunning inside a container: yes\n"
    plain = raised(text + "$ singularity exec --rocm paddle.sif python train.py\n")
    fake = told(text + "$ singularity exec --fakeroot --rocm paddle.sif python train.py\n")
    assert "container-render-group-mismatch" not in plain
    assert "device-node-permission" in fake


BOX = "running inside a container: yes\ncontainer engine: {}\n" + CARD.format("AMD Radeon RX 7800 XT")


@pytest.mark.parametrize("engine", ["toolbox", "distrobox (rootless podman)"])
def test_a_box_that_is_given_all_of_dev_lacks_groups_and_no_nodes(engine: str) -> None:
    text = "torch.cuda.is_available() is False in the box\n" + BOX.format(engine)
    assert "container-render-group-mismatch" in told(text)
    assert "container-missing-gpu-passthrough" not in told(text)
    assert "container-render-group-mismatch" not in told(text + "ROCk module is NOT loaded, possibly no GPU devices\n")


@pytest.mark.parametrize(
    "line",
    [
        "the image has no ROCm runtime",
        "no libamdocl64.so in the snap",
        "libamdocl64.so and libamdcomgr64.so are not bound",
    ],
)
def test_libraries_of_rocm_that_the_container_lacks(line: str) -> None:
    text = "OpenCL finds no device in the container\nrunning inside a container: yes\n" + CARD.format(
        "AMD Radeon RX 6600"
    )
    assert "gpu-libs-not-found" in told(text + line)


@pytest.mark.parametrize(
    "line",
    [
        "BUG: unable to handle page fault for address: ffffa7c13eaffff8\nRIP: 0010:amdgpu_bo_move+0x261/0x2e0 [amdgpu]",
        "WARNING: CPU: 2 PID: 479 at drivers/gpu/drm/amd/amdkfd/kfd_svm.c:471 svm_range_evict",
    ],
)
def test_a_kernel_that_trips_in_amdgpu_is_a_fault_of_that_driver(line: str) -> None:
    assert "amdgpu-driver-known-bad" in told(CARD.format("AMD Radeon RX 7900 XTX") + line)
    assert "amdgpu-driver-known-bad" not in told(CARD.format("NVIDIA GeForce RTX 3090") + line.replace("amd", "x"))


def test_a_trip_in_the_display_code_is_no_matter_of_compute() -> None:
    line = (
        "WARNING: CPU: 6 PID: 15 at drivers/gpu/drm/amd/amdgpu/../display/amdgpu_dm/amdgpu_dm.c:8815 amdgpu_dm_atomic\n"
    )
    assert "amdgpu-driver-known-bad" not in told(CARD.format("AMD Radeon RX 7900 XTX") + line)


def test_4104_of_an_old_rocminfo_is_of_the_card_where_it_is_older_than_rocm() -> None:
    text = "ROCm version: 2.3\nhsa api call failure. Call returned 4104\n"
    assert told(text + CARD.format("AMD FirePro W7100")) == ["amd-gpu-unsupported-by-rocm"]
    held = text + CARD.format("AMD FirePro W7100") + "[drm] radeon: 8192M of VRAM memory ready\n"
    assert told(held) == ["gpu-bound-to-other-driver"]


def test_generations_before_vega_left_rocm_with_4_0() -> None:
    text = "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!\n" + CARD.format(
        "Radeon RX 580"
    )
    assert "amd-gpu-unsupported-by-rocm" in told("ROCm version: 4.0.1\n" + text)


def test_a_module_that_is_not_loaded_on_a_system_that_rocm_does_not_list() -> None:
    text = "ROCk module is NOT loaded, possibly no GPU devices\nOS: Ubuntu 24.10\nROCm version: 6.2.2\n"
    assert "amdgpu-kernel-or-os-unsupported" in told(text)
    assert "amdgpu-kernel-or-os-unsupported" not in told(text.replace("24.10", "24.04"))


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("rocminfo works with sudo only", "device-node-permission"),
        ("clinfo needs root", "device-node-permission"),
        ("the kfd node has mode 0600 since the upgrade", "device-node-permission"),
        ("crw------- 1 root root 234, 0 May 21 05:13 /dev/kfd", "device-node-permission"),
        ("Kernel modules: amdgpu, no driver in use", "amdgpu-driver-not-loaded"),
        (
            "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
            "secure-boot-blocks-module",
        ),
        ("crashes with amdgpu-dkms 6.10.5, not with 6.8.5", "amdgpu-driver-known-bad"),
        ("kernel 6.12 from backports: GPU not listed; 6.1 works", "amdgpu-kernel-or-os-unsupported"),
        ('amdgpu: failed to load firmware "amdgpu/gc_12_0_1_pfp.bin"', "amdgpu-firmware-bad"),
    ],
)
def test_what_people_say_of_a_host_in_one_line(line: str, cause: str) -> None:
    assert cause in told(CARD.format("AMD Radeon RX 7900 XTX") + line + "\n")


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("rocminfo hangs even with sudo", "device-node-permission"),
        ("crw-rw-rw- 1 root render 234, 0 May 21 05:13 /dev/kfd", "device-node-permission"),
        ("Kernel modules: amdgpu\nKernel driver in use: amdgpu", "amdgpu-driver-not-loaded"),
        ("amdgpu-dkms 6.10.5 is installed", "amdgpu-driver-known-bad"),
        ("kernel 6.12; ROCm 6.1 works", "amdgpu-kernel-or-os-unsupported"),
    ],
)
def test_what_they_say_beside_it(line: str, cause: str) -> None:
    assert cause not in told(CARD.format("AMD Radeon RX 7900 XTX") + line + "\n")


@pytest.mark.parametrize("line", ["PyTorch: HIP error on cuda:1", "torch: fails on cuda:0"])
def test_the_name_of_a_device_is_not_the_build_of_torch(line: str) -> None:
    assert "torch-built-for-other-vendor" not in told(CARD.format("AMD Radeon RX 7900 XTX") + line + "\n")


@pytest.mark.parametrize(
    "line", ["the amdgpu module does not load", "unsigned module loading is restricted", "ROCk module is NOT loaded"]
)
def test_a_module_that_is_not_loaded_where_secure_boot_is_on(line: str) -> None:
    text = CARD.format("AMD Instinct MI210") + line + "\nmokutil --sb-state: SecureBoot {}\n"
    assert "secure-boot-blocks-module" in told(text.format("enabled"))
    assert "secure-boot-blocks-module" not in told(text.format("disabled"))


STARTS = (
    "Error: crun: cannot stat '/dev/kfd': No such file or directory",
    "Error: stat /dev/kfd: no such file or directory",
    "Error: error stat'ing file `/dev/dri`: No such file or directory: OCI runtime attempted to invoke a command",
)


@pytest.mark.parametrize("line", STARTS)
def test_an_engine_that_finds_no_node_on_the_host(line: str) -> None:
    run = "running inside a container: yes\ncontainer engine: podman\n$ podman run --device /dev/kfd --device /dev/dri x\n"
    assert told(CARD.format("AMD Radeon RX 7900 XTX") + run + line + "\n") == ["amdgpu-driver-not-loaded"]


def test_a_kfd_that_the_kernel_has_not() -> None:
    card = CARD.format("AMD Radeon RX 7900 XTX")
    assert "amdgpu-driver-not-loaded" in told(card + "/sys/class/kfd is missing\n")
    version = "/sys/module/amdgpu/version: no such file or directory\n"  # the kernel's own driver has none
    assert "amdgpu-driver-not-loaded" not in told(card + version)


@pytest.mark.parametrize(
    ("line", "cause", "near"),
    [
        (
            "dkms status: amdgpu/6.8.5-2009582.22.04: added",
            "amdgpu-kernel-or-os-unsupported",
            "kfd kfd: amdgpu: added device 1002:744c",
        ),
        ("amdgpu 0000:03:00.0: amdgpu: device lost from bus!", "amdgpu-gpu-hang", "usb: device lost from bus!"),
        (
            "agents gfx1100 and gfx1036; ollama allocates on gfx1036",
            "integrated-gpu-conflict",
            "rocBLAS is built for gfx1100 and gfx1036; it hangs",
        ),
        (
            "rocminfo shows gfx1100 and gfx1036; the program hangs",
            "integrated-gpu-conflict",
            "it hangs as amdgcn-amd-amdhsa--gfx1100 and as amdgcn-amd-amdhsa--gfx1036",
        ),
    ],
)
def test_one_line_and_the_line_near_it(line: str, cause: str, near: str) -> None:
    card = CARD.format("AMD Radeon RX 7900 XTX")
    assert cause in told(card + line + "\n")
    assert cause not in told(card + near + "\n")


@pytest.mark.parametrize("line", ["rocminfo lists the CPU agent only", "rocminfo shows the CPU only"])
def test_a_card_that_is_no_agent(line: str) -> None:
    assert "pcie-atomics-missing" in told(CARD.format("Radeon RX 580") + line + "\n")


NOT_LOADED = "amdgpu-driver-not-loaded"
HOST = "AMD Instinct MI250X is not recognized\n"
LSMOD = [
    (HOST + "lsmod shows no amdgpu", NOT_LOADED),
    (HOST + "$ lsmod | grep amdgpu prints nothing", NOT_LOADED),
    (HOST + "the amdgpu module is missing from lsmod", NOT_LOADED),
]
test_what_people_say_of_lsmod = names(LSMOD)
test_of_a_container_lsmod_tells_nothing = names_not(
    [("running inside a container: yes\n" + text, cause) for text, cause in LSMOD]
    + [(HOST + "amdgpu is in lsmod, not nouveau", NOT_LOADED)]
)
