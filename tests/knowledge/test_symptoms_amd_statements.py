"""What is stated of AMD machines in few words is found, and names the cause of a whole ticket."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from tests.knowledge.texts import SYMPTOMS, raised

EXAMPLES = {
    "asks-for-nvidia-told": "the program wants an NVIDIA GPU although it was set up for AMD",
    "wsl-thunk-asserts": "clinfo: ./sources/wsl/libhsakmt/src/thunk_proxy/thunk_proxy.cpp:88: Assertion failed",
    "dri-without-kfd-told": "the compose file passes /dev/dri only",
    "rocm-part-not-found-by-build": "CMake Error: could not find HIP in any of its default paths, HIP_PATH is not set",
    "hcc-library-missing": "ImportError: libhip_hcc.so.4: cannot open shared object file: No such file or directory",
    "amdgpu-requires-firmware": "[drm:amdgpu_pci_probe [amdgpu]] *ERROR* amdgpu requires firmware installed",
    "vanilla-kernel-works-told": "mainline 6.1.9 works",
    "k8s-node-offers-no-gpu": "Allocatable:  amd.com/gpu: 0",
    "sdpa-no-kernel": "RuntimeError: No available kernel. Aborting execution.",
    "tensorflow-leaves-gfx-out": "with AMDGPU version : gfx1101. The supported AMDGPU versions are gfx1030, gfx90a.",
    "own-build-of-rocm-library-told": "MIOpen was compiled from the develop branch",
    "package-takes-torch-away-told": "installing torchvision removes the torch that was there",
    "modprobe-lacks-module-of-kernel": "modprobe: ERROR: ctx=0x55 path=/opt/lib/modules/6.8.0/kernel/drivers/gpu/drm/ttm/ttm.ko error=No such file or directory",
    "module-for-one-kernel-told": "the DKMS module compiles for kernel 6.8 only",
    "cmake-finds-no-hip-compiler": "CMake cannot find hipcc on this node",
    "slot-before-pcie-3-told": "the card sits in a PCIe 2.0 slot",
    "release-built-for-gfx-told": "the prebuilt server is compiled for gfx1030 alone",
    "system-rocm-taken-by-wheel-told": "the wheel loads libraries of /opt/rocm",
    "login-file-and-daemon-told": "it is exported in .profile, and the daemon runs it",
    "jax-backend-is-cpu-told": "jax.devices() = [CpuDevice(id=0)]",
    "system-library-told-missing": "libnuma.so.1 is missing",
    "rocm-math-library-told": "the process aborts in rocFFT",
    "rocm-library-twice-told": "two copies of libhsa-runtime64.so.1 are mapped",
    "kfd-open-no-memory": "Unable to open /dev/kfd read-write: Cannot allocate memory",
    "rocminfo-finds-account-in-group": "kim is member of render group",
    "kfd-names-chip-unsupported": "kfd kfd: amdgpu: HAINAN  not supported in kfd",
    "hip-error-in-source-of-another": "File: /src/hip/hip_blas.cpp; line: 12",
    "comgr-not-loaded": ":1:comgrctx.cpp:66: Failed to load COMGR library.",
    "amdsmi-may-not-open": "Error code: 10 | AMDSMI_STATUS_NO_PERM - Permission Denied",
}
NOTHING = {
    "asks-for-nvidia-told": "NVIDIA driver 570.86 and CUDA 12.8 are there",
    "dri-without-kfd-told": "--device /dev/kfd --device /dev/dri",
    "rocm-part-not-found-by-build": "could not find ROCm devices",
    "vanilla-kernel-works-told": "vanilla 6.1.9",
    "own-build-of-rocm-library-told": "rocBLAS is installed from the repository",
    "package-takes-torch-away-told": "installing torchvision works",
    "modprobe-lacks-module-of-kernel": "modprobe: ERROR: ctx=0x55 path=/lib/modules/6.8.0/kernel/net/x.ko error=No such file or directory",
    "module-for-one-kernel-told": "the module builds for kernel 6.8",
    "slot-before-pcie-3-told": "PCIe 4.0 x16",
    "release-built-for-gfx-told": "torch is built for gfx1030",
    "system-rocm-taken-by-wheel-told": "the libraries of /opt/rocm are of 6.2",
    "login-file-and-daemon-told": "it is exported in .profile",
    "jax-backend-is-cpu-told": "jax.devices() lists eight",
    "system-library-told-missing": "libnuma.so.1 => /lib/libnuma.so.1",
    "cmake-finds-no-hip-compiler": "-- Check for working HIP compiler: /opt/rocm/llvm/bin/clang++ - skipped",
    "k8s-node-offers-no-gpu": "podman run --device=amd.com/gpu=0 image",
}
GPU = "GPUs:\nGPU 0: {}\n"
TICKETS = {
    "torch-built-for-other-vendor": "the installer downloads the CUDA wheels instead of those for ROCm\n"
    + GPU.format("RX 7600"),
    "wsl-gpu-misconfigured": "x: ./sources/wsl/libhsakmt/src/thunk_proxy/thunk_proxy.cpp:9: Assertion `ret' failed.\n"
    "OS: Ubuntu 22.04 (WSL2)\n",
    "container-missing-gpu-passthrough": "inference on the CPU only\nrunning inside a container: yes\n"
    "container engine: docker compose\ndevices: only /dev/dri\n" + GPU.format("Radeon RX 6600"),
    "rocm-path-broken": "Don't know where to find HIP, give its path\nROCm version: 5.2\n",
    "torch-rocm-version-mismatch": "ImportError: libhip_hcc.so.3: cannot open shared object file\n\n$ pip list\nPackage    "
    "Version\n---------- -------\ntorch 1.6.0\n",
    "gpu-libs-conflict": "ImportError: libMIOpen.so.1: cannot open shared object file\nMIOpen compiled from the develop branch\n",
    "pcie-atomics-missing": "rocminfo shows no GPU agent\n" + GPU.format("Radeon RX 580") + "mining riser\n",
    "env-not-seen-by-service": "HIP_VISIBLE_DEVICES is in .bashrc, the service of systemd takes the other card\n",
    "jax-plugin-mismatch": "JAX backend: cpu\n" + GPU.format("AMD Instinct MI100"),
    "system-library-missing": "libnuma.so.1 is missing when HIP starts\nROCm version: 6.1\n",
    "memlock-limit-too-low": "ibv_reg_mr fails\nulimit -l: 64\n" + GPU.format("AMD Instinct MI250X"),
    "torch-companion-mismatch": "installing torchvision replaces torch, no GPU afterwards\n",
    "tensorflow-gpu-mismatch": "ImportError: libhip_hcc.so: cannot open shared object file\n\n$ pip list\nPackage    Version\n"
    "---------- -------\ntensorflow-rocm 2.0.1\n",
    "amdgpu-firmware-bad": "[drm:amdgpu_pci_probe [amdgpu]] *ERROR* amdgpu requires firmware installed\n",
    "amdgpu-kernel-or-os-unsupported": "[drm:amdgpu_pci_probe [amdgpu]] *ERROR* amdgpu requires firmware installed\n"
    "vanilla 6.2.3 works\n",
    "container-runtime-not-configured": "pods for the GPU stay pending\nstatus.allocatable.amd.com/gpu: 0\n",
    "library-missing-gpu-arch": "RuntimeError: No available kernel. Aborting execution.\n"
    + GPU.format("Radeon 890M (gfx1150)"),
}


@pytest.mark.parametrize("key", sorted(EXAMPLES))
def test_the_line_shows_the_symptom(key: str) -> None:
    assert key in [hit.key for hit in SYMPTOMS.find([(1, EXAMPLES[key])])]


@pytest.mark.parametrize("key", sorted(NOTHING))
def test_a_line_near_it_does_not(key: str) -> None:
    assert key not in [hit.key for hit in SYMPTOMS.find([(1, NOTHING[key])])]


@pytest.mark.parametrize("cause", sorted(TICKETS))
def test_the_cause_of_the_ticket_is_named(cause: str) -> None:
    assert cause in raised(TICKETS[cause])


def agents(*targets: str) -> str:
    rows = (
        f"*******\nAgent {n}\n*******\n  Name:                    {t}\n  Vendor Name:             AMD\n"
        "  Device Type:             GPU\n"
        for n, t in enumerate(targets, 2)
    )
    return "$ rocminfo\n" + "".join(rows)


def test_an_image_without_code_for_the_small_gpu_beside_a_listed_card_is_of_the_pair() -> None:
    text = "HIP error: device kernel image is invalid\n"
    assert raised(text + agents("gfx1101", "gfx1036")) == ["integrated-gpu-conflict"]
    assert "integrated-gpu-conflict" not in raised(text + agents("gfx1101"))


def test_kernels_missing_for_the_only_gpu_are_of_no_pair() -> None:
    text = "rocBLAS error: Cannot read /x/TensileLibrary.dat: No such file or directory for GPU arch : gfx1036\n"
    assert "integrated-gpu-conflict" not in raised("ROCm version: 6.1.2\n" + text + agents("gfx1036"))
    assert "integrated-gpu-conflict" in raised(text + agents("gfx1100", "gfx1036"))


def test_a_release_with_code_for_a_gpu_that_the_next_lists_is_not_accused() -> None:
    text = "ROCm version: 7.0.2\nHIP error: invalid device function\n" + agents("gfx1151")
    assert "amd-gpu-unsupported-by-rocm" not in raised(text)
    refused = "ROCm version: 7.0.2\nhipErrorNoDevice: no ROCm-capable device is detected\n" + agents("gfx1151")
    assert "amd-gpu-unsupported-by-rocm" in raised(refused)


def test_rocminfo_that_looks_for_a_module_is_wrong_where_the_driver_is_said_to_be_built_in() -> None:
    text = "ROCk module is NOT loaded, possibly no GPU devices\n"
    assert "amdgpu-driver-not-loaded" in raised(text)
    assert raised(text + "amdgpu is built into the kernel\n/dev/kfd exists\n") == []
    assert "amdgpu-driver-not-loaded" in raised(text + "amdgpu is not built into the kernel\n")


def test_tensorflow_says_which_targets_it_was_built_for() -> None:
    text = "Ignoring visible gpu device (device: 0) with AMDGPU version : gfx1101. The supported AMDGPU versions are gfx1030.\n"
    assert raised(text) == ["tensorflow-gpu-mismatch"]


NO_GPU = "RuntimeError: Torch is not able to use GPU\n" + GPU.format("AMD Radeon RX 6650 XT")


def test_the_torch_of_pypi_is_a_cuda_build_where_the_gpu_is_of_amd() -> None:
    assert "torch-built-for-other-vendor" in raised(NO_GPU)
    assert "torch-built-for-other-vendor" not in raised(
        NO_GPU.replace("AMD Radeon RX 6650 XT", "NVIDIA GeForce RTX 3060")
    )
    assert "torch-built-for-other-vendor" not in raised(NO_GPU + "\ntorch 2.3.1+rocm6.0\n")


def test_an_account_in_neither_group_is_kept_out() -> None:
    rocm = NO_GPU + "\n$ pip list\nPackage    Version\n---------- -------\ntorch 2.3.1+rocm6.0\n"
    outside = rocm + "\n$ id\nuid=1001(ann) gid=1001(ann) groups=1001(ann),27(sudo)\n"
    assert raised(outside) == ["device-node-permission"]
    assert "device-node-permission" not in raised(outside.replace("27(sudo)", "27(sudo),44(video),109(render)"))
    assert "device-node-permission" not in raised(rocm)


def test_a_torch_that_sees_no_gpu_of_amd_does_not_lack_code_for_it_first() -> None:
    torch = "\n$ pip list\nPackage    Version\n---------- -------\ntorch 2.3.1+rocm6.0\n" + agents("gfx1032")
    seen = "RuntimeError: HIP error: invalid device function\n" + torch
    assert "torch-missing-gpu-arch" in raised(seen)
    unseen = "Unable to open /dev/kfd read-write: Permission denied\ntorch.cuda.is_available() returns False\n" + torch
    assert "torch-missing-gpu-arch" not in raised(unseen)


def test_a_radeon_before_vega_is_left_out_by_ollama() -> None:
    assert "amd-gpu-unsupported-by-rocm" in raised("ollama uses the CPU\n" + GPU.format("Radeon RX 570"))
    assert "amd-gpu-unsupported-by-rocm" not in raised("ollama uses the CPU\n" + GPU.format("Radeon RX 7600"))


def test_memory_errors_are_why_a_gpu_does_not_start() -> None:
    failed = "amdgpu 0000:2f:00.0: amdgpu: Fatal error during GPU init\n"
    errors = "amdgpu 0000:2f:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block\n"
    assert "amdgpu-driver-not-loaded" in raised(failed)
    assert raised(errors + failed) == ["gpu-ecc-errors"]


def test_a_build_that_finds_no_hip_compiler() -> None:
    assert raised("ROCm version: 6.1.2\n-- The HIP compiler identification is unknown\n") == ["rocm-path-broken"]


def test_a_gpu_of_root_alone_is_no_missing_passage_into_the_pod() -> None:
    pod = "only root sees the GPU in the pod\nrunning inside a container: yes\n" + GPU.format("AMD Instinct MI210")
    assert raised(pod) == ["device-node-permission"]


def test_a_node_that_opens_and_finds_no_device_is_no_matter_of_groups() -> None:
    """ENOMEM comes after the node's mode let the account in."""
    end = "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES\n"
    refused = "Unable to open /dev/kfd read-write: Cannot allocate memory\n" + end
    assert "pcie-atomics-missing" in raised(refused + GPU.format("Radeon RX 580"))
    assert "device-node-permission" not in raised(refused + GPU.format("Radeon RX 580"))
    named = "kfd kfd: amdgpu: HAINAN  not supported in kfd\n" + refused
    assert raised(named) == ["amd-gpu-unsupported-by-rocm"]
    assert "device-node-permission" not in raised("kim is member of render group\n" + end)
    assert "device-node-permission" in raised(end)


