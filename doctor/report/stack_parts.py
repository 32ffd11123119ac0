"""The parts of the GPU stack, as `doctor stack` and docs/stack.md tell them."""

from __future__ import annotations

from typing import NamedTuple

GPU = ("GPU", "library-missing-gpu-arch")
PYTHON = ("Python", "python-version-unsupported")
NUMPY = ("NumPy", "numpy-abi-mismatch")
TORCH = ("torch", "torch-companion-mismatch")
BINARY = ("torch's symbols and C++ ABI", "extension-abi-mismatch")
TOOL = ("GPU, driver and CUDA", "gpu-tool-unsupported")
PINS = ("torch's pins, and other copies", "gpu-libs-conflict")
MISSING = ("what is there to load", "gpu-libs-not-found")
FAULTS = ("releases with known faults", "known-bad-library-version")
DRIVER = ("driver", "nvidia-driver-too-old")
ROCM_GPU = ("GPU", "amd-gpu-unsupported-by-rocm")
ROCM_DRIVER = ("amdgpu driver", "amdgpu-rocm-version-skew")


class Part(NamedTuple):
    """`packages` are patterns of normalised names, `components` names of installations' components, `subjects` further
    names that findings give it, `libraries` how its shared objects begin."""

    name: str
    kind: str
    packages: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    judged: tuple[tuple[str, str], ...] = ()
    subjects: tuple[str, ...] = ()
    note: str = ""


def _cuda(name: str, package: str, component: str, *libraries: str, kind: str = "math library") -> Part:
    return Part(
        name, kind, (rf"nvidia-{package}(-cu\d+)?",), (), (component,), libraries or (f"lib{component}",),
        (TOOL, PINS, MISSING, FAULTS, DRIVER),
    )  # fmt: skip


def _rocm(name: str, component: str, *judged: tuple[str, str], kind: str = "math library") -> Part:
    return Part(name, kind, components=(component,), judged=(ROCM_GPU, ROCM_DRIVER, *judged, FAULTS))


