"""Whether any component that reads a variable is there: vLLM's flags without vLLM, ROCm's on a machine of NVIDIA's.

Answers only where every reader is known to be absent.
"""

from __future__ import annotations

from doctor.flags.names import described
from doctor.flags.situation import Situation

_PACKAGES = {
    "vllm": "vllm",
    "sglang": "sglang",
    "aiter": "aiter",
    "deepspeed": "deepspeed",
    "accelerate": "accelerate",
    "transformer-engine": "te",
    "megatron": "megatron",
    "jax-xla": "jax",
    "tensorflow": "tensorflow",
    "flash-attention": "flash-attn",
    "ray": "ray",
    "pytorch-tunableop": "torch",
    "torchinductor": "torch",
    "pytorch-c10d": "torch",
    "pytorch": "torch",
}
"""Component → package that carries it."""
_AMD = frozenset(("rocr-hsa", "hip-clr", "miopen", "rccl", "rocblas", "hipblaslt", "tensile", "rocm-smi", "rdc"))
_NVIDIA = frozenset(("cuda", "cuda-mps", "cudnn", "cudnn-frontend", "cublas", "cublaslt", "cusparselt", "nvshmem"))


def unread(name: str, situation: Situation) -> str | None:
    """Why nothing here reads it; None where something does, or it can't be told."""
    reasons = [_absent(str(flag["component"]), str(flag["vendor"]), situation) for flag in described(name)]
    if not reasons or None in reasons:
        return None
    return f"is not read by anything here: {', '.join(dict.fromkeys(r for r in reasons if r))}"


def _absent(component: str, vendor: str, situation: Situation) -> str | None:
    package = _PACKAGES.get(component)
    if package is not None and situation.machine.packages and situation.has(package) is False:
        return f"{component} is not installed"
    vendors = situation.vendors or frozenset() if situation.machine.gpus else frozenset()
    if vendors == frozenset({"nvidia"}) and (component in _AMD or vendor == "amd"):
        return f"{component} reads it on AMD GPUs only"
    if vendors == frozenset({"amd"}) and (component in _NVIDIA or vendor == "nvidia"):
        return f"{component} reads it on NVIDIA GPUs only"
    return None
