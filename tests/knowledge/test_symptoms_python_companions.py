"""Texts of libraries beside torch, and what people say of builds that do not fit: each is found in its line, near ones
are not, and what else must be true decides what it points to."""

# ruff: noqa: E501  (lines as their programs print them)
from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doctor.diagnosis import registry
from doctor.facts import Snapshot
from doctor.intake import read_text
from doctor.knowledge import symptoms
from doctor.knowledge.symptoms import Symptoms
from tests.knowledge.test_symptoms_python import HEALTHY

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CATALOGUE = Symptoms()
IDS = tuple(
    row["id"] for row in tomllib.loads(Path(symptoms.DATA, "python_companions.toml").read_text("utf-8"))["symptom"]
)
RULES = {check.rule.id for check in registry.checks()}
CONTEXT = (
    "nvidia-gpu-told",
    "amd-gpu-by-name-told",
    "extension-of-research-code-told",
    "blackwell-card-told",
    "vllm-source-compiled",
    "attention-of-composable-kernel-told",
)
"""They point to nothing themselves, and a healthy text may hold them."""
BESIDE_ANOTHER = ("rocm-torch-told-on-nvidia", "nvidia-wheels-come-along")
"""They point to something only beside a symptom of the other vendor."""
EXAMPLES = {
    "rapids-wants-newer-gpu": "cudf.errors.UnsupportedCUDAError: A GPU with NVIDIA Volta\u2122 (Compute Capability 7.0) or newer architecture is required.",
    "rapids-wants-newer-driver": "UnsupportedCUDAError: Please update your NVIDIA GPU Driver to support CUDA Runtime.",
    "rapids-detects-no-driver": "We couldn't detect the GPU driver properly. Please follow the installation guide to ensure your driver is properly installed",
    "xformers-finds-cpu-torch": "    PyTorch 2.5.1+cu121 with CUDA 1201 (you have 2.5.1+cpu)",
    "xformers-built-for-other-python": "    Python  3.11.9 (you have 3.12.3)",
    "torch-blind-on-windows": ">>> torch.cuda.is_available() returns False",
    "pip-took-cuda-torch-away": "    Found existing installation: torch 2.6.0+cu124",
    "pip-took-rocm-torch-away": "    Uninstalling torch-2.4.0+rocm6.1:",
    "nvidia-wheels-come-along": "Collecting nvidia-cublas-cu12==12.8.4.1 (from torch)",
    "nvidia-gpu-told": "on a box with an NVIDIA card",
    "rocm-torch-told-on-nvidia": "the script installed the ROCm torch",
    "amd-gpu-by-name-told": "my Radeon does nothing",
    "extension-of-research-code-told": "    out = _backend.march_rays_train(rays_o, rays_d)",
    "kernel-image-missing-in-compiled-extension": "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    "cuda-kernel-failed-in-extension": "CUDA kernel failed : no kernel image is available for execution on the device",
    "tensorflow-counts-no-gpu": "Num GPUs: 0",
    "tensorflow-runs-on-cpu-told": "tensorflow-gpu 2.4 just runs everything on the CPU",
    "tensorflow-gpu-on-native-windows": "pip install tensorflow[and-cuda]",
    "numpy-unknown-to-torch": "RuntimeError: Could not infer dtype of numpy.int64",
    "numba-internal-not-initialized": "SystemError: initialization of _internal failed without raising an exception",
    "llama-cpp-built-without-gpu": "warning: not compiled with GPU offload support, --n-gpu-layers option will be ignored",
    "glibc-asked-for-told": "the wheel needs glibc 2.28",
    "glibc-too-old-told": "our cluster's glibc is too old for this wheel",
    "ptxas-call-failed": "subprocess.CalledProcessError: Command '['/venv/triton/backends/nvidia/bin/ptxas', '-v', '--gpu-name=sm_120', '/tmp/a.ptx', '-o', '/tmp/a.o']' returned non-zero exit status 255.",
    "cuda-library-missing-where-amd-is-told": "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
    "cupy-library-not-loaded": "CuPy failed to load nvrtc64_120_0.dll: FileNotFoundError: Could not find module",
    "cuda-stub-library-loaded": "You are running using the stub version of nvrtc",
    "compiler-path-is-a-list": "unable to execute '/opt/cuda:/opt/cuda-11.8/bin/nvcc': No such file or directory",
    "tensorflow-build-finds-no-rocm": "ROCm Configuration Error: Cannot find rocm library MIOpen",
    "tensorflow-build-finds-no-cuda": "Cuda Configuration Error: Failed to run find_cuda_config.py: Could not find any cudnn.h matching version '8'",
    "device-bitcode-told-missing": "the wheel lacks ockl.bc and ocml.bc: bitcode files are missing",
    "another-version-passes-told": "with 2.21.5 the same job runs through",
    "home-of-the-host-in-container-told": "inside, torch comes from the host's conda",
    "numba-finds-no-nvvm": "numba.cuda.cudadrv.error.NvvmSupportError: libNVVM cannot be found.",
    "numba-toolkit-of-another-driver": "No supported GPU compute capabilities found. Please check your cudatoolkit version matches your CUDA version.",
    "numba-finds-no-driver": "CUDA driver library cannot be found.",
    "mangled-symbol-on-a-line-of-its-own": " symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKSs",
    "module-of-another-python": "ImportError: ops.so: undefined symbol: PyUnicodeUCS4_FromString",
    "cmake-options-under-another-name": "MAKE_ARGS='-DGGML_CUDA=on' pip install llama-cpp-python",
    "torch-built-without-this-gfx-told": "my own torch: PYTORCH_ROCM_ARCH did not list it, it lacks gfx1101",
    "extension-built-for-other-archs-told": "the image's TORCH_CUDA_ARCH_LIST stops at 8.6",
    "paddle-library-not-configured": "RuntimeError: (PreconditionNotMet) The third-party dynamic library (libcudnn.so) that Paddle depends on is not configured correctly. (error code is 2)",
    "paddle-driver-library-not-found": "The third-party dynamic library (libcuda.so) that Paddle depends on is not configured correctly.",
    "paddle-system-library-not-configured": "The third-party dynamic library (mklml.dll) that Paddle depends on is not configured correctly.",
    "paddle-compiled-with-other-cudnn": "WARNING: device: 0. The installed Paddle is compiled with CUDNN 8.6, but CUDNN version in your machine is 8.0",
    "paddle-package-of-the-cpu": "Config use_gpu cannot be set as true while you are using paddlepaddle cpu version !",
    "paddle-built-for-other-archs": "Mismatched GPU Architecture: The installed PaddlePaddle package was compiled for 60 70 75, but your current GPU is 120",
    "new-gpu-with-old-cuda-told": "my RTX 5080 does not run with CUDA 11.8",
    "undefined-symbols-told-of-vllm": "vllm's _C fails to import with undefined HIP symbols",
    "vllm-early-module-undefined-symbol": (
        "/v/site-packages/cache_ops.cpython-39-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"
    ),
    "undefined-symbols-told-of-an-extension": "the extension fails to load: undefined c10 symbol",
    "library-named-for-a-torch-missing": "FileNotFoundError: Cannot find DGL C++ sparse library at /v/dgl/dgl_sparse/libdgl_sparse_pytorch_2.5.0.so",
    "extension-built-without-gpu": "RuntimeError: nms_impl: implementation for device cuda:0 not found.",
    "toolkit-of-the-build-told-to-differ": "cmake finds cuda 12.4 but my torch is made with 11.8",
    "extension-of-another-capability": "OSError: Could not find compatible tinycudann extension for compute capability 90.",
    "new-gpu-told-to-need-new-cuda": "somebody wrote that it needs PyTorch 2.7 with cu128",
    "blackwell-card-told": "built my PC around an RTX 5070 Ti",
    "layers-stay-off-the-gpu-told": "n_gpu_layers=-1 has no effect, all cores are busy",
    "vllm-source-compiled": "/src/vllm/csrc/cache_kernels.cu(44): error:",
    "source-for-another-torch": 'ops.cu(31): error: class "at::Tensor" has no member "const_data_ptr"',
    "attention-of-composable-kernel-told": "pip install flash-attn --no-build-isolation",
    "kernels-do-not-compile-for-this-gfx": "3 errors generated when compiling for gfx1101.",
    "windows-part-of-torch-not-loaded": 'OSError: [WinError 126] Error loading "C:\\v\\Lib\\site-packages\\torch\\lib\\c10.dll" or one of its dependencies.',
    "windows-gpu-part-of-torch-not-loaded": 'Error loading "C:\\v\\Lib\\site-packages\\torch\\lib\\torch_hip.dll" or one of its dependencies.',
    "hip-program-on-nvidia": "RuntimeError: No HIP GPUs are available",
    "library-in-a-folder-of-another-rocm": "/opt/rocm-5.7.0/lib/libamdocl64.so: cannot open shared object file: No such file or directory",
    "onnxruntime-package-without-provider": "the onnxruntime package in the image is the CPU build",
}
NEAR = (
    ("xformers-finds-cpu-torch", "    PyTorch 2.5.1+cu121 with CUDA 1201 (you have 2.6.0+cu124)"),
    ("xformers-built-for-other-python", "    Python  3.11.9 (you have 3.11.2)"),
    ("torch-blind-on-windows", "torch.cuda.is_available() returns True"),
    ("pip-took-cuda-torch-away", "    Uninstalling torch-2.6.0:"),
    ("pip-took-rocm-torch-away", "    Uninstalling torch-2.6.0+cu124:"),
    ("tensorflow-counts-no-gpu", "Num GPUs: 4"),
    (
        "tensorflow-runs-on-cpu-told",
        "I tensorflow/core/platform/cpu_feature_guard.cc:182] This TensorFlow binary is optimized to use available CPU instructions",
    ),
    ("tensorflow-gpu-on-native-windows", "pip install tensorflow==2.10.1"),
    ("numpy-unknown-to-torch", "RuntimeError: Could not infer dtype of NoneType"),
    ("llama-cpp-built-without-gpu", "AVX = 1 | AVX2 = 1 | BLAS = 1 | SSE3 = 1"),
    ("glibc-too-old-told", "Libc version: glibc-2.35"),
    ("ptxas-call-failed", "ptxas info    : Compiling entry function for 'sm_90'"),
    ("mangled-symbol-on-a-line-of-its-own", "exported symbol: _ZN3c106detail"),
    ("module-of-another-python", "undefined symbol: PyTorch_init"),
    ("cmake-options-under-another-name", "CMAKE_ARGS='-DGGML_CUDA=on' pip install llama-cpp-python"),
    ("torch-built-without-this-gfx-told", "export PYTORCH_ROCM_ARCH=gfx1101"),
    ("extension-built-for-other-archs-told", "export TORCH_CUDA_ARCH_LIST=9.0"),
    (
        "paddle-library-not-configured",
        "The third-party dynamic library (mklml.dll) that Paddle depends on is not configured correctly.",
    ),
    ("paddle-library-not-configured", "The TensorRT that Paddle depends on is not configured correctly."),
    ("source-for-another-torch", "error: 'class Config' has no member named 'device'"),
    ("kernels-do-not-compile-for-this-gfx", "0 warnings generated when compiling for gfx1100."),
    ("windows-part-of-torch-not-loaded", "torch or one of its dependencies is slow to import"),
    ("windows-gpu-part-of-torch-not-loaded", "C:\\v\\Lib\\site-packages\\torch\\lib\\torch_hip.dll"),
    ("library-in-a-folder-of-another-rocm", "export LD_LIBRARY_PATH=/opt/rocm-6.4.1/lib"),
    ("extension-of-another-capability", "could not find compatible versions of numpy"),
    ("new-gpu-told-to-need-new-cuda", "needs torch 2.4 or newer"),
    ("layers-stay-off-the-gpu-told", "n_gpu_layers=20 is what I use, it takes 9 GB"),
    ("layers-stay-off-the-gpu-told", "offloaded 33/33 layers to GPU"),
    ("undefined-symbols-told-of-an-extension", "the ABI of the plugin is stable"),
    ("new-gpu-with-old-cuda-told", "my RTX 5080 does not fit into the case"),
    ("undefined-symbols-told-of-vllm", "vllm reads an undefined variable"),
    ("undefined-symbols-told-of-an-extension", "undefined variable in the config"),
    ("library-named-for-a-torch-missing", "Cannot find the training data at /data"),
    ("extension-built-without-gpu", "OpenCV was not compiled with CUDA"),
    ("toolkit-of-the-build-told-to-differ", "it uses cuda 12.4 and is fast"),
    ("cupy-library-not-loaded", "CuPy failed to load the array from disk"),
    ("cuda-stub-library-loaded", "-L/usr/local/cuda/lib64/stubs -lcuda"),
    ("compiler-path-is-a-list", "/opt/cuda-11.8/bin/nvcc: No such file or directory"),
    ("device-bitcode-told-missing", "loading bitcode of the kernel"),
    ("another-version-passes-told", "tested with 2.21.5 on two nodes"),
    ("home-of-the-host-in-container-told", "cd /home/me && python train.py"),
    ("cuda-kernel-failed-in-extension", "CUDA kernel failed : invalid configuration argument"),
)


