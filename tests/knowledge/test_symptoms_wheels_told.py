"""Programs with GPU code of their own and packages beside torch whose parts do not fit: what they print, what people
say of it, and what nearly reads so."""

from __future__ import annotations

from tests.knowledge.texts import names, names_not, raised, told

NVIDIA = "\n\n$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 5070\n"
AMD = (
    "\n\n*******\nAgent 2\n*******\n  Name:            gfx1031\n"
    "  Vendor Name:             AMD\n  Device Type:             GPU\n"
)
OF_PTX = "fatal : Unsupported .version 8.6; current version is '8.3'"
CPU_BNB = "The installed version of bitsandbytes was compiled without GPU support.\n"
NO_KERNEL = "no kernel image is available for execution on the device"
PIP = "\n\n$ pip list\nPackage    Version\n---------- -------\n"
NO_ARCH = "nvrtc: error: invalid value for --gpu-architecture (-arch)\n"
NO_SM = "'sm_120' is not a recognized processor for this target (ignoring processor)\n"
OLD_PTX = "the provided PTX was compiled with an unsupported toolchain\n"
CASES = [
    (NO_ARCH + "torch 2.6.0+cu126" + NVIDIA, "torch-missing-gpu-arch"),
    (NO_ARCH + 'File "torch/nn/functional.py"' + NVIDIA, "torch-missing-gpu-arch"),
    ("cupy.cuda.compiler.CompileException: " + NO_ARCH + NVIDIA, "library-missing-gpu-arch"),
    (NO_ARCH + "warp 1.5" + NVIDIA, "library-missing-gpu-arch"),
    (NO_SM + "torch.compile(model)" + NVIDIA, "triton-mismatch"),
    (NO_SM.replace("120", "100a") + "triton 3.1.0", "triton-mismatch"),
    ("LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.shfl.sync.bfly.i32\nvllm 0.6", "triton-mismatch"),
    (NO_SM + "jaxlib 0.4.30", "library-missing-gpu-arch"),
    (OLD_PTX + "the package ships PTX compiled with CUDA 12.9", "library-missing-gpu-arch"),
    (OLD_PTX + "the wheel has only PTX, no cubin", "library-missing-gpu-arch"),
    (f"GPU #1: CUDA error 209 - {NO_KERNEL}{NVIDIA}", "library-missing-gpu-arch"),
    (f"solver.cpp(88): cuModuleLoadData failed: {NO_KERNEL} (209){NVIDIA}", "library-missing-gpu-arch"),
    (f"GPUassert: {NO_KERNEL} sim.cu 51{NVIDIA}", "library-missing-gpu-arch"),
    (f"the ethminer stops: {NO_KERNEL}{NVIDIA}", "library-missing-gpu-arch"),
    ("Couldn't open CUDA library libcufft.so. LD_LIBRARY_PATH: /usr/local/cuda/lib64", "gpu-libs-not-found"),
    ("cuda_blas.cc:2293] Unable to load cuBLAS DSO.", "gpu-libs-not-found"),
    (CPU_BNB + "CUDA SETUP: CUDA runtime path not found", "gpu-libs-not-found"),
    (CPU_BNB + "/opt/env did not contain ['libcudart.so', 'libcudart.so.11.0'] as expected!", "gpu-libs-not-found"),
    (CPU_BNB + "libcudart.so is not there, libcudart.so.12 is", "gpu-libs-not-found"),
    ("AttributeError: 'NoneType' object has no attribute 'cadam32bit_grad_fp32'", "extension-abi-mismatch"),
    ("Method 'cgemm_4bit_inference' not available in CPU-only version of bitsandbytes.", "extension-abi-mismatch"),
    (
        "Failed to load image Python extension: libtorch_cuda_cpp.so: cannot open shared object file",
        "torch-companion-mismatch",
    ),
    (
        "PTXASError: Internal Triton PTX codegen error\nptxas /tmp/t.ptx, line 5; " + OF_PTX,
        "triton-mismatch",
    ),
    ("Could not run 'mmcv::nms_forward' with arguments from the 'CUDA' backend.", "extension-abi-mismatch"),
    ("flashinfer-python 0.2.3 is older than 0.2.8, which the server asks for", "companion-kernel-lib-outdated"),
    (
        "Exception: deep_gemm is installed with version 1.0.0, which is less than the minimum required version 2.0.0.",
        "companion-kernel-lib-outdated",
    ),
    ("conda list: pytorch 2.4.1 cpu_generic_py311h2b9" + NVIDIA, "torch-cpu-only-build"),
    ("libtorch=2.5.1=cpu_mkl_h7" + NVIDIA, "torch-cpu-only-build"),
    ("uv lock: torch resolves to the CPU wheel" + NVIDIA, "torch-cpu-only-build"),
    ("the updater installed the CPU builds of torch in their place" + NVIDIA, "torch-cpu-only-build"),
    ("hipblasLtCreate aborts: no code objects in libhipblaslt.so.0 for this card" + AMD, "hipblaslt-unsupported-arch"),
    ("hipBLASLt is not built for gfx1031" + AMD, "hipblaslt-unsupported-arch"),
    ("ls rocblas/library: not one file of gfx1031" + AMD, "blas-kernels-missing"),
    ("ROCM_PATH=/opt/rocm-6.0.0 but only /opt/rocm-6.3.1 is there" + AMD, "rocm-path-broken"),
    ("HIP_PATH is /opt/rocm/hip, which does not exist" + AMD, "rocm-path-broken"),
    ("import jax, then import torch: SIGSEGV; each alone is fine" + NVIDIA, "gpu-libs-conflict"),
    ("numpy is imported from /home/lee/.local/lib/python3.11 inside the image", "python-user-site-leak"),
    ("ImportError at import torch\nworks with PYTHONNOUSERSITE=1", "python-user-site-leak"),
    ("NCCL 2.18.5 from the module, torch was built with 2.21.5", "gpu-libs-conflict"),
    (
        "TypeError: JITFunction.__init__() got an unexpected keyword argument 'do_not_specialize_on_alignment'",
        "triton-mismatch",
    ),
    ("AttributeError: 'KernelMetadata' object has no attribute 'num_ctas'", "triton-mismatch"),
    ("torch.compile fails\npip holds pytorch-triton-rocm 3.2.0 and triton 3.2.0" + AMD, "triton-mismatch"),
    ("AttributeError: module 'jaxlib.xla_client' has no attribute 'Shape'", "jax-plugin-mismatch"),
    ("ImportError: cannot import name 'xla_extension' from 'jaxlib'", "jax-plugin-mismatch"),
]
NEARLY = [
    (NO_SM + "jaxlib 0.4.30", "triton-mismatch"),
    (NO_ARCH + "cupy 13.3" + NVIDIA, "torch-missing-gpu-arch"),
    (OLD_PTX + "nvidia-smi: CUDA Version 12.2", "library-missing-gpu-arch"),
    (f"RuntimeError: CUDA error: {NO_KERNEL}{NVIDIA}", "library-missing-gpu-arch"),
    (f"CUDA error 209 - {NO_KERNEL}{NVIDIA}{PIP}torch 2.5.1+cu124\n", "library-missing-gpu-arch"),
    ("Couldn't open CUDA library libcupti.so.8.0. LD_LIBRARY_PATH:", "gpu-libs-not-found"),
    ("did not contain ['libcudart.so'] as expected! Searching further paths...", "gpu-libs-not-found"),
    (CPU_BNB + "found libcudart.so.12 in /usr/local/cuda/lib64", "gpu-libs-not-found"),
    ("AttributeError: 'NoneType' object has no attribute 'config'", "extension-abi-mismatch"),
    (
        "Failed to load image Python extension: If you don't plan on using image functionality, ignore this warning.",
        "torch-companion-mismatch",
    ),
    (
        "ptxas application ptx input, line 9; fatal : Unsupported .version 8.5; current version is '8.2'",
        "triton-mismatch",
    ),
    ("Could not run 'aten::empty_strided' with arguments from the 'CUDA' backend.", "extension-abi-mismatch"),
    ("flashinfer-python 0.2.8 is installed, xformers 0.0.31 as well", "companion-kernel-lib-outdated"),
    ("conda list: pytorch 2.4.1 cpu_generic_py311h2b9", "torch-cpu-only-build"),
    ("docs: torch resolves to the CPU wheel on macOS", "torch-cpu-only-build"),
    ("the CPU build is slower than the GPU build of the same solver" + NVIDIA, "torch-cpu-only-build"),
    ("hipBLASLt is used, no errors" + AMD, "hipblaslt-unsupported-arch"),
    ("no kernels are cached yet for hipblaslt" + NVIDIA, "hipblaslt-unsupported-arch"),
    ("rocblas/library holds gfx1031" + AMD, "blas-kernels-missing"),
    ("ROCM_PATH=/opt/rocm-6.3.1, and /opt/rocm-6.3.1 exists" + AMD, "rocm-path-broken"),
    ("import torch takes 12 s, import jax 3 s" + NVIDIA, "gpu-libs-conflict"),
    ("numpy is imported from /opt/venv/lib/python3.11 inside the image", "python-user-site-leak"),
    ("NCCL 2.21.5 from the wheel, torch 2.5.1", "gpu-libs-conflict"),
    ("TypeError: Trainer.__init__() got an unexpected keyword argument 'tokenizer'", "triton-mismatch"),
    ("pip holds pytorch-triton-rocm 3.2.0 and triton 3.2.0" + AMD, "triton-mismatch"),
    ("AttributeError: module 'jax' has no attribute 'tree_map'", "jax-plugin-mismatch"),
]