PARTS: tuple[Part, ...] = (
    Part("torch", "framework", ("torch",), judged=(
        ("GPU", "torch-missing-gpu-arch"), ("vendor", "torch-built-for-other-vendor"),
        ("build", "torch-cpu-only-build"), DRIVER, ("ROCm", "torch-rocm-version-mismatch"), PYTHON, NUMPY)),
    Part("torchvision", "companion", ("torchvision",), judged=(TORCH, GPU, PYTHON, NUMPY)),
    Part("torchaudio", "companion", ("torchaudio",), judged=(TORCH, GPU, PYTHON)),
    Part("Triton", "compiler", ("triton", "pytorch-triton(-rocm)?", "triton-rocm"),
         judged=(("torch", "triton-mismatch"), PYTHON)),
    Part("flash-attention", "companion", (r"flash-attn(-\d)?", "aphrodite-flash-attn", r"dew-flash-attn-cu\d+"),
         judged=(GPU, BINARY, PYTHON)),
    Part("xformers", "companion", ("xformers",), judged=(GPU, BINARY, PYTHON, NUMPY)),
    Part("vLLM", "framework", ("vllm",), judged=(
        GPU, ("torch, CUDA, ROCm", "vllm-build-mismatch"), ("kernel libraries", "companion-kernel-lib-outdated"),
        PYTHON)),
    Part("SGLang", "framework", ("sglang", "sgl-kernel", "sglang-kernel"), judged=(
        TORCH, GPU, ("kernel libraries", "companion-kernel-lib-outdated"), PYTHON)),
    Part("DeepSpeed", "framework", ("deepspeed",), judged=(
        ("toolkit", "toolkit-torch-mismatch"), TORCH, GPU, PYTHON, NUMPY)),
    Part("Megatron", "framework", ("megatron-core",), judged=(TORCH, PYTHON, NUMPY)),
    Part("TransformerEngine", "companion", (r"transformer-engine(-torch|-cu\d+)?",), judged=(GPU, BINARY, PYTHON)),
    Part("Apex", "companion", ("apex",), judged=(GPU, BINARY),
         note="NVIDIA publishes no package of it: checked by its files."),
    Part("TensorRT-LLM", "framework", ("tensorrt-llm",), judged=(GPU, TORCH, PYTHON, NUMPY)),
    Part("transformers", "framework", ("transformers",), judged=(PYTHON, NUMPY),
         note="Pure Python: it has no GPU code, and its requirement of torch is an extra."),
    Part("accelerate", "framework", ("accelerate",), judged=(TORCH, PYTHON, NUMPY)),
    Part("peft", "framework", ("peft",), judged=(TORCH, PYTHON, NUMPY)),
    Part("diffusers", "framework", ("diffusers",), judged=(PYTHON, NUMPY),
         note="Pure Python: it has no GPU code, and its requirement of torch is an extra."),
    Part("Text Generation Inference", "framework", ("text-generation-server",), judged=(TORCH, PYTHON, NUMPY),
         note="Published as images; of an installed server the metadata is checked."),
    Part("bitsandbytes", "companion", ("bitsandbytes",), judged=(GPU, TORCH, PYTHON, NUMPY)),
    Part("llama-cpp-python", "framework", ("llama-cpp-python", "cyllama-rocm"), judged=(GPU, PYTHON, NUMPY)),
    Part("TensorFlow", "framework", ("tensorflow", "tensorflow-(cpu|gpu|rocm)"), judged=(
        ("CUDA, cuDNN, ROCm and the GPU's vendor (table of tested builds)", "tensorflow-gpu-mismatch"), GPU, MISSING,
        PYTHON, NUMPY),
        note="gcc and Bazel of the table matter only where TensorFlow is built from source."),
    Part("JAX", "framework", ("jax", "jaxlib", r"jax-(cuda|rocm)\d+-(plugin|pjrt)"), subjects=("jaxlib",), judged=(
        ("its plugins, CUDA, ROCm", "jax-plugin-mismatch"), GPU, MISSING, PYTHON, NUMPY)),
    Part("ONNX Runtime", "framework", ("onnxruntime(-gpu|-rocm|-migraphx)?",), judged=(
        ("CUDA, cuDNN, ROCm", "onnxruntime-gpu-mismatch"), GPU, MISSING, PYTHON, NUMPY)),
    Part("PaddlePaddle", "framework", ("paddlepaddle-gpu",), judged=(GPU, PYTHON, NUMPY)),
    Part("MindSpore", "framework", ("mindspore",), judged=(PYTHON, NUMPY),
         note="No support for GPUs is declared in its published packages."),
    Part("MLC-LLM and TVM", "framework", ("mlc-llm", "mlc-ai", "tvm", "apache-tvm"), judged=(PYTHON, NUMPY),
         note="No package with GPU code is published on the package index: nothing for its GPUs is known."),
    Part("CuPy", "framework", (r"cupy-cuda\d+x", r"cupy-rocm-[\d-]+"), judged=(GPU, MISSING, PYTHON, NUMPY)),
    _cuda("cuBLAS", "cublas", "cublas", "libcublas"),
    _cuda("cuDNN", "cudnn", "cudnn", "libcudnn"),
    _cuda("cuFFT", "cufft", "cufft"),
    _cuda("cuRAND", "curand", "curand"),
    _cuda("cuSOLVER", "cusolver", "cusolver"),
    _cuda("cuSPARSE", "cusparse", "cusparse"),
    _cuda("NCCL", "nccl", "nccl", kind="communication library"),
    _rocm("rocBLAS", "rocblas", ("its kernel files", "blas-kernels-missing")),
    _rocm("hipBLASLt", "hipblaslt", ("its kernel files", "hipblaslt-unsupported-arch")),
    _rocm("MIOpen", "miopen"),
    _rocm("rocFFT", "rocfft"),
    _rocm("rocRAND", "rocrand"),
    _rocm("rocSPARSE", "rocsparse"),
    _rocm("RCCL", "rccl", kind="communication library"),
    Part("nvcc", "compiler", (r"nvidia-cuda-nvcc(-cu\d+)?",), ("nvcc",), ("nvcc",), judged=(
        TOOL, ("torch, while something is compiled", "toolkit-torch-mismatch"),
        ("gcc, while something is compiled", "host-compiler-unsupported"))),
    Part("hipcc", "compiler", (), ("hipcc", "amdclang++"), judged=(
        TOOL, ("C++ headers", "host-libstdcxx-dev-missing"), ("ROCM_PATH, HIP_PATH", "rocm-path-broken"))),
    Part("hipconfig", "compiler", (), ("hipconfig",), judged=(("ROCM_PATH, HIP_PATH", "rocm-path-broken"),)),
    Part("HIPIFY", "converter", (), ("hipify-clang", "hipify-perl"), judged=(TOOL,),
         note="hipify-perl translates text and reads no CUDA."),
    Part("Nsight Compute", "profiler", (), ("ncu",), judged=(TOOL,)),
    Part("Nsight Systems", "profiler", (), ("nsys",), judged=(TOOL,)),
    Part("nvprof", "profiler", (), ("nvprof",), judged=(TOOL,)),
    Part("rocprofiler", "profiler", (), ("rocprof", "rocprofv2", "rocprofv3"), judged=(TOOL,)),
    Part("ROCm Compute Profiler, Omniperf", "profiler", (), ("rocprof-compute", "omniperf"), judged=(TOOL,)),
    Part("ROCm Systems Profiler, Omnitrace", "profiler", (),
         ("rocprof-sys-run", "rocprof-sys-sample", "omnitrace-run", "omnitrace"), judged=(TOOL,)),
)  # fmt: skip
