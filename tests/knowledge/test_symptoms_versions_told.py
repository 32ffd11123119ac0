"""Two releases that do not fit, one that fails where another does not, and libraries that are told to be absent: what
people say of them, and what nearly reads so."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import told

NVIDIA = "\n\n$ nvidia-smi -L\nGPU 0: NVIDIA L4\n"
AMD = (
    "\n\n*******\nAgent 2\n*******\n  Name:            gfx1100\n"
    "  Vendor Name:             AMD\n  Device Type:             GPU\n"
)
CASES = [
    ("the server starts on the CPU: libhipblas.so.2 was not found" + AMD, "gpu-libs-not-found"),
    ("libcudnn_ops.so.9 could not be found" + NVIDIA, "gpu-libs-not-found"),
    ("CUDA unknown: libcudart not found in LD_LIBRARY_PATH" + NVIDIA, "gpu-libs-not-found"),
    ("ImportError of libcusparse\nunset LD_LIBRARY_PATH mends it" + NVIDIA, "gpu-libs-conflict"),
    ("taking /usr/local/cuda out of LD_LIBRARY_PATH cures the import" + NVIDIA, "gpu-libs-conflict"),
    ("it works with an empty LD_LIBRARY_PATH" + NVIDIA, "gpu-libs-conflict"),
    ("DLL load failed while importing libtriton: The specified module could not be found.", "triton-mismatch"),
    ("ImportError: libtriton.so: undefined symbol: _ZN4mlir7Dialect", "triton-mismatch"),
    ("torch 2.5.1 wants triton 3.1.0, triton 3.3.0 is installed", "triton-mismatch"),
    ("mmcv was compiled with torch 1.13; torch is 2.1 now, ImportError", "extension-abi-mismatch"),
    ("fused_adam was built for another torch: ImportError", "extension-abi-mismatch"),
    ("import spconv crashes since torch was updated", "extension-abi-mismatch"),
    ("after the torch upgrade import detectron2 fails", "extension-abi-mismatch"),
    ("conda list: pytorch-mutex 1.0 cpu" + NVIDIA, "torch-cpu-only-build"),
    ("cpuonly 2.0 0 pytorch" + NVIDIA, "torch-cpu-only-build"),
    ("jax 0.4.14: ptxas does not support CC 9.0" + NVIDIA, "jax-plugin-mismatch"),
    ("tensorflow: ptxas does not support CC 8.6" + NVIDIA, "tensorflow-gpu-mismatch"),
    ("the loss is NaN with cuDNN 9.8 and ok with 9.7" + NVIDIA, "known-bad-library-version"),
    ("wrong results with triton 3.2.0, right with 3.3.1" + NVIDIA, "known-bad-library-version"),
    ("NCCL 2.26.2 deadlocks, pip install nvidia-nccl-cu12==2.26.5 mends it" + NVIDIA, "known-bad-library-version"),
    ("MIOpen 3.3 gives NaN in conv2d, 3.2 does not" + AMD, "known-bad-library-version"),
    ("Target GPU SM 120 is not supported by this TensorRT release", "library-missing-gpu-arch"),
    ("NameError: name 'selective_scan_cuda' is not defined", "extension-abi-mismatch"),
    ("find: '/usr/local/lib/ollama': No such file or directory" + NVIDIA, "gpu-libs-not-found"),
    ('source=server.go:259 msg="compatible gpu libraries" compatible=[]' + NVIDIA, "gpu-libs-not-found"),
    ("ollama: no cuda_v11, no cuda_v12" + NVIDIA, "gpu-libs-not-found"),
    ("ollama-rocm is not installed; ollama uses the CPU" + AMD, "gpu-libs-not-found"),
    (
        "could not create miopen handle: miopenStatusUnknownError\nmiopen-opencl is installed" + AMD,
        "gpu-libs-conflict",
    ),
    ("Fatal Python error: Aborted\nMIOpen of rocm-4.0.x does not abort" + AMD, "known-bad-library-version"),
    ("installing the node forces a non-CUDA version of torch" + NVIDIA, "torch-cpu-only-build"),
    (
        "nvcc error   : 'cudafe++' died\nexport CUDAHOSTCXX=/usr/bin/g++-12 and the extension compiles",
        "host-compiler-unsupported",
    ),
    ("gcc 14 with CUDA 12.1: the compile fails in <type_traits>", "host-compiler-unsupported"),
    ("error:  STL1002: Unexpected compiler version, expected CUDA 12.4 or newer.", "host-compiler-unsupported"),
    ("CUDA_HOME=/usr/local/cuda-11.7, torch cu121: apex fails to build", "toolkit-torch-mismatch"),
    (
        "OS: Windows 11\nPlatform: Windows-10-10.0.22631\nthe update replaced torch 2.6.0+cu126 by torch 2.7.1"
        + NVIDIA,
        "torch-cpu-only-build",
    ),
    ("Installation replaces the ROCm wheels with CUDA ones" + AMD, "torch-built-for-other-vendor"),
    (
        "ImportError: vllm/_C.abi3.so: undefined symbol: cuX\nvllm was built for CUDA 12.1, the host has 11.8",
        "vllm-build-mismatch",
    ),
    ("jax-cuda12-plugin 0.4.35 and jax 0.4.38: it is skipped", "jax-plugin-mismatch"),
    ("libonnxruntime_providers_rocm.so: libhipblas.so.2 not found" + AMD, "onnxruntime-gpu-mismatch"),
    ("MIOPEN_DEBUG_CONV_WINOGRAD=0 gives right results" + AMD, "known-bad-library-version"),
    ("pip install nvidia-nccl-cu12==2.26.5 makes the hang go away", "known-bad-library-version"),
    ("ImportError: amdsmi: undefined symbol: amdsmi_get_gpu_reg_table_info" + AMD, "amdsmi-mismatch"),
    ("/opt/rocm is a dangling link" + AMD, "rocm-path-broken"),
    ("torch==1.7.1 cannot be found for Python 3.11", "python-version-unsupported"),
    ("numpy of ~/.local is taken in the image instead of the image's", "python-user-site-leak"),
    ("CTranslate2 has no build for cuDNN 9; torch 2.4 brings cuDNN 9; it fails", "gpu-libs-conflict"),
    ("torch requires cuDNN 9, ctranslate2 4.4.0 is only compatible with cuDNN 8", "gpu-libs-conflict"),
    ("jax wants cuDNN 9 but the module has cuDNN 8", "gpu-libs-conflict"),
    ("gcc: error: spaces: No such file or directory", "install-path-has-space"),
    ("libbitsandbytes_rocm63.so: undefined symbol: _Z36__device_stub__kOptimizer32", "known-bad-library-version"),
    ("every op fails; the wheel stops at sm_90, the board is a B200", "torch-missing-gpu-arch"),
    ("the extension carries sm_70 only (cuobjdump), the card is sm_86", "library-missing-gpu-arch"),
    ("llama.cpp was built with AMDGPU_TARGETS=gfx1030, it aborts on gfx1100" + AMD, "library-missing-gpu-arch"),
    ("_GLIBCXX_USE_CXX11_ABI=0 in torch, the extension has 1; undefined symbol", "extension-abi-mismatch"),
    ("torch_sparse wheel for pt21cu118 with torch 2.2.0 segfaults on import", "extension-abi-mismatch"),
    ("error while loading shared libraries: libhipblas.so.2" + AMD, "gpu-libs-not-found"),
    ('[WinError 126] Error loading "C:\\torch\\lib\\c10_hip.dll"', "gpu-libs-not-found"),
    ("onnxruntime-gpu is for CUDA 11.8, CUDA 12.2 is on the host: it fails" + NVIDIA, "onnxruntime-gpu-mismatch"),
    ("TensorFlow 2.10 is the last with GPU on native Windows; 2.15 sees none", "tensorflow-gpu-mismatch"),
    ("torch.from_numpy fails since numpy went to 2.0", "numpy-abi-mismatch"),
    (
        "fbgemm_gpu: no kernel image is available for execution on the device; torch alone works" + NVIDIA,
        "library-missing-gpu-arch",
    ),
    (
        "UnboundLocalError: local variable 'exllamav2_ext' referenced before assignment",
        "extension-abi-mismatch",
    ),
    ("Applied providers: ['CPUExecutionProvider'], with options: {}" + NVIDIA, "onnxruntime-gpu-mismatch"),
    ("nvcc is release 11.5, torch is cu121\nerror: command 'nvcc' failed" + NVIDIA, "toolkit-torch-mismatch"),
    ("uv run python app.py: Uninstalled 3 packages\nthe GPU is not recognised" + NVIDIA, "torch-cpu-only-build"),
    ("[cudnn init] libcudnn v7 with header v8 unmatched!", "gpu-libs-conflict"),
    (
        "RuntimeError: Triton >= 3.4.0 on Hopper GPUs produces incorrect results for gated chunks",
        "known-bad-library-version",
    ),
    ("assertion: cuDNN 9.5.0 is known to corrupt this convolution", "known-bad-library-version"),
    ("RuntimeError: load requires ffmpeg extension which is not available.", "system-library-missing"),
    ("ls lib/ollama/cuda_v11: libggml-cuda.so\nno libcublas there", "gpu-libs-not-found"),
    (
        "vllm serve: TypeError: 'NoneType' object is not callable\npip show flashinfer: not found" + NVIDIA,
        "companion-kernel-lib-outdated",
    ),
    ("torch loads libcudnn.so.8 and /opt/cuda/lib64/libcudnn.so.9", "gpu-libs-conflict"),
    ("torch was built for ROCm 5.7 while ROCm 6.2 is on the host; it segfaults" + AMD, "torch-rocm-version-mismatch"),
    (
        "ROCm was upgraded from 6.1 to 6.3, torch is still +rocm6.1\nSegmentation fault" + AMD,
        "torch-rocm-version-mismatch",
    ),
    ("AttributeError: 'DeepSpeedCPUAdagrad' object has no attribute 'ds_opt_adagrad'", "toolkit-torch-mismatch"),
    ('CompileException: cuda_fp16.hpp(2514): error: identifier "__nv_atomic_load_n" is undefined', "gpu-libs-conflict"),
    ('nvrtc: cuda_fp8.h: incomplete type "__nv_fp8_e8m0" is not allowed', "gpu-libs-conflict"),
    ("libops.so: undefined symbol: _ZNSt10filesystem7__cxx114path14_M_split_cmptsEv", "host-compiler-unsupported"),
    ("torch.cuda.get_arch_list() lacks sm_120" + NVIDIA, "torch-missing-gpu-arch"),
    ("the torch wheel knows gfx90a gfx942, the card is gfx1100" + AMD, "torch-missing-gpu-arch"),
    ("torch 1.10 on a newer card: no kernel image" + NVIDIA, "torch-missing-gpu-arch"),
    ("Failed to load libcublasLt.so.12: dlopen error" + NVIDIA, "gpu-libs-not-found"),
    ("libcuda.so.1 is there, libcudart.so.12 is not" + NVIDIA, "gpu-libs-not-found"),
    ("ImportError: cannot import name 'sageattn_varlen' from 'sageattention'", "companion-kernel-lib-outdated"),
    ("you need flash_attn package version to be greater or equal than 2.1.0", "companion-kernel-lib-outdated"),
    (
        "ImportError: Could not find 'cudnn64_7.dll'. TensorFlow requires that this DLL be installed",
        "gpu-libs-not-found",
    ),
    ("ImportError: numpy.core.umath failed to import", "numpy-abi-mismatch"),
    ("rocblas_abort: no TensileLibrary for gfx1100 in the wheel" + AMD, "blas-kernels-missing"),
    (
        "jaxlib: ptxas exited with non-zero error code 65280, output: ptxas fatal : Unsupported gpu architecture",
        "jax-plugin-mismatch",
    ),
]
NEARLY = [
    ("TensorFlow 2.10 is the last on native Windows, as documented" + NVIDIA, "tensorflow-gpu-mismatch"),
    ("level=INFO msg=libcublas.so not found, CPU build" + NVIDIA, "gpu-libs-not-found"),
    ("libcublas.so not found here. Searching in backup paths..." + NVIDIA, "gpu-libs-not-found"),
    ("a bug was not found in libcudnn" + NVIDIA, "gpu-libs-not-found"),
    ("LD_LIBRARY_PATH is unset, all works" + NVIDIA, "gpu-libs-conflict"),
    ("import libtriton takes two seconds", "triton-mismatch"),
    ("torch 2.5.1 wants triton 3.1.0, triton 3.1.0 is installed", "triton-mismatch"),
    ("mmcv was compiled with torch 2.1; torch is 2.1 now", "extension-abi-mismatch"),
    ("mmcv was compiled with torch 1.13; torch is 1.13 now", "extension-abi-mismatch"),
    ("import spconv takes longer since the kernel update", "extension-abi-mismatch"),
    ("conda list: pytorch-mutex 1.0 cuda" + NVIDIA, "torch-cpu-only-build"),
    ("cuDNN 9.8 and cuDNN 9.7 are both fine" + NVIDIA, "known-bad-library-version"),
    ("the run crashed; cuDNN 9.7 is installed, NCCL 2.21 as well" + NVIDIA, "known-bad-library-version"),
    ("NameError: name 'model_path' is not defined", "extension-abi-mismatch"),
    ("ls /usr/local/lib/ollama: cuda_v12 libggml-base.so" + NVIDIA, "gpu-libs-not-found"),
    ('source=server.go:259 msg="compatible gpu libraries" compatible=[cuda_v12]' + NVIDIA, "gpu-libs-not-found"),
    ("ollama-rocm is installed" + AMD, "gpu-libs-not-found"),
    ("miopen-opencl is removed; Segmentation fault" + AMD, "gpu-libs-conflict"),
    ("NCCL of CUDA 12.4 does not show its version" + NVIDIA, "known-bad-library-version"),
    ("Please document CUDAHOSTCXX=g++-12", "host-compiler-unsupported"),
    ("gcc 13 with CUDA 12.4 is fine", "host-compiler-unsupported"),
    ("CUDA_HOME=/usr/local/cuda-12.1, torch cu121: apex fails to build", "toolkit-torch-mismatch"),
    ("torch 2.6.0+cu126 was upgraded to 2.7.1+cu126" + NVIDIA, "torch-cpu-only-build"),
    ("docs: ROCm wheels and CUDA wheels" + AMD, "torch-built-for-other-vendor"),
    ("vllm was built for CUDA 12.8, the host has 12.9", "vllm-build-mismatch"),
    ("jax-cuda12-plugin 0.4.38 and jax 0.4.38" + NVIDIA, "jax-plugin-mismatch"),
    ("MIOPEN_DEBUG_FIND_ONLY_SOLVER=1 prints more, results are right" + AMD, "known-bad-library-version"),
    ("/opt/rocm is a link to /opt/rocm-6.4.1" + AMD, "rocm-path-broken"),
    ("torch needs cuDNN 9 and the image has cuDNN 9", "gpu-libs-conflict"),
    ("gcc: error: src/main.c: No such file or directory", "install-path-has-space"),
    ("libfoo.so: undefined symbol: device_stub", "known-bad-library-version"),
    ("the torch wheel stops at sm_90, the GPU is an H100, all is fine" + NVIDIA, "torch-missing-gpu-arch"),
    ("the extension carries sm_86 only, the card is sm_86", "library-missing-gpu-arch"),
    ("llama.cpp was built with AMDGPU_TARGETS=gfx1100, it aborts on gfx1100" + AMD, "library-missing-gpu-arch"),
    ("_GLIBCXX_USE_CXX11_ABI=1 in torch, the extension has 1", "extension-abi-mismatch"),
    ("torch_sparse wheel for pt21cu118 with torch 2.1.0", "extension-abi-mismatch"),
    ("error while loading shared libraries: libfoo.so.2", "gpu-libs-not-found"),
    ("onnxruntime-gpu is for CUDA 12.1, CUDA 12.2 is on the host" + NVIDIA, "onnxruntime-gpu-mismatch"),
    ("TensorFlow 2.10 runs on Windows 11", "tensorflow-gpu-mismatch"),
    ("torch works with numpy 2.0", "numpy-abi-mismatch"),
    (
        "UnboundLocalError: local variable 'file_path' referenced before assignment",
        "extension-abi-mismatch",
    ),
    ("Applied providers: ['CUDAExecutionProvider', 'CPUExecutionProvider']" + NVIDIA, "onnxruntime-gpu-mismatch"),
    ("nvcc is release 12.1, torch is cu121\nerror: command 'nvcc' failed" + NVIDIA, "toolkit-torch-mismatch"),
    ("uv run python app.py: Uninstalled 3 packages" + NVIDIA, "torch-cpu-only-build"),
    ("libcudnn v8 is used", "gpu-libs-conflict"),
    ("Triton 3.4.0 on Hopper GPUs produces faster kernels", "known-bad-library-version"),
    ("no libcublas calls are made", "gpu-libs-not-found"),
    ("TypeError: 'NoneType' object is not callable" + NVIDIA, "companion-kernel-lib-outdated"),
    ("ls cuda_v12: libcublas.so.12 libcublas.so.12.8.4.1 libcudart.so.12", "gpu-libs-conflict"),
    ("libcudart.so.12 -> libcudart.so.12.8.90 libcublas.so libcublas.so.12", "gpu-libs-conflict"),
    ("torch was built for ROCm 6.2 while ROCm 6.2 is on the host; it segfaults" + AMD, "torch-rocm-version-mismatch"),
    ("torch was built for ROCm 5.7 while ROCm 6.2 is on the host" + AMD, "torch-rocm-version-mismatch"),
    ("AttributeError: 'DeepSpeedEngine' object has no attribute 'model'", "toolkit-torch-mismatch"),
    ('app.cu(9): error: identifier "foo" is undefined', "gpu-libs-conflict"),
    ("undefined symbol: _ZNSt6vectorIiE", "host-compiler-unsupported"),
    ("torch.cuda.get_arch_list() has sm_89" + NVIDIA, "torch-missing-gpu-arch"),
    ("torch 2.7 is fine: no kernel images are rebuilt" + NVIDIA, "torch-missing-gpu-arch"),
    ("level=DEBUG msg=failed to load libcublas.so.11" + NVIDIA, "gpu-libs-not-found"),
    ("ImportError: cannot import name 'Trainer' from 'transformers'", "companion-kernel-lib-outdated"),
    ("flash_attn version is 2.7.4" + NVIDIA, "companion-kernel-lib-outdated"),
    ("Could not find 'model.bin'", "gpu-libs-not-found"),
    ("there is a TensileLibrary for gfx1100" + AMD, "blas-kernels-missing"),
    ("jax 0.4.14: ptxas too old. Falling back to the driver to compile." + NVIDIA, "jax-plugin-mismatch"),
    ("release notes: fixed wrong results with triton 3.2.0, fine with 3.3.1", "known-bad-library-version"),
    ("a warning: NCCL 2.18.1 is known to log more" + NVIDIA, "known-bad-library-version"),
]


@pytest.mark.parametrize(("text", "rule"), CASES)
def test_the_text_names_its_cause(text: str, rule: str) -> None:
    assert rule in told(text)


@pytest.mark.parametrize(("text", "rule"), NEARLY)
def test_what_nearly_reads_so_does_not(text: str, rule: str) -> None:
    assert rule not in told(text)


def test_a_libtriton_that_does_not_load_accuses_no_other_extension() -> None:
    text = "DLL load failed while importing libtriton: A dynamic link library (DLL) initialization routine failed."
    assert told(text)[0] == "triton-mismatch"
