"""Which files of the packages around torch carry GPU code or are linked with torch: folders and names, as published.

From the contents of the wheels (docs/slow-tier.md) and, for those that have no wheel, from their setup.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from doctor.versions import Dotted

_ANY = re.compile(r"\.so$")
_PARTS = re.compile(r"^_.{0,60}\.so$")
COMPANIONS: dict[str, tuple[tuple[str, re.Pattern[str]], ...]] = {
    "torchvision": (("torchvision", re.compile(r"^_C\.so$")),),
    "torchaudio": (("torchaudio/lib", re.compile(r"^(?:lib|_)torchaudio\.so$")),),
    "xformers": (("xformers", re.compile(r"^_C")), ("xformers/flash_attn_3", re.compile(r"^_C"))),
    "flash-attn-3": (("flash_attn_3", re.compile(r"^_C")),),
    "vllm": (("vllm", _PARTS), ("vllm/vllm_flash_attn", _PARTS)),
    "sgl-kernel": (
        ("sgl_kernel", _ANY), ("sgl_kernel/sm90", _ANY), ("sgl_kernel/sm100", _ANY),
    ),
    "bitsandbytes": (("bitsandbytes", re.compile(r"^libbitsandbytes_(?:cuda|rocm)\d{2,4}\.so$")),),
    "transformer-engine": (
        ("transformer_engine", re.compile(r"^(?:lib)?transformer_engine.{0,60}\.so$")),
        ("transformer_engine/wheel_lib", re.compile(r"^libtransformer_engine\.so$")),
    ),
    "onnxruntime-gpu": (("onnxruntime/capi", re.compile(r"^libonnxruntime_providers_cuda\.so$")),),
    "onnxruntime-rocm": (("onnxruntime/capi", re.compile(r"^libonnxruntime_providers_rocm\.so$")),),
    "jax-cuda12-plugin": (("jax_cuda12_plugin", re.compile(r"^_(?:prng|triton|linalg)\.so$")),),
    "jax-cuda13-plugin": (("jax_cuda13_plugin", re.compile(r"^_(?:prng|triton|linalg)\.so$")),),
    "jax-cuda12-pjrt": (("jax_plugins/xla_cuda12", re.compile(r"^xla_cuda_plugin\.so$")),),
    "jax-cuda13-pjrt": (("jax_plugins/xla_cuda13", re.compile(r"^xla_cuda_plugin\.so$")),),
    **{
        f"jax-rocm{release}-plugin": ((f"jax_rocm{release}_plugin", re.compile(r"^_(?:prng|linalg|solver|blas)\.so$")),)
        for release in ("60", "7", "10")
    },
    **{
        f"jax-rocm{release}-pjrt": ((f"jax_plugins/xla_rocm{release}", re.compile(r"^xla_rocm_plugin\.so$")),)
        for release in ("60", "7", "10")
    },
    "tensorflow": (("tensorflow", re.compile(r"^libtensorflow_cc\.so\.2$")),),
    "tensorflow-rocm": (("tensorflow", re.compile(r"^libtensorflow_cc\.so\.2$")),),
    "cupy-rocm-7-0": (("cupy/cuda", re.compile(r"^(?:cub|thrust)\..{0,60}\.so$")),),
    "cyllama-rocm": (("cyllama_rocm.libs", re.compile(r"^libggml-hip.{0,20}\.so$")),),
    "dew-flash-attn-cu12": (("dew_flash_attn", re.compile(r"^libdew_flash_attn3?\.so$")),),
    "llama-cpp-python": (("llama_cpp/lib", re.compile(r"^lib(?:ggml-cuda|ggml-hip|ggml_cuda|llama)\.so$")),),
    "fbgemm-gpu": (("fbgemm_gpu", re.compile(r"^fbgemm_gpu_(?:py|tbe_inference|tbe_common)\.so$")),),
    "torchcodec": (("torchcodec", re.compile(r"^libtorchcodec_.{1,40}\.so$")),),
    "torchtext": (("torchtext/lib", re.compile(r"^libtorchtext\.so$")),),
    "paddlepaddle-gpu": (("paddle/libs", re.compile(r"^lib(?:phi|flashattn)\.so$")),),
    "tensorrt-llm": (("tensorrt_llm/libs", re.compile(r"^libtensorrt_llm\.so$")),),
    "deepspeed": (("deepspeed/ops", _ANY),),
    "mamba-ssm": (("mamba_ssm", _ANY),),
    "torch-scatter": (("torch_scatter", re.compile(r"_cuda.{0,40}\.so$")),),
    "detectron2": (("detectron2", re.compile(r"^_C.{0,60}\.so$")),),
    "mmcv": (("mmcv", re.compile(r"^_ext.{0,60}\.so$")),),
    "aiter": (("aiter/jit", _ANY),),
}  # fmt: skip
"""Package → folders below site-packages, each with the names of the files that count."""

TOP_LEVEL: dict[str, re.Pattern[str]] = {
    "flash-attn": re.compile(r"^flash_attn_2_cuda.{0,60}\.so$"),
    "transformer-engine-torch": re.compile(r"^transformer_engine_torch.{0,60}\.so$"),
    "apex": re.compile(r"^(?:amp_C|apex_C|fused_layer_norm_cuda|fused_weight_gradient_mlp_cuda).{0,60}\.so$"),
    "aphrodite-flash-attn": re.compile(r"^aphrodite_flash_attn_2_cuda.{0,60}\.so$"),
    "causal-conv1d": re.compile(r"^causal_conv1d_cuda.{0,60}\.so$"),
    "mamba-ssm": re.compile(r"^selective_scan_cuda.{0,60}\.so$"),
    "exllamav2": re.compile(r"^exllamav2_ext.{0,60}\.so$"),
    "autoawq-kernels": re.compile(r"^awq_(?:v2_)?ext.{0,60}\.so$"),
    "auto-gptq": re.compile(r"^autogptq_.{0,60}\.so$"),
    "deep-ep": re.compile(r"^deep_ep_cpp.{0,60}\.so$"),
    "deepspeed": re.compile(r"^(?:deepspeed|fused_adam|cpu_adam)_?.{0,60}\.so$"),
}
"""Package → names of its files in site-packages itself."""

WATCHED = frozenset({*COMPANIONS, *TOP_LEVEL, "torch"})
"""Without one of these nothing is looked at."""

OPENED_LATER = re.compile(r"^(?:onnxruntime-|jax-(?:cuda|rocm)\d|tensorflow-rocm$|cupy-(?:rocm|cuda))")
"""Packages with libraries that are opened by name at run time (python_plugins)."""

_TAG = re.compile(r"\.cpython-3(\d{1,2})t?-")
_BITSANDBYTES = re.compile(r"_(?:cuda|rocm)(\d{1,2})(\d)\.so$")


def tagged_for(name: str, python: str | None) -> bool:
    """Whether this Python would import the file: no tag, the stable interface, or its own tag."""
    match = _TAG.search(name[-200:])
    if match is None or not python:
        return True
    numbers = Dotted(python).numbers
    return len(numbers) < 2 or numbers[1] == int(match[1])


def bitsandbytes(files: Sequence[str], kind: str, release: str, environ: Mapping[str, str]) -> list[str]:
    """The one file that bitsandbytes loads for a torch of that CUDA or ROCm (its cextension.py, 0.50): the variable's,
    else the same release, else the nearest lower one of that major, else the nearest higher one."""
    asked = environ.get(f"BNB_{kind.upper()}_VERSION")
    if asked:
        return [n for n in files if n == f"libbitsandbytes_{kind}{asked[:6]}.so"]
    held = {(int(m[1]), int(m[2])): n for n in files if f"_{kind}" in n and (m := _BITSANDBYTES.search(n))}
    held |= {(int(m[1]), int(m[2])): n for n in files if f"_{kind}" in n and (m := re.search(r"_rocm(7)(1\d)\.so$", n))}
    numbers = Dotted(release).numbers[:2]
    if len(numbers) < 2:
        return []
    wanted = (numbers[0], numbers[1])
    same = [v for v in held if v[0] == wanted[0]]
    lower = [v for v in same if v <= wanted]
    best = max(lower) if lower else min(same) if same else None
    return [held[best]] if best else []
