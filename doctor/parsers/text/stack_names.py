"""What the things of a stack are called, and how their numbers look.

Signs within a name are words of their own, as in a line's tokens.
"""

from __future__ import annotations

_NAMES: dict[str, str] = {
    "driver": (
        "nvidia driver | nvidia drivers | driver | drivers | nvidia kernel driver | treiber | 驱动 | 驱动是 | 驱动版本"
    ),
    "module": "nvidia kernel module | kernel module",
    "user": "libraries | user space | user - space | userspace | nvml",
    "driver_cuda": "cuda driver | driver cuda",
    "cuda": "cuda",
    "toolkit": "cuda toolkit | nvcc",
    "rocm": "rocm | rocm stack",
    "hip": "hip",
    "torch": "torch | pytorch | pytroch",
    "": "libtorch",
    "python": "python",
    "kernel": "kernel | linux kernel",
    "gcc": "gcc | g + + | gcc - c + +",
    "amdgpu": "amdgpu driver | amdgpu - dkms | amdgpu dkms | amdgpu kernel driver",
    "fabric": "fabric manager | nv - fabricmanager | fabricmanager | nvidia - fabricmanager",
    "toolkit_of_containers": (
        "nvidia container toolkit | nvidia - container - toolkit | nvidia - ctk | libnvidia - container"
    ),
    "engine:docker": "docker | docker engine",
    "engine:podman": "podman",
    "engine:apptainer": "apptainer | singularity",
    "engine:kubernetes": "kubernetes | k3s",
}
"""Kind → names; "" for what only looks like another thing."""
_PACKAGES = (
    "torchvision | torchaudio | xformers | vllm | bitsandbytes | sglang | triton | numpy | onnxruntime - gpu "
    "| deepspeed | flash attn | flash - attn | flash _ attn | flash attention | flash - attention | aiter | "
    "transformer engine | transformer - engine | transformer _ engine | nccl | rccl | cublas | amd _ smi | "
    "amdsmi | ctranslate2 | tensorflow | jax | transformers"
)
_PLAIN = {
    "flash attention": "flash-attn",
    "flash - attention": "flash-attn",
    "cublas": "libcublas",
    "amd _ smi": "amdsmi",
}
SHAPES: dict[str, tuple[int, int, int, int]] = {  # parts of the number: fewest, most; first part: least, greatest
    "driver": (2, 3, 300, 999),
    "module": (2, 3, 300, 999),
    "user": (2, 3, 300, 999),
    "driver_cuda": (2, 2, 8, 14),
    "cuda": (2, 3, 8, 14),
    "toolkit": (2, 3, 8, 14),
    "rocm": (2, 3, 1, 9),
    "torch": (2, 3, 0, 3),
    "python": (2, 3, 2, 3),
    "kernel": (2, 4, 2, 9),
    "gcc": (2, 3, 4, 16),
    "amdgpu": (2, 3, 4, 99),
    "fabric": (2, 3, 300, 999),
    "toolkit_of_containers": (2, 3, 1, 2),
    "engine": (2, 3, 1, 40),
    "package": (2, 4, 0, 30),
    "hip": (3, 3, 4, 9),
}


def _package(name: str) -> str:
    """As PyPI calls it: `flash-attn` of `flash _ attn`."""
    return _PLAIN.get(name) or "-".join(word for word in name.split() if word.isalnum())


def _table() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """First word → names that begin so with their kind, the longest first."""
    named = [(name, kind) for kind, names in _NAMES.items() for name in names.split(" | ")]
    named += [(name, f"package:{_package(name)}") for name in _PACKAGES.split(" | ")]
    rows: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for name, kind in named:
        words = tuple(name.split())
        rows.setdefault(words[0], []).append((words, kind))
    for found in rows.values():
        found.sort(key=lambda row: -len(row[0]))
    return rows


TABLE = _table()
