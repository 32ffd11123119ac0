"""What is told of AMD machines: drivers for Windows, guests with a passed card, orders of loading, kernels too old."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.findings import Finding, Severity
from doctor.intake import read_text
from tests.knowledge.texts import KB, keys, names, names_not, raised, told

CARD = "GPUs:\nGPU 0: AMD Radeon RX 7900 GRE\n"


def findings(text: str) -> list[Finding]:
    found = judge(read_text([text.encode()]), KB).findings
    return [f for f in found if f.severity is not Severity.INFO and not f.explained_by]


WINDOWS = "System:\nOS: Windows 11\n" + CARD


@pytest.mark.parametrize(
    "line",
    [
        "hipInfo lists nothing since Adrenalin 26.2.1",
        "it worked with the previous driver",
        "rolling back the driver to 25.8.1 cures it",
        "Adrenalin 25.9.2 -> 25.11.1, then it crashes",
        "after installing the new AMD driver the GPU is not detected",
        "HIP fails after the driver update",
    ],
)
def test_a_driver_for_windows_that_broke_something(line: str) -> None:
    assert told(f"Error output:\ntorch crashes\n{line}\n{WINDOWS}")[0] == "amdgpu-driver-known-bad"


@pytest.mark.parametrize(
    "line",
    [
        "Driver: Adrenalin 25.12.1",
        "updating the driver did not help",
        "the same with the older driver, no difference",
        "NVIDIA: after the driver update it fails",
    ],
)
def test_a_driver_that_is_only_named_broke_nothing(line: str) -> None:
    assert "amd-driver-change-broke-told" not in keys(line)


def test_an_older_driver_that_works_says_nothing_of_amd_on_nvidia() -> None:
    text = "Error output:\nit crashes, the older driver works\n$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 3090\n"
    assert "amdgpu-driver-known-bad" not in raised(text)


def test_wrong_sums_in_a_guest_are_of_atomics() -> None:
    text = (
        "Error output:\ntorch.sum gives wrong results\n" + CARD + "Other output:\nin a Proxmox VM, PCIe passthrough\n"
    )
    assert told(text) == ["pcie-atomics-missing"]


def test_a_mode_of_the_driver_is_no_guest() -> None:
    assert "card-passed-to-guest-told" not in keys("kernel: [drm] VCN(0) decode is enabled in VM mode\n")


def test_a_guest_in_which_nothing_is_wrong() -> None:
    text = "Error output:\nhow do I watch the clocks?\n" + CARD + "Other output:\nin a Proxmox VM, PCIe passthrough\n"
    assert raised(text) == []


@pytest.mark.parametrize(
    "line",
    [
        "works if torch is imported first, cupy second",
        "cudnn: importing tensorflow before torch crashes",
        "CDLL('libamdhip64.so', mode=RTLD_GLOBAL) before import amdsmi",
    ],
)
def test_an_order_of_loading_that_decides(line: str) -> None:
    assert "order-of-loading-decides-told" in keys(line)


@pytest.mark.parametrize("line", ['_lib = CDLL("libcublas.so.12", mode=RTLD_GLOBAL)', "torch is imported before use"])
def test_a_line_of_a_traceback_tells_no_order(line: str) -> None:
    assert "order-of-loading-decides-told" not in keys(line)


@pytest.mark.parametrize(
    "line",
    ["with AITER disabled it works, no AITER works", "VLLM_ROCM_USE_AITER=0 fixes it", "it runs without AITER"],
)
def test_what_works_without_aiter(line: str) -> None:
    text = f"Error output:\nMemory access fault by GPU node-2\n{CARD}Other output:\n{line}\n"
    assert told(text) == ["companion-kernel-lib-outdated"]


def test_aiter_that_is_only_turned_on() -> None:
    assert "aiter-left-out-works-told" not in keys("export VLLM_ROCM_USE_AITER=1")


def test_vllm_for_rocm_has_one_python() -> None:
    text = (
        "System:\nPython: {}\nOther output:\npip install vllm --extra-index-url https://wheels.vllm.ai/rocm/\n" + CARD
    )
    assert told(text.format("3.11")) == ["python-version-unsupported"]
    assert told(text.format("3.12.4")) == []


def test_bitsandbytes_that_only_complains() -> None:
    text = "Error output:\nbitsandbytes library load error: Configured ROCm binary not found at libbitsandbytes_rocm72.so\n"
    assert told(text + CARD)
    assert told(text + "the training runs through\n" + CARD) == []


def test_pyrsmi_without_its_library_may_be_pyrsmi_itself() -> None:
    text = "Error output:\nAttributeError: 'NoneType' object has no attribute 'rsmi_dev_name_get'\n" + CARD
    assert told(text) == ["amdsmi-mismatch"]


@pytest.mark.parametrize(
    "library", ["libhipfile.so.0", "librocprofiler-sdk.so.1", "libhiprtc-builtins.so.7", "libhiptensor.so.0"]
)
def test_rocm_libraries_by_name(library: str) -> None:
    line = f"ImportError: {library}: cannot open shared object file: No such file or directory"
    assert "rocm-library-not-found" in keys(line)


OLD_KERNEL = (
    "Error output:\nGPU not detected\nSystem:\nOS: Ubuntu 24.04\nKernel: {}\nGPUs:\nGPU 0: AMD Radeon RX 9060 XT\n"
)


def test_a_kernel_that_is_older_than_the_gpu() -> None:
    assert "amdgpu-kernel-or-os-unsupported" in told(OLD_KERNEL.format("6.8.0-60-generic"))


@pytest.mark.parametrize("release", ["6.14.0-24-generic", "5.14.0-570.12.1.el9_6", "6.6.87-microsoft-standard-WSL2"])
def test_a_kernel_that_may_know_the_gpu(release: str) -> None:
    assert "amdgpu-kernel-or-os-unsupported" not in raised(OLD_KERNEL.format(release))


def test_a_driver_of_a_package_knows_more_than_its_kernel() -> None:
    text = OLD_KERNEL.format("6.8.0-60-generic") + "Other output:\namdgpu-dkms 6.12.12\namdgpu version: 6.12.12\n"
    assert "amdgpu-kernel-or-os-unsupported" not in told(text)


def test_hsa_without_resources_on_a_gpu_that_rocm_does_not_list() -> None:
    text = "Error output:\nCall returned HSA_STATUS_ERROR_OUT_OF_RESOURCES\nSystem:\nROCm version: 5.4.1\n" + CARD
    assert raised(text) == ["amd-gpu-unsupported-by-rocm"]


def test_podman_may_be_refused_on_the_host() -> None:
    text = "Error output:\nUnable to open /dev/kfd read-write: Permission denied\nContainer:\nrunning inside a container: yes\ncontainer engine: {}\n"
    assert raised(text.format("podman") + CARD) == ["container-render-group-mismatch", "device-node-permission"]
    assert raised(text.format("docker") + CARD) == ["container-render-group-mismatch"]


def test_torch_without_code_is_not_what_stops_a_module_from_loading() -> None:
    text = "Error output:\nOSError: libtorch_cuda.so: cannot open shared object file: No such file or directory\nGPUs:\nGPU 0: AMD Radeon 780M\n$ pip list\nPackage Version\n------- -------\ntorch 2.5.1+rocm6.2\n"
    assert "extension-abi-mismatch" in raised(text)


def test_an_image_of_the_system_that_is_rolled_back() -> None:
    text = (
        "Error output:\nthe server crashes\n"
        + CARD
        + "Other output:\nrebased to the image of 42.20250901, it works again\n"
    )
    assert {"amdgpu-firmware-bad", "amdgpu-driver-known-bad"} <= set(told(text))


def test_a_container_that_is_rolled_back_is_no_system() -> None:
    assert "system-image-rolled-back-told" not in keys("rolled back to vllm 0.11, the container works")


def test_kfd_that_the_kernel_lacks_is_not_the_containers() -> None:
    text = "Error output:\nkernel 6.12 of the distribution: /dev/kfd does not exist\nContainer:\nrunning inside a container: yes\ncontainer engine: docker\n"
    assert told(text + CARD) == ["amdgpu-driver-not-loaded"]


TRACE = "RIP: 0010:{}+0xb6/0x170 [amdgpu]"


def test_a_fault_in_the_kernels_amdgpu() -> None:
    assert "amdgpu-kernel-fault-at" in keys(TRACE.format("kfd_process_evict_queues"))
    text = f"Error output:\nthe driver crashes\n{CARD}Kernel log:\n$ dmesg\n{TRACE.format('svm_range_restore_work')}\n"
    assert told(text) == ["amdgpu-driver-known-bad"]


def test_a_warning_of_the_display_part() -> None:
    assert "amdgpu-kernel-fault-at" not in keys(TRACE.format("dcn20_setup_gsl"))


@pytest.mark.parametrize(
    "line",
    [
        "LD_LIBRARY_PATH leads to another libnccl.so",
        "with torch's own librccl it runs",
        "LD_PRELOAD loads an old libcudnn",
    ],
)
def test_a_library_of_ones_own_on_the_path(line: str) -> None:
    assert "library-path-to-own-build-told" in keys(line)


def test_a_path_that_is_only_set() -> None:
    assert "library-path-to-own-build-told" not in keys("export LD_LIBRARY_PATH=/opt/rocm/lib")


@pytest.mark.parametrize("line", ["it worked two weeks ago", "the nightly of last week works", "older wheels are fine"])
def test_builds_of_before_that_worked(line: str) -> None:
    text = f"Error output:\nMIOpen hangs\n{line}\n" + CARD
    assert "older-builds-worked-told" in keys(line)
    assert "known-bad-library-version" in told(text)


def test_rocm_in_a_wheel_that_is_older_than_the_gpu() -> None:
    text = "Error output:\ntorch.cuda.is_available(): False\nGPUs:\nGPU 0: AMD Radeon RX 9070\n$ pip list\nPackage Version\n------- -------\ntorch {}\n"
    assert "amd-gpu-unsupported-by-rocm" in told(text.format("2.4.1+rocm6.1"))
    assert "amd-gpu-unsupported-by-rocm" not in told(text.format("2.8.0+rocm6.4"))


def test_a_card_that_the_release_no_longer_lists_beside_one_that_it_lists() -> None:
    text = "Error output:\ntorch segfaults\nSystem:\nROCm version: 6.0.2\nGPUs:\nGPU 0: AMD Instinct MI100\nGPU 1: AMD Instinct MI50\n"
    assert "amd-gpu-unsupported-by-rocm" not in raised(text)


def test_docker_on_windows_has_no_kfd() -> None:
    text = "Error output:\nno compatible GPUs were discovered\nSystem:\nOS: Windows 11\nContainer:\nrunning inside a container: yes\ncontainer engine: docker\n$ docker run {} ollama/ollama:rocm\n"
    assert "container-engine-no-gpu-support" in told(text.format("--device /dev/kfd --device /dev/dri") + CARD)
    assert "container-engine-no-gpu-support" not in told(text.format("--device /dev/dxg") + CARD)


def test_an_override_that_a_question_need_not_show() -> None:
    text = "Error output:\n{}\nGPUs:\nGPU 0: AMD Radeon RX 6700 XT\n$ pip list\nPackage Version\n------- -------\ntorch 2.1.0+rocm5.6\n"
    assert [f.severity for f in findings(text.format("how are devices numbered?"))] == [Severity.WARNING]
    assert Severity.ERROR in {f.severity for f in findings(text.format("HIP error: invalid device function"))}


def test_a_kernel_that_runs_stably() -> None:
    text = (
        "Error output:\nthe GPU driver crashes\n" + CARD + "Other output:\nkernel 6.12.4 with the same load is stable\n"
    )
    assert told(text) == ["amdgpu-driver-known-bad"]


EXECSTACK = "ImportError: {}: cannot enable executable stack as shared object requires: Invalid argument"


@pytest.mark.parametrize("library", ["libamdhip64.so", "libhiprtc.so", "librccl.so.1"])
def test_a_library_that_asks_for_an_executable_stack(library: str) -> None:
    assert told(f"Error output:\n{EXECSTACK.format(library)}\n" + CARD) == ["known-bad-library-version"]


def test_an_executable_stack_of_no_gpu_library() -> None:
    assert "rocm-library-wants-executable-stack" not in keys(EXECSTACK.format("libpdbg.so.6"))


@pytest.mark.parametrize(
    "line",
    [
        "clang-14: error: invalid target ID 'gfx1100'; format is a processor name followed by an optional colon-delimited list of features",
        "clang: error: unsupported HIP gpu architecture: gfx1201",
        "error: unknown target CPU 'gfx1151'",
        "'gfx1200' is not a recognized processor for this target (ignoring processor)",
    ],
)
def test_a_compiler_that_is_older_than_the_target(line: str) -> None:
    assert told(f"Error output:\n{line}\n" + CARD)[0] == "library-missing-gpu-arch"


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("lld: error: undefined symbol: __oclc_ABI_version", "gpu-libs-conflict"),
        ("ld.lld: error: undefined hidden symbol: __oclc_ABI_version", "gpu-libs-conflict"),
        ("CUDA error: HIPBLAS_STATUS_ARCH_MISMATCH when calling hipblasGemmEx", "library-missing-gpu-arch"),
        ("rocsparse_status_arch_mismatch", "library-missing-gpu-arch"),
        ("WARNING:root:No AMD GPUs specified", "amdgpu-driver-not-loaded"),
        ("ERROR: No DRM devices detected. Exiting", "amdgpu-driver-not-loaded"),
        ("ERROR:root:ROCm SMI returned 8 (the expected value is 0)", "amdsmi-mismatch"),
        ("WARNING:root:No AMD GPU processors found", "amdsmi-mismatch"),
        ("WARNING: User is missing the following required groups: render, video.", "device-node-permission"),
        ("amdgpu_top: called `Result::unwrap()`: Permission denied (os error 13)", "device-node-permission"),
    ],
)
def test_what_amds_tools_print(line: str, cause: str) -> None:
    assert told(f"Error output:\n{line}\n" + CARD)[0] == cause


def test_a_card_of_which_only_root_learns_more() -> None:
    line = "amdgpu_device_initialize: amdgpu_query_info(ACCEL_WORKING) failed (-13)"
    text = f"Error output:\n{line}\n{CARD}Other output:\nit runs with sudo\n"
    assert told(text) == ["device-node-permission"]


def test_headers_that_amdgpu_dkms_needs() -> None:
    line = "Error! Your kernel headers for kernel 6.11.0-17-generic cannot be found at /lib/modules/6.11.0-17-generic/build"
    assert told(f"Error output:\namdgpu-dkms: {line}\n" + CARD) == ["amdgpu-kernel-or-os-unsupported"]
    assert "amdgpu-kernel-or-os-unsupported" not in raised(f"Error output:\n{line}\n$ nvidia-smi -L\nGPU 0: Tesla T4\n")


def test_windows_part_of_wsl_that_is_not_found() -> None:
    line = "rocminfo: error while loading shared libraries: libdxcore.so: cannot open shared object file: No such file or directory"
    assert told(f"Error output:\n{line}\n" + CARD) == ["wsl-gpu-misconfigured"]


WHEEL = "Downloading vllm-0.11.0-cp38-abi3-manylinux1_x86_64.whl (438.2 MB)"
LT = "UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas"
STRIX = "System:\nROCm version: 7.1\n$ rocminfo\n*******\nAgent 2\n*******\n  Name: gfx1151\n  Vendor Name: AMD\n  Device Type: GPU\n"
test_named = names(
    [
        (f"Error output:\n{WHEEL}\nno platform detected\n{CARD}", "vllm-build-mismatch"),
        (f"Error output:\n{LT}\n{STRIX}export TORCH_BLAS_PREFER_HIPBLASLT=1\n", "hipblaslt-unsupported-arch"),
        # What the suite lacks for a card is no part of torch.
        (
            "Error output:\nhipErrorNoBinaryForGpu: Unable to find code object for all current devices!\n"
            "GPU: AMD Radeon Pro V520\nOther output:\nrvs 0.0.50203\nwith HSA_OVERRIDE_GFX_VERSION=10.3.0 it runs\n",
            "amd-gpu-unsupported-by-rocm",
        ),
        # A kernel of the GPU, and of two releases the one after the update.
        ("Error output:\nROCm 6.4 -> ROCm 7.1 fp32 GEMM kernel regression\n" + CARD, "known-bad-library-version"),
    ]
)
test_near = names_not(
    [
        (f"Error output:\n{WHEEL}\n$ nvidia-smi -L\nGPU 0: NVIDIA L40S\n", "vllm-build-mismatch"),
        (f"Error output:\n{LT}\n{STRIX}", "hipblaslt-unsupported-arch"),
        ("Error output:\nROCm 6.4 -> ROCm 7.1 fp32 GEMM kernel regression\n" + CARD, "amdgpu-driver-known-bad"),
    ]
)
