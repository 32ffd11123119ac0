"""Errors of programs, models and files: they name no cause, and neither words nor what might be accuses beside them."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.findings import Severity
from doctor.intake import read_text
from doctor.knowledge import Knowledge
from doctor.knowledge.symptoms import Symptoms
from tests.knowledge import test_symptoms_own_code_frameworks as frameworks

SYMPTOMS = Symptoms()
EXAMPLES = [
    (
        "user-error-quantized-model-moved",
        "ValueError: `.to` is not supported for `4-bit` or `8-bit` models. Please use",
    ),
    (
        "user-error-model-unknown-to-program",
        "ValueError: The checkpoint has model type `abc` but Transformers does not recognize this architecture.",
    ),
    ("user-error-model-unknown-to-program", "Model architectures ['AbcForCausalLM'] are not supported for now."),
    ("user-error-model-unknown-to-program", "error loading model: unknown model architecture: 'abc'"),
    (
        "user-error-labels-all-masked",
        "ZeroDivisionError: Unsloth: All labels in your dataset are -100. Training losses",
    ),
    ("user-error-nan-without-gpu-too", "same on Platform Reference: NaN at step 61"),
    (
        "user-error-not-a-distribution",
        "Debug Assertion Failed! Expression: invalid probability vector for discrete_distribution",
    ),
    (
        "user-error-assertion-of-monitor",
        "nvtop: ./src/extract_gpuinfo_amdgpu.c:324: initDeviceSysfsPaths: Assertion `info->hwmon != NULL' failed.",
    ),
    ("user-error-loss-scale", "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536"),
    ("user-error-loss-scale", "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 512.0"),
    ("user-error-loss-scale", "ValueError: Attempting to unscale FP16 gradients."),
    ("user-error-weights-of-model", "_pickle.UnpicklingError: invalid load key, 'v'."),
    ("user-error-weights-of-model", "llama_model_load: error: wrong number of tensors; expected 292, got 291"),
    ("user-error-name-of-weights", "KeyError: 'layers.3.mlp.gate_proj.weight'"),
    ("user-error-compiler-of-torch", "torch._inductor.exc.InductorError: AttributeError: 'int' has no 'node'"),
    ("user-error-compiler-of-torch", "BackendCompilerFailed: backend='inductor' raised: KeyError: 'op9'"),
    ("user-error-not-divisible", "Total number of attention heads (28) must be divisible by tensor parallel size (8)."),
    ("user-error-traced-value", "jax.errors.ConcretizationTypeError: Abstract tracer value encountered"),
    ("user-error-fp8-product-refused", "RuntimeError: torch._scaled_mm is only supported on CUDA devices with"),
    ("user-error-fp8-product-refused", "RuntimeError: Float8_e4m3fnuz is only supported for gfx942"),
    (
        "user-error-map-of-saved-device",
        "RuntimeError: Attempting to deserialize object on CUDA device 2 but torch.cuda.device_count() is 2. Please",
    ),
    ("user-error-operator-of-model", "/src/onnx/onnx_parser.cpp:417: parse_graph: Unknown operator: GridSample"),
    ("user-error-encoder-option", "[hevc_nvenc @ 0x55d0c8] Temporal AQ not supported"),
    ("user-error-encoder-option", "[h264_nvenc @ 0x55d0c8] B frames as references are not supported"),
    ("user-error-number-of-heads", "AssertionError: mla_decode only supports num_heads 16 or 128, got 8"),
    ("user-error-hash-file", "Hashfile 'net.hc22000' on line 1 (WPA*01...): Separator unmatched"),
    ("user-error-context-too-small", "request (18231 tokens) exceeds the available context size (8192 tokens)"),
    ("user-error-no-leave-to-load", "You are trying to access a gated repo."),
    ("user-error-names-of-layers", "ValueError: Target modules ['c_attn'] not found in the base model. Please check"),
    ("user-error-sound-not-read", "error: failed to read audio file 'talk.opus'"),
    ("user-error-sound-not-read", "read_audio_data: failed to open audio data from buffer (Invalid argument)"),
    ("user-error-array-of-gpu", "TypeError: Implicit conversion to a NumPy array is not allowed. Please use `.get()`"),
    ("user-error-array-of-gpu", "TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()"),
]
NEAR = [
    "Attempting to deserialize object on CUDA device 2 but torch.cuda.device_count() is 0.",
    "the flag's unknown operator: what is it?",
    "[h264_nvenc @ 0x55d0c8] Driver does not support the required nvenc API version, 13.0 is not supported",
    "FP8 is only supported for gfx94 and later",
    "BackendCompilerFailed: backend='inductor' raised: RuntimeError: Cannot find a working triton installation",
    "KeyError: 'CUDA_VISIBLE_DEVICES'",
    "overflow! of the ring buffer",
    "libcuda.so was not found in the base model of the image",
    "error: failed to read /sys/class/drm/card0/device/vendor",
    "the memory must be free",
    "rocminfo: ./thunk_proxy.cpp:111: void QueryAdapterInfo(): Assertion `ret == STATUS_SUCCESS' failed.",
    "nvtop shows no GPU",
]


@pytest.mark.parametrize(("key", "line"), EXAMPLES + frameworks.EXAMPLES)
def test_the_line_shows_the_symptom_and_points_to_nothing(key: str, line: str) -> None:
    assert key in {hit.key for hit in SYMPTOMS.find([(1, line)])}
    assert SYMPTOMS.signatures[key].points_to == ()


@pytest.mark.parametrize("line", NEAR + frameworks.NEAR)
def test_what_is_near_is_no_error_of_a_program(line: str) -> None:
    assert not [hit.key for hit in SYMPTOMS.find([(1, line)]) if hit.key.startswith("user-error-")]


@pytest.mark.parametrize("line", [line for _, line in EXAMPLES + frameworks.EXAMPLES])
def test_nothing_of_the_machine_is_accused(line: str) -> None:
    text = f"Serving in a container on two GPUs in WSL2 stops, docker run --gpus all.\n{line}\nWhat is wrong here?"
    report = judge(read_text([text.encode()]), Knowledge())
    assert [f.rule for f in report.findings if f.severity is not Severity.INFO] == []


def test_what_might_be_is_raised_where_no_error_of_a_program_is_told() -> None:
    trace = 'File "/home/ada/.local/lib/python3.10/site-packages/pkg/model.py", line 4, in load\n{}\n'
    loud = []
    for line in ("OSError: it stops", "ValueError: `.to` is not supported for `4-bit` or `8-bit` models."):
        report = judge(read_text([trace.format(line).encode()]), Knowledge())
        loud.append([f.rule for f in report.findings if f.severity is not Severity.INFO])
    assert loud == [["python-user-site-leak"], []]
