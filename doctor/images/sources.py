"""Packages that are compiled in the image: which variables narrow them to the image's GPUs, and what a job costs.

A compile takes the newest of each target only, and as many jobs as fit the memory that is free when it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from doctor.errors import InputError
from doctor.profiles import Profile


@dataclass(frozen=True)
class Build:
    """`environment`: name → value while it is compiled; `job_gib`: memory of one compiler job at its worst."""

    name: str
    environment: tuple[tuple[str, str], ...]
    apt: tuple[str, ...]
    job_gib: int
    source: str


def _sm(targets: tuple[str, ...]) -> str:
    """As flash-attention and TransformerEngine write them.

    >>> _sm(("sm_90", "sm_100"))
    '90;100'
    """
    return ";".join(t.removeprefix("sm_") for t in targets)


def _dotted(targets: tuple[str, ...]) -> str:
    """As torch writes them.

    >>> _dotted(("sm_90", "sm_100"))
    '9.0;10.0'
    """
    numbers = [t.removeprefix("sm_") for t in targets]
    return ";".join(f"{n[:-1]}.{n[-1]}" for n in numbers)


Variables = Callable[[tuple[str, ...], bool], tuple[tuple[str, str], ...]]


def _flash_attn(targets: tuple[str, ...], amd: bool) -> tuple[tuple[str, str], ...]:
    narrowed = ("GPU_ARCHS", ";".join(targets)) if amd else ("FLASH_ATTN_CUDA_ARCHS", _sm(targets))
    return (("FLASH_ATTENTION_FORCE_BUILD", "TRUE"), narrowed)


def _torch_extension(targets: tuple[str, ...], amd: bool) -> tuple[tuple[str, str], ...]:
    return (("PYTORCH_ROCM_ARCH", ";".join(targets)) if amd else ("TORCH_CUDA_ARCH_LIST", _dotted(targets)),)


def _transformer_engine(targets: tuple[str, ...], amd: bool) -> tuple[tuple[str, str], ...]:
    narrowed = ("NVTE_ROCM_ARCH", ";".join(targets)) if amd else ("NVTE_CUDA_ARCHS", _sm(targets))
    return (("NVTE_FRAMEWORK", "pytorch"), narrowed)


def _aiter(targets: tuple[str, ...], _amd: bool) -> tuple[tuple[str, str], ...]:
    return (("GPU_ARCHS", ";".join(targets)), ("PREBUILD_KERNELS", "1"))


_CPP = ("build-essential", "ninja-build", "git")
# Variables as the setup.py of each reads them. Memory of a job: flash-attention's own setup.py counts 9 GB of free
# memory for each; the others' templates are smaller, and 4 GB is what pytorch/pytorch#108174 sees at most.
_KNOWN: dict[str, tuple[Variables, int, str]] = {
    "flash-attn": (_flash_attn, 9, "Dao-AILab/flash-attention setup.py (MAX_JOBS, FLASH_ATTN_CUDA_ARCHS, GPU_ARCHS)"),
    "amd-aiter": (_aiter, 4, "ROCm/aiter setup.py (GPU_ARCHS, PREBUILD_KERNELS, MAX_JOBS)"),
    "transformer-engine-torch": (_transformer_engine, 4, "NVIDIA/TransformerEngine setup.py (NVTE_CUDA_ARCHS)"),
    "xformers": (_torch_extension, 4, "facebookresearch/xformers setup.py (TORCH_CUDA_ARCH_LIST)"),
    "apex": (_torch_extension, 4, "NVIDIA/apex setup.py (TORCH_CUDA_ARCH_LIST)"),
    "deepspeed": (_torch_extension, 4, "deepspeedai/DeepSpeed op_builder (TORCH_CUDA_ARCH_LIST)"),
}
_COMPILERS = {"nvidia": ("-devel-", "nvidia/cuda:*-devel-*"), "amd": ("rocm", "rocm/dev-ubuntu-*:*")}


def builds(profile: Profile, targets: tuple[str, ...]) -> tuple[Build, ...]:
    """In the profile's order. Raises InputError where a package can't be compiled on its base, or is not known."""
    wish = profile.image
    asked = [p for p in wish.pip if p.compile] if wish else []
    found = []
    for package in asked:
        if package.name not in _KNOWN:
            raise InputError(f"{profile.name}: compile = true of {package.name}: known are {', '.join(_KNOWN)}")
        if not targets:
            raise InputError(f"{profile.name}: {package.name} is compiled: [image] targets says for which GPUs")
        amd = profile.hardware.vendor == "amd"
        mark, wanted = _COMPILERS["amd" if amd else "nvidia"]
        if mark not in ((wish.base if wish else None) or ""):
            raise InputError(
                f"{profile.name}: {package.name} is compiled, and base {wish.base if wish else None} has no compiler "
                f"of GPU code; a base such as {wanted} has"
            )
        if package.name == "amd-aiter" and not amd:
            raise InputError(f"{profile.name}: AITER is for AMD GPUs")
        variables, gib, source = _KNOWN[package.name]
        found.append(Build(package.name, variables(targets, amd), _CPP, gib, source))
    return tuple(found)
