"""Error texts of torch, GPU libraries and frameworks: each is found, and healthy logs show none."""

# ruff: noqa: E501  (lines as their programs print them)
from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doctor.diagnosis import registry
from doctor.facts import Snapshot
from doctor.knowledge import symptoms
from doctor.knowledge.symptoms import Signature, Symptoms

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CATALOGUE = Symptoms()
AREAS = ("torch", "libraries", "frameworks")
IDS = tuple(
    row["id"]
    for area in AREAS
    for row in tomllib.loads(Path(symptoms.DATA, f"{area}.toml").read_text("utf-8"))["symptom"]
)
RULES = {check.rule.id for check in registry.checks()}
SO = "cannot open shared object file: No such file or directory"
EXAMPLES = {
    "numpy-removed-alias": "AttributeError: module 'numpy' has no attribute 'product'",
    "compile-not-on-this-python": "RuntimeError: Dynamo is not supported on Python 3.14+",
    "jax-plugin-lacks-system-library": f"Failed to open /v/jax_plugins/xla_rocm7/xla_rocm_plugin.so: libdw.so.1: {SO}",
    "jax-backend-not-initialized": "RuntimeError: Unable to initialize backend 'cuda': FAILED_PRECONDITION",
    "flash-attn-needs-ampere": "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
    "error-of-attention-kernel": "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
    "torch-version-is-cpu": "PyTorch version: 2.5.1+cpu",
    "nvcc-not-found": "/bin/sh: 1: nvcc: not found",
    "nvcc-not-where-a-build-looks": "RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist",
    "torch-install-lacks-capability": "    Found GPU0 Quadro K620 which is of cuda capability 5.0.",
    "torch-sees-no-cuda-on-jetson": "Is CUDA available: False",
    "xformers-built-for-other-torch": "xFormers was built for: PyTorch 2.1.2+cu121 with CUDA 1201 (you have 2.3.0+cu121)",
    "cuda-torch-wants-nvidia-driver-on-amd": "RuntimeError: Found no NVIDIA driver on your system.",
    "torch-kernel-built-for-other-sm": "FATAL: kernel `fmha_cutlassF_f32_aligned_64x64_rf_sm80` is for sm80-sm100, but was "
    "built for sm37",
    "torch-companion-undefined-symbol": "OSError: /venv/torchaudio/lib/libtorchaudio.so: undefined symbol: _ZNK3c10",
    "pip-torch-companion-conflict": "torchvision 0.19.1 requires torch==2.4.1, but you have torch 2.5.0.",
    "pip-vllm-torch-conflict": "vllm 0.6.3 requires torch==2.4.0, but you have torch 2.5.1 which is incompatible.",
    "pip-extension-torch-conflict": "xformers 0.0.28 requires torch==2.4.1, but you have torch 2.5.1.",
    "pip-triton-conflict": "torch 2.6.0 requires triton==3.2.0, but you have triton 3.1.0 which is incompatible.",
    "hip-symbol-version-not-found": "libamdhip64.so.6: version `hip_6.2' not found (required by libtorch_hip.so)",
    "extension-undefined-torch-symbol": "flash_attn_2_cuda.cpython-311.so: undefined symbol: _ZN3c105ErrorC2ENS_14Sourc",
    "extension-dll-load-failed": "ImportError: DLL load failed while importing flash_attn_2_cuda: procedure not found",
    "triton-module-missing": "ModuleNotFoundError: No module named 'triton.ops'",
    "triton-inductor-no-working": "RuntimeError: Cannot find a working triton installation.",
    "triton-active-drivers": "RuntimeError: 2 active drivers ([<class 'CudaDriver'>]). There should only be one.",
    "ptxas-unsupported-ptx-version": "ptxas /tmp/x.ptx, line 5; fatal : Unsupported .version 8.7; current version is '8.4'",
    "toolkit-mismatches-torch-apex": "Installed CUDA version 12.4 does not match the version torch was compiled with 12.1",
    "torch-cpp-extension-compiler-bounds": "The current installed version of g++ (14.2.0) is greater than the maximum "
    "required version by CUDA 12.1.",
    "clang-cxx-headers-missing": "__clang_hip_runtime_wrapper.h:50:10: fatal error: 'cmath' file not found",
    "compiler-said-to-be-absent": "g++ is not installed in the image",
    "hip-compiler-test-fails": "The HIP compiler is not able to compile a simple test program.",
    "pip-no-matching-distribution": "ERROR: No matching distribution found for torch==2.1.0",
    "python-too-old-or-new": "RuntimeError: this package requires Python 3.10 or newer",
    "monitor-leaves-amd-out": (
        "INFO: Failed to load librocm_smi64.so, AMD GPUs will not be detected: librocm_smi64.so: cannot open shared object"
    ),
    "user-site-program-told": '  File "/home/u/.local/bin/gpustat", line 5, in <module>',
    "user-site-in-what-fails-told": '  File "/home/me/.local/lib/python3.12/site-packages/torch/__init__.py", line 1',
    "bf16-needs-capability-8": "ValueError: type fp8e4nv not supported in this architecture",
    "user-site-packages-in-traceback": 'File "/home/me/.local/lib/python3.12/site-packages/torch/__init__.py", line 1',
    "path-with-space": "The path of the virtual environment contains a space",
    "traceback-path-with-space": 'File "/home/me/my models/venv/lib/python3.11/site-packages/torch/nn.py", line 1',
    "cuda-library-not-found": f"ImportError: libcudart.so.12: {SO}",
    "rocm-library-not-found": f"ImportError: libMIOpen.so.1: {SO}",
    "jax-rocm-smi-not-found": f"librocm_smi64.so.6: {SO}",
    "cudnn-libraries-not-loaded": "Could not load library libcudnn_ops_infer.so.8. Error: no such file",
    "nvjitlink-symbol-missing": "libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12",
    "cuda-library-symbol-version": "symbol cublasLtGetStatus version libcublasLt.so.12 not defined in file "
    "libcublasLt.so.12 with link time reference",
    "glibcxx-not-found": "libstdc++.so.6: version `GLIBCXX_3.4.30' not found",
    "rocm-library-wants-newer-libstdcxx": "libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by venv/torch/lib/libhsa-runtime64.so)",
    "glibc-not-found": "/lib/libc.so.6: version `GLIBC_2.34' not found",
    "rocm-loads-two-runtimes": ": CommandLine Error: Option 'amdgpu-x' registered more than once!",
    "system-library-not-found": f"ImportError: libGL.so.1: {SO}",
    "amdsmi-library-missing": "KeyError: 'libamd_smi.so'",
    "amdsmi-init-error": "amdsmi.AmdSmiLibraryException: Error code: 34 | AMDSMI_STATUS_DRIVER_NOT_LOADED",
    "rocm-tool-not-found": "sh: 1: hipcc: not found",
    "rocm-cmake-package-not-found": 'Could not find a package configuration file provided by "hip" with any of',
    "rocm-home-not-set": "OSError: ROCM_HOME environment variable is not set. Please set it to your ROCm install root.",
    "libdevice-not-found": "libdevice not found at ./libdevice.10.bc",
    "aiter-import-failed": "ModuleNotFoundError: No module named 'aiter.ops'",
    "aiter-unexpected-argument": "TypeError: flash_attn_varlen_func() got an unexpected keyword argument 'out'",
    "flashinfer-packages-differ": "flashinfer-cubin version (0.6.6) does not match flashinfer version (0.6.7)",
    "kernel-library-below-minimum": "sgl-kernel is installed with version 0.1.2, which is less than the minimum required "
    "version 0.1.9",
    "aotriton-version": f"libaotriton_v2.so.0.11.0: {SO}",
    "quantization-below-minimum-capability": "The quantization method awq is not supported for the current GPU. Minimum "
    "capability: 75. Current capability: 70.",
    "xformers-operator-of-torch-told": "`cutlassF-pt` is not supported because:",
    "xformers-capability": "requires device with capability <= (9, 0) but your GPU has capability (12, 0) (too new)",
    "flashinfer-capability": "FlashInfer requires GPUs with sm75 or higher",
    "kernel-missing-in-named-library": "flash_attn/csrc: CUDA error: no kernel image is available for execution",
    "ggml-no-kernel-image": "ggml_cuda_compute_forward: RMS_NORM failed: ROCm error: invalid device function",
    "ollama-gpu-not-supported": "amdgpu is not supported gpu_type=gfx1010",
    "bitsandbytes-no-kernel-image": "Error named symbol not found at line 74 in file /src/csrc/ops.cu",
    "bitsandbytes-binary-missing": "Configured CUDA binary not found at libbitsandbytes_cuda128.so",
    "jax-pjrt-size": "Unexpected PJRT_Client_Create_Args size: expected 88, got 72.",
    "jax-plugin-version": "JAX plugin jax_cuda12_plugin version 0.4.31 is installed, but it is not compatible with the "
    "installed jaxlib version 0.4.30",
    "jax-cuda-library-version": "RuntimeError: Unable to load cuSPARSE. Is it installed?",
    "tensorflow-dlopen-failed": "Cannot dlopen some GPU libraries. Please make sure the missing libraries are installed",
    "tensorflow-cudnn-older": "Loaded runtime CuDNN library: 8.2.4 but source was compiled with: 8.6.0.",
    "tensorflow-no-gpu-listed": "tf.config.list_physical_devices('GPU') -> []",
    "gpu-use-off-told": '"Use GPU" off',
    "tensorflow-told-to-hide-gpus": "tf.config.set_visible_devices([], 'GPU')",
    "hip-invalid-device-function": "RuntimeError: HIP error: invalid device function",
    "tensorflow-rocm-undefined-symbol": "_pywrap_tensorflow_internal.so: undefined symbol: hipGetDevice",
    "vllm-op-of-cuda-alone": "AttributeError: '_OpNamespace' '_C' object has no attribute 'scaled_fp4_quant'",
    "jax-cuda-jaxlib-not-installed": "a CUDA-enabled jaxlib is not installed. Falling back to cpu.",
    "numpy-binary-incompatible": "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88",
    "vllm-undefined-symbol": "ImportError: vllm/_C.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
    "vllm-built-for-other-torch": "vllm was built with torch 2.4.0 but torch 2.5.1 is installed",
    "sglang-kernel-load": "ImportError: [sgl_kernel] CRITICAL: Could not load any common_ops library!",
    "transformer-engine-load": "AssertionError: Could not find shared object file for Transformer Engine torch lib.",
    "onnxruntime-provider-not-available": "Specified provider 'ROCMExecutionProvider' is not in available provider names.",
    "onnxruntime-provider-not-loaded": "Failed to create CUDAExecutionProvider. Require cuDNN 9.* and CUDA 12.*",
    "framework-falls-back-to-cpu": "ggml_cuda_init: failed to initialize ROCm: no ROCm-capable device is detected",
    "rocminfo-shows-no-gpu": "rocminfo doesn't show GPU",
    "kfd-ioctl-version": "hsaKmt: KFD version mismatch",
    "amdgpu-dkms-build-failed": "Error! Bad return status for module build on kernel: 6.14.0 (amdgpu/6.10.5)",
    "amdgpu-install-os-unsupported": "E: The repository 'https://repo.radeon.com/amdgpu/6.0 oracular' does not have a "
    "Release file.",
    "rocm-packages-unmet": "rocm-gdb : Depends: libtinfo5 but it is not installable",
    "rocm-gpu-unsupported": "gfx803 is not supported by ROCm",
    "gpu-of-a-chip-before-rocm": "VGA compatible controller: AMD/ATI Oland [Radeon HD 8570]",
}
HEALTHY = (
    "PyTorch version: 2.7.0+cu128",
    "Is CUDA available: True",
    "torch 2.5.1+rocm6.2",
    "torchvision 0.20.1+cu124",
    "CUDA used to build PyTorch: 12.8",
    "Successfully installed numpy-2.1.0 torch-2.6.0 triton-3.2.0",
    "Collecting nvidia-cudnn-cu12==9.1.0.70",
    "libcudart.so.12 => /usr/local/cuda/lib64/libcudart.so.12 (0x00007f)",
    "libamdhip64.so.6 => /opt/rocm/lib/libamdhip64.so.6 (0x00007f)",
    "Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been",
    "TF-TRT Warning: Could not find TensorRT",
    "INFO 11-20 10:00:00 [__init__.py:244] Automatically detected platform cuda.",
    "INFO 11-20 10:00:00 [__init__.py:244] Automatically detected platform rocm.",
    "Using FlashAttention version 3",
    "ggml_cuda_init: found 1 ROCm devices:",
    'time=2026-11-20 level=INFO msg="looking for compatible GPUs"',
    "amdgpu: ROCm is supported, loaded 7.0.2",
    "Disk space left: 100 GiB",
    "[CudaDevice(id=0), CudaDevice(id=1)]",
    "hipcc --version",
    "HIP version: 6.4.43483",
    "rocminfo",
    "import triton; print(triton.__version__)",
    "Available providers: ['CUDAExecutionProvider', 'CPUExecutionProvider']",
    "gcc (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0",
)


