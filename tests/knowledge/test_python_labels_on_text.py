"""Every label of torch and its companions is named from a pasted text alone, and the same labels are held complete."""

from __future__ import annotations

from doctor.engine.judge import judge
from doctor.engine.registry import checks
from doctor.knowledge import Knowledge
from doctor.triage.read import read_text
from tests.each import each

SO = "cannot open shared object file: No such file or directory"
TEXTS: dict[str, str] = {
    "torch-cpu-only-build": "AssertionError: Torch not compiled with CUDA enabled\nPyTorch version: 2.5.1+cpu\n",
    "torch-built-for-other-vendor": "$ rocminfo | grep gfx\n  Name:                    gfx1100\n"
    ">>> torch.__version__\n'2.5.1+cu124'\nRuntimeError: Found no NVIDIA driver on your system.\n",
    "torch-missing-gpu-arch": "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current "
    "PyTorch installation.\nThe current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 "
    "sm_90.\n",
    "torch-rocm-version-mismatch": "OSError: libamdhip64.so.6: version `hip_6.2' not found (required by "
    "/venv/lib/python3.11/site-packages/torch/lib/libtorch_hip.so)\n",
    "torch-companion-mismatch": "RuntimeError: operator torchvision::nms does not exist\n",
    "extension-abi-mismatch": "ImportError: /venv/lib/python3.11/site-packages/flash_attn_2_cuda.cpython-311-x86_64-"
    "linux-gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcEE\n",
    "triton-mismatch": "RuntimeError: Cannot find a working triton installation.\n",
    "python-version-unsupported": "$ python3.13 -m pip install torch==2.1.0\nERROR: Could not find a version that "
    "satisfies the requirement torch==2.1.0\nERROR: No matching distribution found for torch==2.1.0\n",
    "numpy-abi-mismatch": "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.1.0 as it may crash.\n",
    "gpu-libs-conflict": "OSError: /usr/local/cuda/lib64/libcusparse.so.12: undefined symbol: "
    "__nvJitLinkAddData_12_1, version libnvJitLink.so.12\n",
    "gpu-libs-not-found": f"ImportError: libcudart.so.12: {SO}\n",
    "known-bad-library-version": "GPU: NVIDIA GeForce RTX 5090\nnvidia-cublas-cu12==12.8.4.1\ntorch==2.7.0+cu128\n"
    "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`\n",
    "companion-kernel-lib-outdated": "RuntimeError: flashinfer-cubin version (0.2.3) does not match flashinfer version "
    "(0.6.14)\n",
    "toolkit-torch-mismatch": "RuntimeError: The detected CUDA version (13.0) mismatches the version that was used to "
    "compile PyTorch (12.4). Please make sure to use the same CUDA versions.\n",
    "host-compiler-unsupported": "host_config.h:139:2: error: #error -- unsupported GNU version! gcc versions later "
    "than 11 are not supported!\n",
    "host-libstdcxx-dev-missing": "__clang_hip_runtime_wrapper.h:50:10: fatal error: 'cmath' file not found\n",
    "system-library-missing": f"ImportError: libGL.so.1: {SO}\n",
    "rocm-path-broken": "OSError: ROCM_HOME environment variable is not set. Please set it to your ROCm install "
    "root.\n",
    "tensorflow-gpu-mismatch": "W tensorflow/core/common_runtime/gpu/gpu_device.cc:2251] Cannot dlopen some GPU "
    "libraries. Please make sure the missing libraries mentioned above are installed properly\n",
    "jax-plugin-mismatch": "An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. "
    "Falling back to cpu.\n",
    "vllm-build-mismatch": "vllm 0.6.3 requires torch==2.4.0, but you have torch 2.5.1 which is incompatible.\n",
    "onnxruntime-gpu-mismatch": "Failed to create CUDAExecutionProvider. Please reference "
    "https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html#requirements to ensure all "
    "dependencies are met.\n",
}


@each("label", TEXTS)
def test_a_pasted_text_names_the_label(label: str) -> None:
    report = judge(read_text([TEXTS[label].encode()]), Knowledge())
    assert label in {finding.rule for finding in report.findings if not finding.explained_by}


def test_these_are_labels_of_the_family() -> None:
    assert set(TEXTS) <= {c.rule.id for c in checks() if c.run.__module__.startswith("doctor.rules.python.")}
