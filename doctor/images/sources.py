"""Packages that are compiled in the image: which variables narrow them to the image's GPUs, and what a job costs.

A compile takes the newest of each target only, and as many jobs as fit the memory that is free when it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from doctor.errors import InputError
from doctor.profiles import Profile
from doctor.profiles.parts import Pip


@dataclass(frozen=True)
class Build:
    """`environment`: name → value while it is compiled; `python`: packages that its setup.py imports and that it runs
    with, as pip writes them; `job_gib`: memory of one compiler job at its worst."""

    name: str
    environment: tuple[tuple[str, str], ...]
    apt: tuple[str, ...]
    python: tuple[str, ...]
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
    """Without FORCE_BUILD setup.py looks for a wheel among the project's releases, which no hash of ours holds."""
    narrowed = ("GPU_ARCHS", ";".join(targets)) if amd else ("FLASH_ATTN_CUDA_ARCHS", _sm(targets))
    return (("FLASH_ATTENTION_FORCE_BUILD", "TRUE"), narrowed)


def _deepspeed(targets: tuple[str, ...], amd: bool) -> tuple[tuple[str, str], ...]:
    """Without DS_BUILD_* it compiles nothing, and each operator where it is first used, which takes a compiler there;
    without DS_ACCELERATOR it takes a build without a GPU in sight for one for the CPU. `cuda` is ROCm's name too."""
    ours = (("DS_ACCELERATOR", "cuda"), ("DS_BUILD_FUSED_ADAM", "1"), ("DS_BUILD_FUSED_LAMB", "1"))
    archs = ("PYTORCH_ROCM_ARCH", ";".join(targets)) if amd else ("TORCH_CUDA_ARCH_LIST", _dotted(targets))
    return (archs, *ours)


def _transformer_engine(targets: tuple[str, ...], amd: bool) -> tuple[tuple[str, str], ...]:
    """Without FORCE_BUILD setup.py fetches a wheel of the project's releases, which no hash of ours holds."""
    if amd:
        return (("NVTE_FRAMEWORK", "pytorch"), ("NVTE_ROCM_ARCH", ";".join(targets)))
    return (("NVTE_PYTORCH_FORCE_BUILD", "TRUE"), ("NVTE_CUDA_ARCHS", _sm(targets)))


@dataclass(frozen=True)
class _Way:
    """How a package is compiled. `python`: beside torch."""

    variables: Variables
    gib: int
    python: tuple[str, ...]
    source: str


_CPP = ("build-essential", "git")
_TOOLS = ("ninja", "packaging", "psutil", "setuptools", "wheel")
# Variables and imports as the setup.py of each has them. Memory of a job: flash-attention's own setup.py counts 9 GB of
# free memory for each; the others' templates are smaller, and 4 GB is what pytorch/pytorch#108174 sees at most.
_KNOWN: dict[str, _Way] = {
    "flash-attn": _Way(_flash_attn, 9, ("einops",), "flash-attn 2.8.3 setup.py (MAX_JOBS, FLASH_ATTN_CUDA_ARCHS)"),
    "transformer-engine-torch": _Way(
        _transformer_engine,
        4,
        ("einops", "nvdlfw-inspect", "nvidia-cudnn-frontend>=1.29.0", "onnx", "onnxscript", "pybind11", "pydantic"),
        "transformer-engine-torch 2.20.2 setup.py (NVTE_PYTORCH_FORCE_BUILD, MAX_JOBS)",
    ),
    "deepspeed": _Way(
        _deepspeed,
        4,
        ("einops", "hjson", "msgpack", "numpy", "nvidia-ml-py", "py-cpuinfo", "pydantic>=2", "tqdm"),
        "deepspeed 0.19.8 setup.py, op_builder/builder.py (DS_BUILD_*, TORCH_CUDA_ARCH_LIST)",
    ),
}
_COMPILERS = {"nvidia": ("-devel-", "nvidia/cuda:*-devel-*"), "amd": ("rocm", "rocm/dev-ubuntu-*:*-complete")}


def builds(profile: Profile, targets: tuple[str, ...], runtime: str | None) -> tuple[Build, ...]:
    """In the profile's order. `runtime`: torch's CUDA or ROCm. Raises InputError where a package can't be compiled."""
    wish = profile.image
    asked = [p for p in wish.pip if p.compile] if wish else []
    amd = profile.hardware.vendor == "amd"
    compiler = _compiler(profile, asked[0].name, runtime) if asked else ()
    return tuple(_build(profile, package, targets, amd, compiler) for package in asked)


def _build(profile: Profile, package: Pip, targets: tuple[str, ...], amd: bool, compiler: tuple[str, ...]) -> Build:
    way = _KNOWN.get(package.name)
    if way is None:
        raise InputError(f"{profile.name}: compile = true of {package.name}: known are {', '.join(_KNOWN)}")
    if not targets:
        raise InputError(f"{profile.name}: {package.name} is compiled: [image] targets says for which GPUs")
    needs = tuple(sorted({*_TOOLS, *way.python, *compiler}))
    return Build(package.name, way.variables(targets, amd), _CPP, needs, way.gib, way.source)


def _compiler(profile: Profile, first: str, runtime: str | None) -> tuple[str, ...]:
    """Of GPU code: () where the base brings it; else the wheels of nvcc, of torch's own CUDA. Those of CUDA 13 lie
    together as a toolkit does (compile.sh makes one of them), those before do not."""
    base = (profile.image.base if profile.image else None) or ""
    vendor = "amd" if profile.hardware.vendor == "amd" else "nvidia"
    mark, wanted = _COMPILERS[vendor]
    if mark in base:
        return ()
    if vendor == "nvidia" and runtime and runtime.startswith("13."):
        series = f"=={runtime}.*"
        return tuple(f"{name}{series}" for name in ("nvidia-cuda-crt", "nvidia-cuda-nvcc", "nvidia-nvvm"))
    raise InputError(
        f"{profile.name}: {first} is compiled, and base {base or None} has no compiler of GPU code; a base such as "
        f"{wanted} has"
    )