def _found(line: str) -> set[str]:
    return {hit.key for hit in CATALOGUE.find([(1, line)])}


def _points(text: str) -> set[str]:
    machine = read_text([text.encode()])
    return {cause.rule for s in machine.symptoms if s.key in IDS for cause in CATALOGUE.causes(s.key, machine)}


@pytest.mark.parametrize("key", IDS)
def test_each_signature_finds_its_line(key: str) -> None:
    assert key in _found(EXAMPLES[key])


def test_no_example_is_left_of_a_signature_that_is_gone() -> None:
    assert set(EXAMPLES) <= set(IDS)
    assert {key for key, _ in NEAR} <= set(IDS)


@pytest.mark.parametrize(("key", "line"), NEAR)
def test_lines_that_are_near_are_not_taken_for_it(key: str, line: str) -> None:
    assert key not in _found(line)


@pytest.mark.parametrize("line", HEALTHY)
def test_healthy_lines_match_nothing(line: str) -> None:
    assert _found(line) & set(IDS) <= {*CONTEXT, *BESIDE_ANOTHER}


@pytest.mark.parametrize("key", BESIDE_ANOTHER)
def test_what_a_healthy_text_may_hold_asks_for_more(key: str) -> None:
    assert all(cause.with_symptom for cause in CATALOGUE.signatures[key].points_to)


