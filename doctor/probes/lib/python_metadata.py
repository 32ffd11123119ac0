"""What the installed packages require of each other, from their METADATA files.

Called by python_env, where a package of the GPU stack is installed. One small read a package.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from doctor.parsers.python import dist_info, wheel_metadata
from doctor.system.base import System

STACK = frozenset({
    "torch", "torchvision", "torchaudio", "torchcodec", "torchao", "torchtitan", "torchrec", "torch-tensorrt", "triton",
    "pytorch-triton", "pytorch-triton-rocm", "triton-rocm", "xformers", "flash-attn", "flash-attn-3", "flash-attn-4",
    "vllm", "sglang", "sgl-kernel", "sglang-kernel", "flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache",
    "bitsandbytes", "deepspeed", "apex", "megatron-core", "transformer-engine", "transformer-engine-torch",
    "transformer-engine-cu12", "transformer-engine-cu13", "transformers", "accelerate", "peft", "diffusers",
    "text-generation-server", "tokenizers", "huggingface-hub", "safetensors", "optimum", "trl", "tensorflow",
    "tensorflow-cpu", "tensorflow-rocm", "keras", "jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda12-pjrt",
    "jax-cuda13-plugin", "jax-cuda13-pjrt", "jax-rocm60-plugin", "jax-rocm60-pjrt", "jax-rocm7-plugin",
    "jax-rocm7-pjrt", "onnxruntime", "onnxruntime-gpu", "onnxruntime-rocm", "onnxruntime-migraphx", "onnx", "tensorrt",
    "tensorrt-cu12", "tensorrt-cu13", "tensorrt-llm", "paddlepaddle-gpu", "mindspore", "mlc-llm", "mlc-ai", "tvm",
    "apache-tvm", "apache-tvm-ffi", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x", "numba", "numba-cuda", "numpy",
    "aiter", "amd-aiter", "amdsmi", "fbgemm-gpu", "causal-conv1d", "mamba-ssm", "llama-cpp-python", "auto-gptq",
    "autoawq", "autoawq-kernels", "exllamav2", "unsloth", "liger-kernel", "lightning", "pytorch-lightning", "ray",
    "scipy", "pandas", "scikit-learn", "compressed-tensors", "protobuf", "xgrammar",
    "cuda-toolkit", "cuda-bindings", "cuda-python",
})  # fmt: skip
"""The GPU stack; its nvidia-* packages are named by their prefix."""
PLAIN = frozenset({"numpy", "protobuf", "huggingface-hub", "ray", "scipy", "pandas", "scikit-learn"})
"""Those of them that are in environments without a GPU stack, too."""
OTHERS_SAY = re.compile(r"^(?:torch$|nvidia-|cuda-|rocm|amd|jax|(?:pytorch-)?triton)")
"""Requirements that rules on libraries and on torch's companions are about."""
_HEAD = 96 << 10
_NAME = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._\-]{0,100})")
_MOST_READ = 600


def add(
    system: System, packages: Sequence[dict[str, Any]], folders: Mapping[str, Sequence[str]]
) -> list[tuple[dict[str, Any], tuple[str, ...]]]:
    """Gives packages `requires` and `requires_python`, where their metadata can be read: all requirements of those of
    the stack and of what they need; of others what they require of the stack. Returns the former, each with all that it
    requires."""
    places: dict[str, tuple[str, str]] = {}
    for folder, names in folders.items():
        for name in names:
            if name.endswith(".dist-info") and (found := dist_info.read(name)):
                places.setdefault(found.name, (f"/{folder}", f"{folder}/{name}/METADATA"))
    waiting = deque(name for name in places if name in STACK)
    asking: list[tuple[dict[str, Any], tuple[str, ...]]] = []
    if not (STACK - PLAIN) & set(waiting):
        return asking
    rows = {(p["name"], p["location"]): p for p in packages}
    seen, rest = set(waiting), iter(places)
    for _ in range(_MOST_READ):
        ours = bool(waiting)
        name = waiting.popleft() if ours else next((n for n in rest if n not in seen), "")
        if not name:
            break
        location, path = places[name]
        package = rows.get((name, location))
        metadata = system.read_bytes(path, length=_HEAD).then(wheel_metadata.read_head).value
        if metadata is None or package is None:
            continue
        package["requires"] = [line for line in metadata.requires if ours or _in_stack(line)]
        if ours and metadata.requires_python:
            package["requires_python"] = metadata.requires_python
        if ours:
            asking.append((package, metadata.requires))
            needed = {named(line) for line in metadata.requires if "extra" not in line.partition(";")[2]}
            waiting.extend(sorted(needed & places.keys() - seen))
            seen |= needed & places.keys()
    return asking


def named(line: str) -> str:
    """The package that a requirement names.

    >>> named("nvidia-nccl-cu13==2.29.3; platform_system == 'Linux'")
    'nvidia-nccl-cu13'
    """
    match = _NAME.match(line)
    return dist_info.normal(match[1]) if match else ""


def _in_stack(line: str) -> bool:
    name = named(line)
    return name in STACK or name.startswith(("nvidia-", "jax-", "rocm"))