def test_a_hip_error_of_a_library_that_is_not_torch() -> None:
    error = "HIP error: invalid device function\nFile: /src/hip/hip_blas.cpp; line: 12\n" + agents("gfx1032")
    assert "library-missing-gpu-arch" in raised(error)
    assert "torch-missing-gpu-arch" not in raised(error)
    assert "library-missing-gpu-arch" not in raised(error.replace("File: /src/hip", "File: /src/aten"))


def test_a_hip_runtime_without_its_compiler_library() -> None:
    override = "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n" + agents("gfx1032")
    assert raised("Failed to load COMGR library.\n" + override) == ["gpu-libs-not-found"]


def test_amdsmi_that_may_not_open_a_node() -> None:
    assert "device-node-permission" in raised("AmdSmiLibraryException: 14 | AMDSMI_STATUS_FILE_ERROR\n")
    assert "device-node-permission" not in raised("AmdSmiLibraryException: 34 | AMDSMI_STATUS_INIT_ERROR\n")


def test_kernels_for_a_chip_that_rocblas_was_never_built_for() -> None:
    error = "rocBLAS error: Cannot read /app/lib/rocblas/library/TensileLibrary.dat: No such file or directory\n"
    assert "library-missing-gpu-arch" in raised(error + agents("gfx1032"))
    assert "library-missing-gpu-arch" not in raised(error.replace("/app", "/opt/rocm") + agents("gfx1100"))


