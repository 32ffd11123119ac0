"""Error texts around torch told by family: each is found in a line as its program prints it, and healthy lines show
none."""

# ruff: noqa: E501  (lines as their programs print them)
from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doctor.diagnosis import registry
from doctor.facts import Snapshot
from doctor.knowledge import symptoms
from doctor.knowledge.symptoms import Signature, Symptoms
from tests.knowledge.test_symptoms_python import HEALTHY
from tests.knowledge.texts import keys, told

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CATALOGUE = Symptoms()
AREAS = ("python_torch", "python_libraries", "python_frameworks", "python_families")
IDS = tuple(
    row["id"]
    for area in AREAS
    for row in tomllib.loads(Path(symptoms.DATA, f"{area}.toml").read_text("utf-8"))["symptom"]
)
RULES = {check.rule.id for check in registry.checks()}
EXAMPLES = {
    "conv3d-called-told": "    return F.conv3d(",
    "vllm-extension-installed-told": "  vllm/_C.abi3.so",
    "vllm-absent-told": "ImportError: vllm is not installed. To use Fp8Linear, please install vllm",
    "flash-attn-needs-newer-toolkit": "RuntimeError: FlashAttention is only supported on CUDA 11.7 and above.",
    "host-allocator-refused-told": "DefaultCPUAllocator: not enough memory: you tried to allocate 10485760 bytes.",
    "torch-companion-told": "torchvision from PyPI beside a torch for ROCm",
    "stubs-folder-on-the-path": "LD_LIBRARY_PATH=/opt/cuda/lib64:/opt/cuda/lib64/stubs",
    "extension-broke-after-torch-changed": "flash-attn stopped working after pip upgraded torch to 2.6",
    "amd-variable-told": "export MIOPEN_FIND_MODE=2",
    "nvidia-driver-asked-for-beside-amd-variable": "RuntimeError: Found no NVIDIA driver on your system.",
    "gpu-library-of-wheel-listed": "/opt/env/lib/python3.11/site-packages/nvidia/cublas/lib/libcublas.so.12",
    "gpu-library-of-system-listed": "/usr/lib/x86_64-linux-gnu/libcublas.so.12.3.4.1",
    "library-of-hcc-not-found": "ImportError: libhip_hcc.so.3: cannot open shared object file",
    "module-compiled-for-another-python": "ImportError: Python version mismatch: module was compiled for Python 3.10, but the interpreter version is incompatible: 3.12.3.",
    "library-built-with-told": "the extension was compiled against NCCL 2.18.1",
    "library-on-system-told": "NCCL 2.21.5 is picked up at run time",
    "nvcc-lacks-names-of-newer-toolkit": 'kernel.cu(40): error: identifier "cusparseLtMatmul" is undefined',
    "apex-without-cuda-extensions": "RuntimeError: apex.optimizers.FusedLAMB requires cuda extensions",
    "bitsandbytes-finds-old-cuda": "CUDA SETUP: CUDA 10.0 not supported. Please use a different CUDA version.",
    "bitsandbytes-finds-no-runtime": "CUDA SETUP: Problem: The main issue seems to be that the main CUDA runtime library was not detected.",
    "mkl-of-two-releases": "Intel MKL FATAL ERROR: Cannot load libmkl_avx512.so or libmkl_def.so.",
    "older-library-in-path-told": "LD_LIBRARY_PATH has an older cuDNN",
    "nvcc-older-than-its-options": "nvcc fatal   : Unknown option '--split-compile'",
    "cuda-library-of-toolkit-not-opened-by-cpm": "RuntimeError: Library cudart is not initialized",
    "blas-routine-undefined": "OSError: /opt/venv/lib/libtorch_cpu.so: undefined symbol: cblas_gemm_f16f16f32",
    "torch-linked-to-older-mkl": "ImportError: envs/x/lib/libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent",
    "extension-without-masquerade": 't == DeviceType::HIP INTERNAL ASSERT FAILED at "c10/hip/impl/HIPGuardImpl.h":22',
    "jax-cuda-library-answers-with-error": "jaxlib/cuda/versions_helpers.cc:90: operation cudnnGetVersion() failed: cuDNN status 1001",
    "cuda-toolkits-several-told": "three CUDA versions are installed side by side",
    "import-fails-told": "importing warp_kernels fails",
    "toolkit-floor-told": "this kernel needs at least CUDA 12.4",
    "jit-fails-told": "the JIT of the attention kernel failed",
    "torch-version-printed-cpu": "'2.5.1+cpu'",
    "gpu-torch-printed-true": "2.5.1+cu121 True NVIDIA GeForce RTX 3080",
    "tensorrt-engine-of-another-release": "Error Code 1: Serialization (stdVersionRead == serializationVersion failed.Version tag does not match. Note: Current Version: 232, Serialized Engine Version: 205)",
    "tensorrt-engine-of-another-gpu": "The engine plan file is generated on an incompatible device, expecting compute 7.5 got compute 8.6, please rebuild.",
    "framework-told-built-without-gpu": "src/imperative/./imperative_utils.h:91: GPU support is disabled. Compile MXNet with USE_CUDA=1 to enable GPU support.",
    "cuda-of-the-build-differs-from-torch": "The current running CUDA version is: 10.2.89",
    "ctranslate2-compute-type-on-blackwell": "CUBLAS_STATUS_NOT_SUPPORTED with the default compute type",
    "cmake-finds-no-cuda": "  Specify CUDA_TOOLKIT_ROOT_DIR",
    "pip-tensorrt-conflict": "torch-tensorrt 2.3.0a0 requires tensorrt<8.7,>=8.6, but you have tensorrt 10.0.1 which is incompatible.",
    "cmake-finds-no-cuda-toolset": "        No CUDA toolset found.",
    "cmake-cuda-compiler-fails-its-test": "  Failed to detect a default CUDA architecture.",
    "distribution-nvcc-finds-no-host-compiler": "ERROR: No supported gcc/g++ host compiler found, but clang-14 is available.",
    "onnxruntime-cannot-load-cuda": "CreateExecutionProviderInstance CUDA_PATH is set but CUDA wasnt able to be loaded.",
    "opencv-dnn-built-without-cuda": "[ WARN:0@5.37] global net_impl.cpp:174 setUpNet DNN module was not built with CUDA backend; switching to CPU",
    "hopper-kernels-on-another-gpu": "CUDA error (/src/flash-attention/hopper/flash_fwd_launch_template.h:188): invalid argument",
    "conda-pytorch-cpu-build": "pytorch 2.1.2 py3.10_cpu_0 pytorch",
    "rocm-command-not-recognized": "'rocm-sdk' is not recognized as an internal or external command,",
    "runtime-dll-of-the-compiler-missing": "The program can't start because libomp140.x86_64.dll is missing",
    "symbol-of-library-not-loadable": "Invalid handle. Cannot load symbol cudnnGetVersion",
    "ck-device-operation-refuses": "RuntimeError: DeviceGroupedMultiheadAttentionForward_Xdl_CShuffle_V2<256, 128> does not support this problem",
    "gpu-library-part-not-opened": "nvrtc: error: failed to open libnvrtc-builtins.so.12.4.",
    "system-library-needed-by-link": "ld: warning: libgomp.so.1, needed by vendor/libggml.so, not found (try using -rpath)",
    "gpu-libraries-told-to-be-of-another-release": "potentially linking to incompatible ROCm libraries",
    "launcher-takes-cpu-torch": "INFO Torch: torch==2.8.0+cpu torchvision==0.23.0+cpu",
    "torch-hip-and-cuda-none": "torch.version.cuda None torch.version.hip None",
    "torch-hip-none-printed": "2.8.0+cpu HIP: None",
    "device-wheel-of-gfx-missing": "amd-torch-device-gfx1151 is not installed",
    "pip-torch-companion-requirement": "ERROR: torchvision 0.9.1 has requirement torch==1.8.1, but you'll have torch 1.9.0 which is incompatible.",
    "torchcodec-not-loaded": "RuntimeError: Could not load libtorchcodec. Likely causes: FFmpeg is not properly installed",
    "triton-of-another-torch": "ImportError: cannot import name 'triton_key' from 'triton.compiler.compiler'",
    "triton-missing-told": "ImportError: triton is not installed",
    "extension-undefined-symbol-in-its-module": "ImportError: exllamav2_ext.cpython-311-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda14ExchangeDeviceEa",
    "bitsandbytes-binary-of-rocm-missing": "Could not find the bitsandbytes ROCm binary at PosixPath('/home/USER/bitsandbytes/bitsandbytes/libbitsandbytes_rocm63.so')",
    "extension-wheel-named-for-other-torch": "flash_attn was built with torch 2.6.0 but torch 2.7.1 is installed: C++ ABI mismatch",
    "python-tag-of-wheel-told": "ERROR: Package 'torch' requires a different Python: 3.7.12 not in '>=3.8.0'",
    "conda-environment-told": "torch.cuda.is_available() False in the conda environment",
    "user-site-shadows-told": "transformers is loaded from /users/me/.local/lib/python3.12/site-packages",
    "user-site-of-windows-shadows-told": r"sys.path: C:\Users\a\AppData\Roaming\Python\Python312\site-packages before D:\ui\python_env\Lib",
    "user-site-in-conda-traceback": "/home/u/.local/lib/python3.12/site-packages/transformers/utils/versions.py",
    "numpy-major-told": "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.2.1",
    "path-told-to-hold-a-space": "moving the virtual environment to a directory without spaces in its name solves it",
    "environment-path-holds-a-space": "Location: /media/disk/My Projects/env/lib/python3.10/site-packages",
    "gpu-library-of-rocm-folder-undefined-symbol": "ImportError: /opt/rocm-7.2.0/lib/libMIOpen.so.1: undefined symbol: _ZN2ck16tensor_operation",
    "cuda-library-undefined-symbol-of-another": "ImportError: torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister",
    "gpu-library-in-two-places": "/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1 and /opt/rocm/lib/libhsa-runtime64.so.1 are both mapped",
    "wheel-libhsa-under-wsl": "torch/lib/libhsa-runtime64.so",
    "library-versions-differ-told": "RuntimeError: cuDNN version incompatibility: PyTorch was compiled against (8, 3, 2) but linked against (8, 0, 3)",
    "windows-cuda-library-not-located": "Could not load dynamic library 'cudnn64_8.dll'; dlerror: cudnn64_8.dll not found",
    "hsakmt-library-missing": "ImportError: libhsakmt.so.1: cannot open shared object file: No such file or directory",
    "some-system-library-missing": "ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
    "amdsmi-absent-told": "the image has no amdsmi",
    "amdsmi-import-told": "OSError: libamd_smi.so.26: cannot open shared object file: No such file or directory",
    "rocm-folder-file-missing": "FileNotFoundError: [Errno 2] No such file or directory: '/opt/rocm/bin/hipcc'",
    "rocm-home-variable-not-set": "OSError: ROCM_HOME environment variable is not set. Please set it to your ROCm install root.",
    "cxx-standard-header-missing": "error: no member named 'isnan' in namespace 'std'; cannot find C++ standard headers",
    "libstdcxx-dev-told-missing": "clang selects GCC installation: /usr/lib/gcc/x86_64-linux-gnu/12, /usr/include/c++/12 is missing",
    "nvcc-unknown-builtin-of-newer-gcc": '/usr/include/c++/14/... error: identifier "__Float32x4_t" undefined',
    "build-command-failed": "ninja: build stopped: subcommand failed.",
    "nvcc-and-torch-cuda-told-to-differ": "RuntimeError: Ninja is building with nvcc 13.0; error: torch was compiled with CUDA 12.8",
    "arch-not-known-to-library": "RuntimeError: One of GPU archs of ['gfx1151'] is invalid or not supported",
    "kernel-image-missing-in-source-of-library": "Error no kernel image is available for execution on the device at line 167 in file /src/csrc/ops.cu",
    "capability-below-library-minimum": "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
    "ollama-offloads-nothing": 'level=INFO source=ggml.go:494 msg="offloaded 0/35 layers to GPU"',
    "sgl-kernel-variant-missing": "- Expected variant: SM121",
    "gpu-work-goes-wrong": "Memory access fault by GPU node-1 (Agent handle: 0x55d) on address 0x7f0000000000. Reason: Unknown.",
    "another-version-works-told": "NCCL 2.28.9 works; 2.27.5 hangs",
    "kernel-library-api-differs": "module_rmsnorm.so: undefined symbol: _ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwd",
    "kernel-library-version-below-floor": "sgl-kernel is installed with version 0.1.4, which is less than the minimum required version 0.1.7",
    "tensorflow-imports-without-its-library": "_pywrap_tensorflow_internal.so: undefined symbol: _ZN8hip_impl19Bundled_code_header13magic_string_E",
    "library-of-tensorflow-missing": "librocm_smi64.so.6: cannot open shared object file: No such file or directory",
    "tensorflow-lists-no-gpu": "Num GPUs Available:  0",
    "jax-lists-cpu-only": "jax.devices() shows the CPU only",
    "jax-plugin-shown-in-error": "WARNING jax_plugins.xla_rocm10:__init__.py rocm_plugin_extension is not found.",
    "vllm-module-or-op-missing": "AttributeError: '_OpNamespace' '_C' object has no attribute 'rms_norm'",
    "vllm-cumem-symbol": "ImportError: undefined symbol: cuMemCreate in vllm/cumem_allocator.abi3.so",
    "vllm-libtorch-missing": "OSError: libtorch_cuda.so: cannot open shared object file: No such file or directory",
    "onnxruntime-uses-cpu": "Loadlibrary failed with error 126 when trying to load onnxruntime_providers_cuda.dll",
    "onnxruntime-wants-cuda-told": "onnxruntime could not load cuDNN 8",
    "tensorflow-wants-cuda-told": "tensorflow doesn't find CUDA 11.2",
    "extension-dll-of-any-name": "ImportError: DLL load failed while importing _fused: The specified procedure could not be found.",
    "extension-module-not-built": "ModuleNotFoundError: No module named 'fused_layer_norm_cuda'",
    "mangled-symbol-undefined": "libtriton_tensorrtllm_common.so: undefined symbol: _ZNK12tensorrt_llm8executor8Response11getErrorMsgB5cxx11Ev",
    "library-version-expected-other": "Error: expecting library version 9.2.0.5 got 9.3.0.1, please rebuild",
    "same-library-twice-on-a-line": "torch brings its own libamd_smi.so, amdsmi loads /opt/rocm/lib/libamd_smi.so",
    "arch-told-to-have-no-kernels": "FlashInfer kernels unavailable for ModelOptNvFp4FusedMoE on current platform",
    "nvidia-driver-asked-for-by-any-words": "No NVIDIA driver found on your system.",
    "python-releases-told": "RuntimeError: torch.compile is not supported on Python 3.14+",
    "rocm-library-there-with-other-soname": "/opt/rocm/lib contains only libroctx64.so.4",
    "ck-or-aiter-kernel-refuses": "RuntimeError: invalid gemm config for ck kernel; gemm_a8w8_blockscale is not tuned for this shape",
    "rocm-header-not-found": "fatal error: hip/hip_runtime.h: No such file or directory",
    "compiler-release-refused-told": "flash-attn does not compile with gcc 14",
    "compiler-taken-for-nvcc-told": "gcc14 is used as the CUDA host compiler",
    "library-update-broke-told": "the TF32 tests fail since the hipBLASLt update",
    "nvcc-of-another-major-than-torch-told": "nvcc is 11.4, torch 2.3.0+cu121",
    "rocm-home-printed-empty": "ROCM_HOME:'', type(ROCM_HOME): '<class 'str'>'",
    "torch-header-of-another-torch": "fatal error: THC/THC.h: No such file or directory",
    "name-of-torch-not-importable": "AttributeError: module 'torch' has no attribute 'float8_e4m3fn'",
}
NEAR = (
    ("arch-not-known-to-library", "hipBLASLt: unsupported architecture gfx1100, falling back to hipBLAS"),
    ("cmake-finds-no-cuda", "-- Could NOT find CUDNN (missing: CUDNN_LIBRARY_PATH)"),
    (
        "hopper-kernels-on-another-gpu",
        "CUDA error (/src/flash-attention/csrc/flash_fwd_launch_template.h:188): invalid argument",
    ),
    ("rocm-header-not-found", "/opt/rocm/include/hip/hip_runtime.h:66: note: included from here"),
    ("rocm-home-printed-empty", "ROCM_HOME='/opt/rocm'"),
    ("name-of-torch-not-importable", "ImportError: cannot import name 'AutoModel' from 'transformers'"),
    ("mangled-symbol-undefined", "libtorchvision.so: undefined symbol: _ZN3c10torchvision"),
    ("arch-told-to-have-no-kernels", "Found supported architectures: sm_90 sm_100"),
    ("same-library-twice-on-a-line", "libcudnn.so.9 => not found libcudnn.so.9"),
    ("rocm-library-there-with-other-soname", "ImportError: librocblas.so.4: cannot open shared object file"),
    ("environment-path-holds-a-space", "Location: /home/me/venv/lib/python3.12/site-packages"),
    ("environment-path-holds-a-space", "$ /opt/cuda/bin/nvcc -ccbin g++ -I/home/me/venv/include -c /home/me/kernel.cu"),
    ("conda-pytorch-cpu-build", "pytorch 2.1.2 py3.10_cuda12.1_cudnn8.9.2_0 pytorch"),
    ("tensorflow-lists-no-gpu", "Num GPUs Available:  2"),
    ("cxx-standard-header-missing", "fatal error: 'mylib/cmath_extra.h' file not found"),
    ("extension-broke-after-torch-changed", "xformers was installed after torch and works"),
    ("nvcc-older-than-its-options", "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'"),
    ("stubs-folder-on-the-path", "LIBRARY_PATH=/opt/cuda/lib64/stubs"),
    ("torch-header-of-another-torch", "fatal error: thrust.h: No such file or directory"),
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


def test_no_example_is_left_of_a_signature_that_is_gone() -> None:
    assert set(EXAMPLES) <= set(IDS)


@pytest.mark.parametrize(("key", "line"), NEAR)
def test_lines_that_are_near_are_not_taken_for_it(key: str, line: str) -> None:
    assert key in IDS
    assert key not in _found(line)


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


def test_a_library_without_cuda_is_no_module_that_was_not_built() -> None:
    line = "DNN module was not built with CUDA backend; switching to CPU"
    assert "module-not-rebuilt-told" not in _found(line)
    assert "module-not-rebuilt-told" in _found("the nvidia module was not built for the running kernel")


def test_an_engine_of_another_tensorrt_is_no_conflict_of_libraries() -> None:
    text = (
        "The engine plan file is not compatible with this version of TensorRT,"
        " expecting library version 9.2.0.5 got 9.1.0.4"
    )
    assert told(text) == ["extension-abi-mismatch"]
    assert told("cuDNN is compiled against version 9.1.0 but found 8.9.2") == ["gpu-libs-conflict"]


HSA = "/opt/rocm/lib/libhsa-runtime64.so.1"
BOUND = [
    f"docker run --device=/dev/dxg -v {HSA}:{HSA} rocm/pytorch",
    f"docker run --volume={HSA}:/usr/lib/libhsa-runtime64.so.1 rocm/pytorch",
    f"apptainer exec --bind {HSA}:/usr/lib/libhsa-runtime64.so.1 image.sif python3",
    f"docker run --mount type=bind,source={HSA},target=/usr/lib/libhsa-runtime64.so.1 rocm/pytorch",
    f"      - {HSA}:/usr/lib/libhsa-runtime64.so.1:ro",
]
TWICE = {"same-library-twice-on-a-line", "gpu-library-in-two-places"}


@pytest.mark.parametrize("line", BOUND)
def test_a_library_that_is_bound_into_a_container_is_one(line: str) -> None:
    assert not TWICE & keys(line)
    assert keys(f"{HSA} is loaded beside /usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1") >= TWICE
