"""Several libraries side by side, and kernels too large for a GPU: each text is found as it is written, and not its
near miss."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, told

EXAMPLES = {
    "jax-loads-older-cuda-library": [
        "RuntimeError: Found cuSPARSE version 12000, but JAX was built against version 12103, which is newer.",
        "Found cuPTI version 18, but JAX was built against version 20, which is newer.",
    ],
    "opencl-runtime-beside-told": [
        "/etc/OpenCL/vendors/pocl.icd",
        "mesa-opencl-icd 24.2.8",
        "opencl-rusticl-mesa",
    ],
    "opencl-tool-crashes": ["clinfo: Segmentation fault (core dumped)", "clinfo crashes", "rocm-clinfo -l segfaults"],
    "triton-kernel-too-large": ["out of resource: shared memory, Required: 81920, Hardware limit: 65536. Reducing"],
    "aiter-triton-path-told": ['File "/opt/aiter/ops/triton/gemm.py", line 3', "attention backend ROCM_AITER_FA"],
    "looks-in-other-folder-told": [
        "it looks for the libraries in the wrong folder",
        "the server searches in /opt/app/lib/cuda",
        "expects them under /usr/lib/rocm",
    ],
    "gpu-libraries-lie-elsewhere-told": [
        "the CUDA libraries are in /usr/lib/x86_64-linux-gnu",
        "ROCm libs were put into /opt/extra/rocm",
    ],
    "tinygrad-bindings-empty": [
        "AttributeError: module 'tinygrad.runtime.autogen.comgr' has no attribute 'amd_comgr_create_data'",
        "module 'gpuctypes.cuda' has no attribute 'nvrtcCreateProgram'",
    ],
    "candle-kernel-not-in-module": [
        'Error: DriverError(CUDA_ERROR_NOT_FOUND, "named symbol not found") when loading is_u32_bf16',
    ],
    "gpu-not-passed-to-inner-cluster-told": [
        "the GPUs are not passed to the kind cluster",
        "the GPU isn't forwarded into the nested container",
    ],
    "driver-folder-on-path-helped-told": [
        "LD_LIBRARY_PATH with the folder of libcuda.so.1 fixed it",
        "export LD_LIBRARY_PATH=/usr/lib/nvidia-driver: works",
    ],
    "only-integrated-gpu-told": [
        "this server has only an Intel iGPU",
        "graphics: Intel(R) UHD Graphics 630 only",
        "it has only an Intel Iris Xe",
        "there is only the integrated graphics of an Intel N100",
    ],
    "nvrtc-builtins-missing": ["nvrtc: error: failed to open libnvrtc-builtins.so.11.1."],
    "nvrm-names-nouveau": ["NVRM: nouveau, rivafb, nvidiafb or rivatv"],
    "sgl-kernel-loads-none": ["[sgl_kernel] CRITICAL: Could not load any common_ops library!"],
}
NEAR_MISSES = {
    "jax-loads-older-cuda-library": "Found CUDA version 12010, but JAX was built against version 12020.",
    "opencl-runtime-beside-told": "/etc/OpenCL/vendors/amdocl64.icd",
    "opencl-tool-crashes": "clinfo shows one platform, and the game crashes",
    "triton-kernel-too-large": "out of resource: shared memory of the container",
    "aiter-triton-path-told": "VLLM_ROCM_USE_AITER=0",
    "looks-in-other-folder-told": "look at /var/log/syslog",
    "gpu-libraries-lie-elsewhere-told": "the ROCm libraries are installed",
    "tinygrad-bindings-empty": "module 'tinygrad.tensor' has no attribute 'Tensor'",
    "candle-kernel-not-in-module": "NCCL WARN Cuda failure 'named symbol not found'",
    "gpu-not-passed-to-inner-cluster-told": "the GPU is not passed to the virtual machine",
    "driver-folder-on-path-helped-told": "LD_LIBRARY_PATH has no folder of the driver",
    "only-integrated-gpu-told": "the integrated GPU of the Ryzen is used",
    "nvrtc-builtins-missing": "libnvrtc-builtins.so.12.4 is installed",
    "nvrm-names-nouveau": "nouveau is on the deny list",
    "sgl-kernel-loads-none": "loaded common_ops",
}


@pytest.mark.parametrize(("key", "line"), [(key, line) for key, lines in EXAMPLES.items() for line in lines])
def test_is_found(key: str, line: str) -> None:
    assert key in keys(line)


@pytest.mark.parametrize("key", EXAMPLES)
def test_its_near_miss_is_not(key: str) -> None:
    assert key not in keys(NEAR_MISSES[key])


def test_an_older_cuda_library_before_that_of_jax_is_a_cause_beside_the_plugin() -> None:
    text = "Found cuBLAS version 120103, but JAX was built against version 120205, which is newer."
    assert told(text) == ["jax-plugin-mismatch", "gpu-libs-conflict"]


def test_the_driver_that_names_nouveau_means_nouveau() -> None:
    text = "NVRM: The NVIDIA probe routine was not called for 2 device(s).\nNVRM: nouveau, rivafb, nvidiafb or rivatv"
    assert told(text) == ["nouveau-loaded"]
    assert told(text + "\nKernel driver in use: vfio-pci")[0] == "gpu-bound-to-other-driver"


def test_an_extension_that_lacks_a_system_library_is_built_rightly() -> None:
    text = "ImportError: libnuma.so.1: cannot open shared object file\n"
    text += "[sgl_kernel] CRITICAL: Could not load any common_ops library!"
    assert told(text) == ["system-library-missing"]


def test_a_library_from_another_release_beside_nvrtc() -> None:
    text = "nvrtc: error: failed to open libnvrtc-builtins.so.12.8\nlibnvJitLink is loaded from CUDA 12.4"
    assert told(text)[0] == "gpu-libs-conflict"


def test_error_35_that_a_path_cures_is_no_old_driver() -> None:
    text = "cudaGetDeviceCount err: 35"
    assert told(text) == ["nvidia-driver-too-old"]
    assert told(text + "\nLD_LIBRARY_PATH with the driver's folder: works") == ["gpu-libs-not-found"]


def test_wsl_without_a_card_of_nvidia() -> None:
    text = "nvidia-container-cli: initialization error: WSL environment detected but no adapters were found: unknown"
    assert told(text) == ["wsl-gpu-misconfigured"]
    assert told(text + "\nmy laptop does not have an NVIDIA graphics card")[0] == "no-gpu-found"
    assert told(text + "\nno NVIDIA graphics card was found")[0] == "wsl-gpu-misconfigured"


def test_a_driver_that_answers_nvidia_smi_is_loaded() -> None:
    text = "cuda/cudart_stub.cc:32] Could not find cuda drivers on your machine, GPU will not be used."
    assert told(text)[0] == "nvidia-driver-not-loaded"
    assert told(text + "\nnvidia-smi, nvtop and btop work")[0] == "gpu-libs-not-found"
    assert told(text + "\nnvidia-smi, nvtop and btop fail")[0] == "nvidia-driver-not-loaded"


def test_a_machine_without_a_card_needs_no_driver() -> None:
    text = "RuntimeError: Found no NVIDIA driver on your system."
    assert told(text) == ["nvidia-driver-not-loaded"]
    assert told(text + "\nthe machine has only an Intel iGPU") == ["no-gpu-found"]


def test_clinfo_beside_other_runtimes() -> None:
    assert told("clinfo: Segmentation fault\n/etc/OpenCL/vendors/rusticl.icd") == ["gpu-libs-conflict"]
    assert told("clinfo: Segmentation fault") == []


def test_a_kernel_of_aiter_alone_is_aiters_fault() -> None:
    line = "OutOfResources: out of resource: shared memory, Required: 81920, Hardware limit: 65536."
    assert told(f"{line}\naiter/ops/triton/moe.py") == ["companion-kernel-lib-outdated"]
    assert told(f"{line}\nmy_kernels/attention.py") == []


def test_libraries_in_another_folder_than_the_one_looked_in() -> None:
    looks, lie = "the server looks in /usr/local/lib/app/cuda", "the CUDA libraries are in /usr/lib/app/cuda"
    assert told(f"{looks}\n{lie}") == ["gpu-libs-not-found"]
    assert told(looks) == []


def test_secure_boot_is_nearer_than_a_system_that_the_release_does_not_list() -> None:
    text = "OS: Ubuntu 24.10\nROCm version: 6.3.2\nROCk module is NOT loaded\n"
    assert told(text)[0] == "amdgpu-kernel-or-os-unsupported"
    assert told(text + "Secure Boot enabled\n") == ["secure-boot-blocks-module"]