def _found(line: str) -> set[str]:
    return {hit.key for hit in CATALOGUE.find([(1, line)])}


@pytest.mark.parametrize("key", IDS)
def test_each_signature_finds_its_line(key: str) -> None:
    signature: Signature = CATALOGUE.signatures[key]
    if signature.pattern:
        assert key in _found(EXAMPLES[key])
        return
    for literal in signature.says:
        assert key in _found(f"RuntimeError: {literal}")


@pytest.mark.parametrize(
    "line",
    [
        "    Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.",
        "    Minimum and Maximum cuda capability supported by this version of PyTorch is (8.0) - (12.0)",
    ],
)
def test_a_gpu_one_minor_above_the_maximum_runs_all_the_same(line: str) -> None:
    assert "torch-install-lacks-capability" not in _found(line)


@pytest.mark.parametrize("line", HEALTHY)
def test_healthy_lines_match_nothing(line: str) -> None:
    assert _found(line) & set(IDS) == set()


@pytest.mark.parametrize("key", IDS)
def test_each_cause_is_a_rule_and_asks_for_facts_that_there_are(key: str) -> None:
    for cause in CATALOGUE.signatures[key].points_to:
        assert cause.rule in RULES
        assert set(cause.with_symptom + cause.without_symptom) <= set(CATALOGUE.signatures)
        cause.holds(Snapshot())
        for name in {**cause.when, **cause.unless}:
            kind, _, rest = name.partition(":")
            assert (rest and kind in ("package", "env", "gpu")) or Snapshot().get(name) is None