def test_packages_of_the_kernel_module_left_half_configured() -> None:
    told = "Errors were encountered while processing: rock-dkms rocm-dkms\n"
    assert raised(told) == ["amdgpu-kernel-or-os-unsupported"]
    assert raised(told.replace("rock-dkms rocm-dkms", "cups")) == []


@pytest.mark.parametrize(
    "error",
    [
        "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!",
        "HIP error: shared object initialization failed",
        "HIP error: invalid device function",
    ],
)
def test_code_that_is_missing_in_a_library_of_rocm_is_not_missing_in_torch(error: str) -> None:
    library = error + "\nit aborts in rocFFT\n" + agents("gfx1032")
    assert "library-missing-gpu-arch" in raised(library)
    assert "torch-missing-gpu-arch" not in raised(library)
    torch = library + "\n$ pip list\nPackage    Version\n---------- -------\ntorch 2.3.1+rocm6.0\n"
    assert "torch-missing-gpu-arch" in raised(torch)


def test_two_copies_of_the_hip_runtime() -> None:
    gpu = agents("gfx942")
    assert raised("hipErrorInvalidDevice\nldconfig -p lists libamdhip64.so.6 twice\n" + gpu) == ["gpu-libs-conflict"]
    assert "gpu-libs-conflict" not in raised("ldconfig -p lists libamdhip64.so.6 once\n" + gpu)