@pytest.mark.parametrize("key", IDS)
def test_each_cause_is_a_rule_and_asks_for_facts_that_there_are(key: str) -> None:
    causes = CATALOGUE.signatures[key].points_to
    assert (key in CONTEXT) is not bool(causes)
    for cause in causes:
        assert cause.rule in RULES
        assert set(cause.with_symptom + cause.without_symptom) <= set(CATALOGUE.signatures)
        for name in {**cause.when, **cause.unless}:
            kind, _, rest = name.partition(":")
            assert (rest and kind in ("package", "env", "gpu")) or Snapshot().get(name) is None


BLIND = "torch.cuda.is_available() returns False and training is slow"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (f"On Windows 11 with an RTX 4070.\n{BLIND}", "torch-cpu-only-build"),
        ("I have a Radeon RX 7800 XT\nCollecting nvidia-cudnn-cu12 (from torch)", "torch-built-for-other-vendor"),
        ("laptop with a GeForce card\npip shows torch 2.3.0+rocm6.0", "torch-built-for-other-vendor"),
        ("training with mmcv on a new card\nno kernel image is available for execution on the device", "library-missing-gpu-arch"),
        ("D:\\code\\train.py\npip install tensorflow[and-cuda]", "tensorflow-gpu-mismatch"),
        ("NCCL 2.27.3 hangs in the second epoch.\nWith 2.26.2 it works for days.", "known-bad-library-version"),
        ("singularity exec --nv torch.sif python t.py\nnumpy is taken from /home/me/.conda", "python-user-site-leak"),
        ("my PC has an AMD GPU\nOSError: libcudart.so.11.0: cannot open shared object file", "torch-built-for-other-vendor"),
        ("GPU 0: NVIDIA GeForce RTX 4060\nRuntimeError: No HIP GPUs are available", "torch-built-for-other-vendor"),
        ("pip install flash-attn\n7 errors generated when compiling for gfx1100.", "library-missing-gpu-arch"),
        ("building vllm from main\nno member named 'layout' in 'torch::stable::Tensor'", "vllm-build-mismatch"),
        ("my ops\nno member named 'layout' in 'torch::stable::Tensor'", "extension-abi-mismatch"),
        ("a laptop with a 5080\nI read that it needs PyTorch with CUDA 12.8", "torch-missing-gpu-arch"),
        ("with llama.cpp, n_gpu_layers=-1 has no effect", "framework-sees-no-gpu"),
        ("the kernels only work on one machine\nthe wheel has ABI issues with torch 2.8", "extension-abi-mismatch"),
        ("DGLError: Check failed: allow_missing: Device API cuda is not enabled. Please install the cuda version of dgl.", "extension-abi-mismatch"),
        ("our ops are only guaranteed to work with the version of PyTorch that they were built with", "extension-abi-mismatch"),
    ],
)  # fmt: skip
def test_what_else_is_told_decides(text: str, rule: str) -> None:
    assert rule in _points(text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (f"On Ubuntu 22.04 with an RTX 4070.\n{BLIND}", "torch-cpu-only-build"),
        (f"On Windows 11, torch 2.6.0+cu124.\n{BLIND}", "torch-cpu-only-build"),
        ("I have a GeForce card\nCollecting nvidia-cudnn-cu12 (from torch)", "torch-built-for-other-vendor"),
        ("my Radeon RX 7800 XT runs torch 2.3.0+rocm6.0", "torch-built-for-other-vendor"),
        ("no kernel image is available for execution on the device", "library-missing-gpu-arch"),
        ("/home/me/train.py\npip install tensorflow[and-cuda]", "tensorflow-gpu-mismatch"),
        ("OSError: libcudart.so.11.0: cannot open shared object file", "torch-built-for-other-vendor"),
        ("NCCL 2.27.3 is what I have.\nWith 2.26.2 it works for days.", "known-bad-library-version"),
        ("I have a card of AMD\nRuntimeError: No HIP GPUs are available", "torch-built-for-other-vendor"),
        ("GPU 0: NVIDIA GeForce RTX 4060\nhipErrorNoBinaryForGpu: Unable to find code object", "torch-missing-gpu-arch"),
        ("make\n7 errors generated when compiling for gfx1100.", "library-missing-gpu-arch"),
        ("a laptop with a 3080\nI read that it needs PyTorch with CUDA 12.8", "torch-missing-gpu-arch"),
        ("in my own loader, n_gpu_layers=-1 has no effect", "framework-sees-no-gpu"),
        ("docker run --gpus all torch python t.py\nnumpy is taken from /home/me/.conda", "python-user-site-leak"),
    ],
)  # fmt: skip
def test_without_it_nothing_is_concluded(text: str, rule: str) -> None:
    assert rule not in _points(text)