test_the_text_names_its_cause = names(CASES)
test_what_nearly_reads_so_does_not = names_not(NEARLY)


def test_a_ptxas_that_triton_calls_accuses_no_driver() -> None:
    assert "nvidia-driver-too-old" not in told(f"`ptxas` stderr: {OF_PTX}\nPTXASError")


def test_a_library_of_torch_that_torchvision_misses_is_told_of_torchvision_first() -> None:
    text = "Failed to load image Python extension: libtorch_cuda_cu.so: cannot open shared object file"
    assert told(text)[0] == "torch-companion-mismatch"


def test_an_index_without_pip_has_nothing_for_any_python() -> None:
    """Not what the words of such a text are taken for: no build for this Python."""
    text = (
        "Using pip 25.1.1 from /tmp/pip.zip/pip (python 3.12)\nLooking in indexes: https://wheels.example.org/cu129\n"
        "ERROR: Could not find a version that satisfies the requirement {0} (from versions: none)\n"
        "ERROR: No matching distribution found for {0}\n"
    )
    assert "python-version-unsupported" not in raised(text.format("pip"))
    assert "python-version-unsupported" in raised(text.format("torch==2.1.0"))


APEX = (
    "RuntimeError: Cuda extensions are being compiled with a version of Cuda that does not match the version used to "
)
APEX += "compile Pytorch binaries.  Pytorch binaries were compiled with Cuda {0}.\n"
WIN127 = 'OSError: [WinError 127] {0}. Error loading "C:\\venv\\Lib\\site-packages\\{1}" or one of its dependencies.'
NO_NCCL = "RuntimeError: Distributed package doesn't have NCCL built in\n"
ASSERTED = "AssertionError: Torch not compiled with CUDA enabled"
INVALID = "CUDA error: invalid device function\n"
FITS = [
    ("NVIDIA GeForce RTX 5070 (sm_120) is not supported by this PyTorch build", "torch-missing-gpu-arch"),
    ("this PyTorch build does not include sm_120" + NVIDIA, "torch-missing-gpu-arch"),
    ("the installed torch wheel has no kernels for gfx1103", "torch-missing-gpu-arch"),
    (APEX.format("None"), "torch-cpu-only-build"),
    (APEX.format("None") + f"{PIP}torch from https://rocm.nightlies.amd.com/v2/gfx94X-dcgpu\n", "torch-cpu-only-build"),
    (f"{NO_NCCL}CPU: aarch64\n{PIP}torch from https://download.pytorch.org/whl/cu118\n", "torch-cpu-only-build"),
    (f"{NO_NCCL}GPU 0: GH200\n{PIP}torch from https://download.pytorch.org/whl/cu118\n", "torch-cpu-only-build"),
    (f"{ASSERTED}{NVIDIA}{PIP}torch from https://download.pytorch.org/whl/cu121\n", "torch-cpu-only-build"),
    (f"{ASSERTED}{AMD}{PIP}torch from https://download.pytorch.org/whl/rocm6.2\n", "torch-cpu-only-build"),
    (INVALID + "CMAKE_CUDA_ARCHITECTURES is set to 89", "library-missing-gpu-arch"),
    (f"{NO_KERNEL}\nnvcc -gencode arch=compute_52,code=sm_52", "library-missing-gpu-arch"),
    ("HIP error: invalid device function\nAMDGPU_TARGETS=gfx1030", "library-missing-gpu-arch"),
    (f"the demo ends: {NO_KERNEL}\nCUDA_ARCH_BIN is 5.0 5.2", "library-missing-gpu-arch"),
    (f"{NO_KERNEL}\nturbomind 0.6" + NVIDIA, "library-missing-gpu-arch"),
    (f"[TRT] Error Code 1: Cuda Runtime ({NO_KERNEL})", "library-missing-gpu-arch"),
    ("RuntimeError: CUDA error: an illegal instruction was encountered\nGPU 0: RTX 5090", "library-missing-gpu-arch"),
    ("the release binary has no code for compute capability 6.1" + NVIDIA, "library-missing-gpu-arch"),
    ("setup left CPU torch in place" + NVIDIA, "torch-cpu-only-build"),
    ("the updater falls back to the CPU build of torch" + NVIDIA, "torch-cpu-only-build"),
    ("CPU torch was restored" + NVIDIA, "torch-cpu-only-build"),
    ("the image installs torch from the CPU index" + NVIDIA, "torch-cpu-only-build"),
    ("uv.lock resolves torch to the CPU wheel" + NVIDIA, "torch-cpu-only-build"),
    ("a plugin's requirements replaced the ROCm torch by the one of PyPI" + AMD, "torch-built-for-other-vendor"),
    ("ROCm PyTorch is overwritten by the launcher" + AMD, "torch-built-for-other-vendor"),
    ("the installer picks ROCm wheels" + NVIDIA, "torch-built-for-other-vendor"),
    ("torch.version.hip is None\ntorch.version.cuda is 12.4" + AMD, "torch-built-for-other-vendor"),
    ("torch.version.cuda: None, torch.version.hip: 6.1.40091" + NVIDIA, "torch-built-for-other-vendor"),
    (
        "import torch ends in a segmentation fault\nthe torch wheel is for ROCm 6.2, the host has ROCm 7.1",
        "torch-rocm-version-mismatch",
    ),
    ("rocprofiler-sdk is loaded and initialized twice" + AMD, "gpu-libs-conflict"),
    ("cuDNN is loaded twice, from the wheel and from /usr/lib", "gpu-libs-conflict"),
    ("there are two copies of NCCL in one process\nncclInvalidArgument", "gpu-libs-conflict"),
    ("paddle and torch load different cuDNN versions in one process", "gpu-libs-conflict"),
    ("the wheel's libamdhip64.so and /opt/rocm's are both mapped" + AMD, "gpu-libs-conflict"),
    (
        WIN127.format("The specified procedure could not be found", "torch\\lib\\cudnn_cnn64_9.dll"),
        "gpu-libs-conflict",
    ),
    (
        WIN127.format("Die angegebene Prozedur wurde nicht gefunden", "torch\\lib\\cublas64_12.dll"),
        "gpu-libs-conflict",
    ),
    (
        WIN127.format("The specified procedure could not be found", "torchaudio\\lib\\_torchaudio.pyd"),
        "torch-companion-mismatch",
    ),
    (
        WIN127.format("The specified procedure could not be found", "torch_scatter\\_scatter_cuda.pyd"),
        "extension-abi-mismatch",
    ),
    ("CUBLAS_STATUS_NOT_SUPPORTED\nLD_LIBRARY_PATH points to the CUDA 11 toolkit" + NVIDIA, "gpu-libs-conflict"),
    ("Segmentation fault\ntensorflow is imported before torch", "gpu-libs-conflict"),
    ("Segmentation fault at import torchtext", "torch-companion-mismatch"),
    ("torchvision import crashes", "torch-companion-mismatch"),
    ("torchaudio does not load\ntorchvision and torchaudio are unpinned", "torch-companion-mismatch"),
    ("Segmentation fault\ntorchaudio has no version in requirements.txt", "torch-companion-mismatch"),
    (
        "ImportError: triton/backends/amd: libamdhip64.so.6: cannot open shared object file: No such file or directory",
        "triton-mismatch",
    ),
    ("undefined symbol in pointops since the torch upgrade", "extension-abi-mismatch"),
    ("No module named 'transformer_engine_torch'", "extension-abi-mismatch"),
    ("No module named 'awq_inference_engine'", "extension-abi-mismatch"),
    ("TypeError: JITFunction.run() got an unexpected keyword argument 'warmup'", "triton-mismatch"),
    (
        "Python version: 3.8.10\nTypeError: unsupported operand type(s) for |: 'type' and 'NoneType'",
        "python-version-unsupported",
    ),
    ("the install fails\nImportError: none\nno wheel of flash-attn for cp313", "python-version-unsupported"),
    ("Python version: 3.11\ntensorrt wheels end at Python 3.10", "python-version-unsupported"),
]
NEARLY_FITS = [
    ("flash-attn (torch extension) has no kernels for sm_75" + NVIDIA, "torch-missing-gpu-arch"),
    (APEX.format("11.8"), "torch-cpu-only-build"),
    (APEX.format("None"), "toolkit-torch-mismatch"),
    (f"{ASSERTED}{NVIDIA}{PIP}torch 2.4.0+cu121\n", "torch-cpu-only-build"),
    (f"{NO_NCCL}CPU: aarch64\n{PIP}torch 2.6.0+cu126\n", "torch-cpu-only-build"),
    (INVALID + "CMAKE_CUDA_ARCHITECTURES is set to 89", "torch-missing-gpu-arch"),
    (f"{INVALID}{NVIDIA}{PIP}torch 2.4.0+cu121\nCMAKE_CUDA_ARCHITECTURES is set to 89", "library-missing-gpu-arch"),
    ("RuntimeError: CUDA error: an illegal instruction was encountered\nGPU 0: RTX 3090", "library-missing-gpu-arch"),
    ("the CPU build of the solver is kept" + NVIDIA, "torch-cpu-only-build"),
    (f"CPU torch was restored{NVIDIA}{PIP}torch 2.5.1+cu124\n", "torch-cpu-only-build"),
    ("docs: install torch from the CPU index on small machines" + NVIDIA, "torch-cpu-only-build"),
    ("the test image installs torch from the CPU index on purpose" + NVIDIA, "torch-cpu-only-build"),
    ("the ROCm torch wheel was replaced by that of ROCm 6.4" + NVIDIA, "torch-built-for-other-vendor"),
    ("the installer picks ROCm wheels" + AMD, "torch-built-for-other-vendor"),
    ("    if torch.version.hip is None:" + AMD, "torch-built-for-other-vendor"),
    ("torch.version.cuda should be 12.4" + AMD, "torch-built-for-other-vendor"),
    (
        "import torch ends in a segmentation fault\nthe torch wheel is for ROCm 6.2, the host has ROCm 6.2.4",
        "torch-rocm-version-mismatch",
    ),
    ("the model is loaded twice, the GPU runs out of memory" + NVIDIA, "gpu-libs-conflict"),
    (
        'OSError: [WinError 126] Module not found. Error loading "C:\\torch\\lib\\cudnn_cnn64_9.dll"',
        "gpu-libs-conflict",
    ),
    ("LD_LIBRARY_PATH points to the CUDA 12 toolkit, all is well" + NVIDIA, "gpu-libs-conflict"),
    ("torchaudio: no backend, ffmpeg is missing, torchaudio import crashes", "torch-companion-mismatch"),
    ("torchvision and torchaudio are unpinned in the example", "torch-companion-mismatch"),
    ("ImportError: libamdhip64.so.6: cannot open shared object file: No such file or directory", "triton-mismatch"),
    ("undefined symbol in libfoo after the compiler update", "extension-abi-mismatch"),
    ("TypeError: Trainer.run() got an unexpected keyword argument 'warmup'", "triton-mismatch"),
    (
        "Python version: 3.12.3\nTypeError: unsupported operand type(s) for |: 'type' and 'NoneType'",
        "python-version-unsupported",
    ),
    ("the release notes say: wheels for Python 3.9 to 3.13", "python-version-unsupported"),
]


test_what_does_not_fit_is_named = names(FITS)
test_what_nearly_does_not_fit_is_not = names_not(NEARLY_FITS)
