"""ROCm and CUDA that came as packages of Python (nvidia-*, rocm-sdk-*) or of conda, by the packages' names alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doctor.facts.sheet import FactSheet

_COMPONENTS = {
    "nvidia-cuda-nvcc": ("cuda", "nvcc"),
    "nvidia-cuda-runtime": ("cuda", "cudart"),
    "nvidia-cublas": ("cuda", "cublas"),
    "nvidia-cudnn": ("cuda", "cudnn"),
    "nvidia-nccl": ("cuda", "nccl"),
    "nvidia-nvjitlink": ("cuda", "nvjitlink"),
    "nvidia-cufft": ("cuda", "cufft"),
    "nvidia-curand": ("cuda", "curand"),
    "nvidia-cusolver": ("cuda", "cusolver"),
    "nvidia-cusparse": ("cuda", "cusparse"),
    "cuda-nvcc": ("cuda", "nvcc"),
    "cuda-cudart": ("cuda", "cudart"),
    "cudatoolkit": ("cuda", "cudart"),
    "libcublas": ("cuda", "cublas"),
    "libcufft": ("cuda", "cufft"),
    "libcurand": ("cuda", "curand"),
    "libcusolver": ("cuda", "cusolver"),
    "libcusparse": ("cuda", "cusparse"),
    "cudnn": ("cuda", "cudnn"),
    "nccl": ("cuda", "nccl"),
    "rocm-sdk-core": ("rocm", "hip"),
    "rocm-sdk-devel": ("rocm", "sdk"),
}
"""Names without `-cu12`; those of conda's packages are beside those of the wheels."""
_PREFIXES = ("nvidia-", "cuda", "libcu", "cudnn", "nccl", "rocm-sdk-")
_RELEASE = {"cuda": ("cudart", "nvcc"), "rocm": ("hip", "sdk")}


def put(sheet: FactSheet, packages: Sequence[dict[str, Any]]) -> None:
    """One installation for each folder that holds such packages. Not all of a stack need be there."""
    if not any(package["name"].startswith(_PREFIXES) for package in packages):
        return
    from doctor.probes.lib.install_versions import without_cuda

    held: dict[tuple[str, str], dict[str, str]] = {}
    for package in packages:
        known = _COMPONENTS.get(without_cuda(package["name"]))
        if known:
            held.setdefault((known[0], package["location"]), {})[known[1]] = package["version"]
    for (stack, location), components in held.items():
        name, source = f"{stack}[{location}]", f"file:{location}"
        sheet.put(f"{name}.path", location, source)
        sheet.put(f"{name}.kind", "wheel" if "site-packages" in location else "conda", source)
        sheet.put(f"{name}.components", dict(sorted(components.items())), source)
        release = next((components[c] for c in _RELEASE[stack] if c in components), None)
        if release:
            sheet.put(f"{name}.version", release, source)
