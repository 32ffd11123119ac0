"""Packages that are compiled in the image: which variables narrow them to the image's GPUs, and what a job costs.

A compile takes the newest of each target only, and as many jobs as fit the memory that is free when it runs.
"""

from __future__ import annotations

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


@dataclass(frozen=True)
class _Way:
    """How a package is compiled, by vendor. `{gfx}`, `{sm}` (90;100) and `{dotted}` (9.0;10.0) stand for the targets;
    `python`: beside torch."""

    nvidia: str
    amd: str
    gib: int
    python: tuple[str, ...]
    source: str


_CPP = ("build-essential", "git")
_TOOLS = ("ninja", "packaging", "psutil", "setuptools", "wheel")
# Variables and imports as the setup.py of each has them. Without FORCE_BUILD it takes a wheel of the project's page of
# releases, which no hash of ours holds. Without DS_BUILD_* DeepSpeed compiles each operator where it is first used,
# which takes a compiler there; without DS_ACCELERATOR it builds for the CPU where no GPU is in sight. `cuda` is ROCm's
# name too.
# Memory of a job: flash-attention's own setup.py counts 9 GB of free memory for each; the others' templates are
# smaller, and 4 GB is what pytorch/pytorch#108174 sees at most.
_DEEPSPEED = "DS_ACCELERATOR=cuda DS_BUILD_FUSED_ADAM=1 DS_BUILD_FUSED_LAMB=1"
_KNOWN: dict[str, _Way] = {
    "flash-attn": _Way(
        "FLASH_ATTENTION_FORCE_BUILD=TRUE FLASH_ATTN_CUDA_ARCHS={sm}",
        "FLASH_ATTENTION_FORCE_BUILD=TRUE GPU_ARCHS={gfx}",
        9,
        ("einops",),
        "flash-attn 2.8.3 setup.py (MAX_JOBS, FLASH_ATTN_CUDA_ARCHS)",
    ),
    "transformer-engine-torch": _Way(
        "NVTE_PYTORCH_FORCE_BUILD=TRUE NVTE_CUDA_ARCHS={sm}",
        "NVTE_FRAMEWORK=pytorch NVTE_ROCM_ARCH={gfx}",
        4,
        ("einops", "nvdlfw-inspect", "nvidia-cudnn-frontend>=1.29.0", "onnx", "onnxscript", "pybind11", "pydantic"),
        "transformer-engine-torch 2.20.2 setup.py (NVTE_PYTORCH_FORCE_BUILD, MAX_JOBS)",
    ),
    "deepspeed": _Way(
        f"TORCH_CUDA_ARCH_LIST={{dotted}} {_DEEPSPEED}",
        f"PYTORCH_ROCM_ARCH={{gfx}} {_DEEPSPEED}",
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
    numbers = [target.removeprefix("sm_") for target in targets]
    forms = {"gfx": targets, "sm": numbers, "dotted": [f"{n[:-1]}.{n[-1]}" for n in numbers]}
    text = (way.amd if amd else way.nvidia).format(**{name: ";".join(rows) for name, rows in forms.items()})
    variables = tuple((name, value) for name, _, value in (word.partition("=") for word in text.split()))
    return Build(package.name, variables, _CPP, needs, way.gib, way.source)


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
