"""Which command puts a torch for this machine's GPUs into the user's environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Fix
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.resolve import Solution

INDEX = "https://download.pytorch.org/whl"
"""PyTorch's own index of builds, as its installation page names it (pytorch.org, 2026-11-20)."""
_CUDA = (
    ("13.0", "cu130"),
    ("12.8", "cu128"),
    ("12.6", "cu126"),
    ("12.4", "cu124"),
    ("12.1", "cu121"),
    ("11.8", "cu118"),
)
_ROCM = ("7.2", "7.1", "7.0", "6.4", "6.3", "6.2", "6.1", "6.0")
"""Builds on that index, newest first (PyTorch releases 2.2 to 2.14, 2026-11-20)."""
_BLACKWELL = 100
_TURING = 75
_LONGEST_PATH = 1024
_FAMILY = ("torch", "torchvision", "torchaudio")


def python_of(machine: Snapshot) -> str:
    """The interpreter that the user works with, where its path is fit to be shown in a command."""
    path = machine.interpreter.path or ""
    return path if path.startswith("/") and path.isprintable() and len(path) < _LONGEST_PATH else "python3"


def cuda_tag(machine: Snapshot) -> str:
    """`cu128`: the newest build that the driver serves and that has code for the GPUs."""
    served = Dotted(machine.nvidia_driver.cuda_version or "12.8")
    tag = next((tag for floor, tag in _CUDA if served >= floor), "cu118")
    archs = [int(g.arch[3:].rstrip("af")) for g in machine.of_vendor("nvidia") if g.arch and g.arch[3:5].isdigit()]
    if archs and min(archs) < _TURING and tag in ("cu130", "cu128"):
        return "cu126"
    if archs and max(archs) >= _BLACKWELL and tag != "cu130":
        return "cu128"
    return tag


def rocm_tag(machine: Snapshot) -> str:
    """`rocm6.4`: the build of the ROCm that is installed, else the newest one."""
    series = {Dotted(i.version).series() for i in machine.rocm or () if i.version}
    return f"rocm{next((v for v in _ROCM if v in series), _ROCM[0])}"


def solved(machine: Snapshot, vendor: str) -> Solution | None:
    """The newest stack of torch and the companions that are installed that fits every GPU of the vendor, the driver,
    the Python and the system; None where too little is known of them, or nothing fits."""
    from dataclasses import replace

    from doctor.knowledge import Knowledge
    from doctor.resolve import from_snapshot, solve

    kb = Knowledge()
    archs = sorted({g.arch for g in machine.of_vendor(vendor) if g.arch and not g.integrated})
    if not archs:
        return None
    target = replace(from_snapshot(kb, machine), vendor="nvidia" if vendor == "nvidia" else "amd", arch=archs[0])
    if vendor == "nvidia" and not target.driver:
        return None
    found = solve(kb, target, _wanted(machine))
    for arch in archs[1:]:
        pinned = [f"torch=={found.build.version}+{found.build.tag}"] if found.build else []
        if solve(kb, replace(target, arch=arch), pinned).status != "solved":
            return None
    return found if found.status == "solved" and found.build else None


def _wanted(machine: Snapshot) -> list[str]:
    held = {p.name for p in machine.packages or ()}
    return [name for name in _FAMILY if name == "torch" or name in held]


def install(machine: Snapshot, vendor: str) -> Fix:
    """Replace torch, with those companions that are installed, by a build for that vendor's GPUs."""
    found = solved(machine, vendor)
    wanted = _wanted(machine)
    if found and found.build:
        tag = found.build.tag
        wanted = [f"torch=={found.build.version}", *(pick.requirement for pick in found.picks)]
    else:
        tag = cuda_tag(machine) if vendor == "nvidia" else rocm_tag(machine)
    label = f"CUDA ({tag})" if vendor == "nvidia" else f"ROCm ({tag})"
    pip = (python_of(machine), "-m", "pip", "install", "--force-reinstall", "--index-url", f"{INDEX}/{tag}")
    return Fix(
        text=f"Install PyTorch's {label} build over it.",
        command=(*pip, *wanted),
        where="environment",
        risk="Replaces torch and what it pins in this environment.",
    )


def see_gpu(machine: Snapshot) -> tuple[str, ...]:
    """The argv that proves torch sees a GPU."""
    return (python_of(machine), "-c", "import torch; print(torch.__version__, torch.cuda.is_available())")
