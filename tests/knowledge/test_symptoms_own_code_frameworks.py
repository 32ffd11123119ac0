"""Assertions and compilers of the frameworks themselves: they name no cause, and words beside them accuse nothing."""

from __future__ import annotations

import pytest

from doctor.knowledge.symptoms import Symptoms

SYMPTOMS = Symptoms()
EXAMPLES = [
    ("user-error-assertion-of-program", "ggml/src/ggml.c:99: GGML_ASSERT(n_dims > 0) failed"),
    ("user-error-assertion-of-program", 'RuntimeError: a == b INTERNAL ASSERT FAILED at "/opt/x/TraceUtils.h":7'),
    ("user-error-assertion-of-program", "[TensorRT-LLM][ERROR] Assertion failed: blocks.empty() (/app/x.cpp:3)"),
    ("user-error-compiler-pass", "RuntimeError: PassManager::run failed"),
    ("user-error-compiler-pass", "triton.compiler.errors.CompilationError: at 3:11"),
    ("user-error-compiler-pass", "Broken module found, compilation terminated!"),
    ("user-error-compiler-pass", "jaxlib.xla_extension.XlaRuntimeError: UNIMPLEMENTED: batch in most minor dimension"),
    ("user-error-compiler-pass", "AssertionError: wrong number of dimensions"),
    ("user-error-compiler-pass", "AssertionError: expected size 4==4, stride 1==8 at dim=0"),
    ("user-error-attention-bias", "attn_bias.stride(-2) % 8 != 0 (attn_bias.stride() = (400, 100, 10, 1))"),
    ("user-error-tensor-of-collective", "RuntimeError: Tensors must be CUDA and dense"),
    ("user-error-tensor-of-collective", "RuntimeError: Tensors must be contiguous"),
    (
        "user-error-samples",
        "TypeError: default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class",
    ),
    (
        "user-error-flat-parameters",
        "ValueError: Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`",
    ),
    (
        "user-error-attention-input",
        "UserWarning: Expected query, key and value to all be of dtype: {Half}. Got Query dtype: c10::BFloat16",
    ),
    ("user-error-shapes", "RuntimeError: Gather got an input of invalid size: got [4], but expected [8]"),
    ("user-error-graph", "ValueError: optimizer got an empty parameter list"),
    ("user-error-meta-tensor", "NotImplementedError: Cannot copy out of meta tensor; no data!"),
    ("user-error-meta-tensor", "RuntimeError: Tensor on device meta is not on the expected device cuda:0!"),
    (
        "user-error-tensors-of-two-kinds",
        "RuntimeError: aten.add.Tensor: got mixed torch.Tensor and DTensor, need to convert all",
    ),
    (
        "user-error-no-attention-for-inputs",
        "ValueError: No dot product attention backend is available for the provided inputs. Please run with",
    ),
]
NEAR = [
    'RuntimeError: x INTERNAL ASSERT FAILED at "/c10/cuda/CUDACachingAllocator.cpp":7, please report a bug',
    "the assertion failed to convince",
    "CompilationError of the kernel module",
    "the feature is unimplemented: sorry",
    "Tensors must be on the GPU",
    "meta-llama/Llama-3 on two devices",
    "a dot product attention backend is available",
    "AssertionError: expected size of the batch",
]
ASTRAY = [
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "RuntimeError: CUDA error: an illegal instruction was encountered",
    "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: CUDA_ERROR_ILLEGAL_ADDRESS",
    "RuntimeError: CUDA error: misaligned address",
    "CUDA error: unspecified launch failure",
    "LLVM error / CUDA error (code 700)",
]
NOT_RIGHT = [
    "torch.compile gives wrong results for a reduction",
    "the outputs of the quantized model are different from those of transformers",
    "the model answers gibberish after the upgrade",
    "AssertionError: Tensor-likes are not close!",
    "Mismatched elements: 3 / 4096 (0.1%)",
    "quantizing with a large block gives unexpectedly high errors",
    "Conv with kernel_shape=2,2 gives a completely wrong pattern",
    "Inference result different between cpu and gpu",
    "Mismatch in output: native TF vs TF-TRT FP32, accuracy drops",
    "energy is not conserved with KOKKOS-Cuda",
    "-sm row and -sm layer return incomprehensible text",
    "Lost atoms: the kinetic energy increases to values like 1e+37",
]
NOT_OF_RESULTS = [
    "expected output of the command",
    "the wrong interface is used",
    "nvidia-smi shows a wrong number",
    "version mismatch in the driver",
    "nvidia-smi returns wrong values",
    "ldd gives different results on the two nodes",
    "the estimate of the duration may be inaccurate",
    "wrong values in daemon.json",
]


@pytest.mark.parametrize(
    ("key", "lines", "holds"),
    [
        ("kernel-went-astray-told", ASTRAY, True),
        ("kernel-went-astray-told", [*NOT_RIGHT, "an illegal option was given", "out of memory"], False),
        ("results-not-right-told", NOT_RIGHT, True),
        ("results-not-right-told", [*ASTRAY, *NOT_OF_RESULTS], False),
        ("compiles-told", ["building the extension fails", "it does not compile", "built from source"], True),
        ("compiles-told", ["torch.compile is on", "build: 4296 (07a61394)", "Cuda compilation tools, 12.6"], False),
    ],
)
def test_what_is_told_of_the_work(key: str, lines: list[str], holds: bool) -> None:
    found = [key in {hit.key for hit in SYMPTOMS.find([(1, line)])} for line in lines]
    assert found == [holds] * len(lines)


@pytest.mark.parametrize(
    "line",
    [
        "NVCC: Cuda compilation tools, release 12.6, V12.6.68",
        "nvcc: release 12.6, V12.6.68",
        "CUDA nvcc: 12.6",
        "nvcc: NVIDIA (R) Cuda compiler driver",
    ],
)
def test_a_list_of_versions_is_no_build(line: str) -> None:
    assert "build-command-failed" not in {hit.key for hit in SYMPTOMS.find([(1, line)])}
    assert "build-command-failed" in {hit.key for hit in SYMPTOMS.find([(1, "nvcc: error: no input files")])}


def test_the_name_of_a_class_says_nothing_of_cuda() -> None:
    key = "torch-sees-no-cuda-on-jetson"
    found = [
        key in {h.key for h in SYMPTOMS.find([(1, line)])} for line in ("No CUDATemplateCaller choices", "No CUDA")
    ]
    assert found == [False, True]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("Error no kernel image is available for execution on the device at line 167 in file /src/csrc/ops.cu", True),
        ("Error named symbol not found at line 74 in file /src/csrc/ops.cu", True),
        ("Error invalid configuration argument at line 119 in file /src/csrc/ops.cu", False),
        ("Error an illegal memory access was encountered at line 76 in file /src/csrc/ops.hip", False),
        ("Error an illegal instruction was encountered at line 74 in file /src/csrc/ops.cu", False),
        ("Error invalid program counter at line 74 in file /src/csrc/ops.cu", False),
    ],
)
def test_a_kernel_of_bitsandbytes_that_is_missing(line: str, shown: bool) -> None:
    assert ("bitsandbytes-no-kernel-image" in {s.key for s in SYMPTOMS.find([(1, line)])}) is shown
