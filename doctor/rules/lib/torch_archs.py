"""Which GPU architectures torch has code for, and whether that code runs on a GPU."""

from __future__ import annotations

import re

from doctor.facts.snapshot import Snapshot
from doctor.knowledge.gpu_code import way
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.arguments import Knowledge
from doctor.rules.lib.torch_build_at_hand import build_of, on_arm
from doctor.versions import Dotted


def made_for(machine: Snapshot, kb: Knowledge) -> tuple[str | None, tuple[str, ...] | None]:
    """The vendor, and the architectures by torch itself, else those of the official wheel."""
    torch, build = machine.torch, build_of(machine, kb)
    vendor = {"cuda": "nvidia", "rocm": "amd"}.get(build.kind) if build else None
    if torch.arch_list:
        return vendor or ("amd" if torch.arch_list[0].startswith("gfx") else "nvidia"), torch.arch_list
    if vendor is None or build is None:
        return vendor, None
    tag = build.cuda if vendor == "nvidia" else f"rocm{torch.rocm}" if _official(torch.version) else None
    return vendor, kb.torch_archs(torch.version, tag, _wheels_of(machine)) if torch.version and tag else None


def _wheels_of(machine: Snapshot) -> str:
    """The machine whose wheels are installed: those for Arm have code for other GPUs than those for x86."""
    return "aarch64" if on_arm(machine) else "x86_64"


def _official(version: str | None) -> bool:
    """`2.5.1+rocm6.2`, as on PyTorch's own index; AMD's wheels are built for other lists."""
    return re.fullmatch(r"\d+\.\d+\.\d+\+rocm\d+\.\d+(?:\.\d)?", version or "") is not None


def runs(kb: Knowledge, arch: str, built: tuple[str, ...], cuda: str | None = None) -> bool:
    """Whether code for `built` runs on `arch`, as far as is known."""
    found = way(kb, arch, built, cuda=cuda)
    return found.runs or found.kind == "unknown"


def torch_serves(machine: Snapshot, kb: Knowledge) -> bool:
    """Whether torch surely has code for every GPU of its vendor: by its own list, or by that of another build of the
    same release for an earlier minor of the same CUDA, which holds no more than this one."""
    vendor, archs = made_for(machine, kb)
    gpus = machine.of_vendor(vendor or "-")
    archs = archs or (_at_least(machine, kb) if vendor == "nvidia" else None)
    return bool(archs and gpus) and all(g.arch and runs(kb, g.arch, archs or (), machine.torch.cuda) for g in gpus)


def no_wheel_serves(machine: Snapshot, kb: Knowledge, arch: str) -> bool:
    """Whether no official CUDA wheel of torch's release has code for an NVIDIA GPU: by its list of architectures, or,
    where that is not known, because its CUDA does not know the GPU. Asked where the build at hand is not known."""
    torch, build = machine.torch, kb.torch_build(machine.torch.version)
    if torch.arch_list or build is None or torch.version != build.version or build_of(machine, kb) is not None:
        return False
    tags = {tag for tag in (*build.cuda_variants, *build.archs) if re.fullmatch(r"cu\d{3}", tag)}
    return bool(tags) and not any(
        _may_serve(kb, build.archs.get(tag, {}).get(_wheels_of(machine)), tag, arch) for tag in tags
    )


def _may_serve(kb: Knowledge, archs: tuple[str, ...] | None, tag: str, arch: str) -> bool:
    if archs:
        return runs(kb, arch, archs, f"{tag[2:-1]}.{tag[-1]}")
    found, cuda = kb.compute_capability(arch), Dotted(f"{tag[2:-1]}.{tag[-1]}")
    if found is None:
        return True
    return Dotted(found.first_cuda or "0") <= cuda and (not found.last_cuda or cuda <= Dotted(found.last_cuda))


def _at_least(machine: Snapshot, kb: Knowledge) -> tuple[str, ...] | None:
    build, cuda = kb.torch_build(machine.torch.version), Dotted(machine.torch.cuda or "")
    tags = [tag for tag in (build.archs if build else ()) if re.fullmatch(r"cu\d{3}", tag)]
    older = [t for t in tags if int(t[2:4]) == cuda.major and cuda.numbers[1:2] >= (int(t[4:]),)]
    return build.archs[max(older)].get(_wheels_of(machine)) if build and older else None


_WHEEL = Lazy(r"\d+\.\d+\.\d+\+cu\d{3}")


def outside_cuda(machine: Snapshot, kb: Knowledge, arch: str) -> str | None:
    """Why a build whose list of architectures is not known can have no code for an NVIDIA GPU: its CUDA dropped the
    GPU's architecture, or (an official wheel) is older than the first that knows any GPU of that major."""
    found, cuda = kb.compute_capability(arch), Dotted(machine.torch.cuda or "")
    if made_for(machine, kb)[1] or found is None or not cuda.numbers:
        return None
    if found.last_cuda and (cuda.major or 0) > (Dotted(found.last_cuda).major or 0):
        return f"is built with CUDA {str(cuda)[:12]}, which dropped"
    same = (kb.compute_capability(f"{found.cc.partition('.')[0]}.{minor}") for minor in range(10))
    first = min((Dotted(c.first_cuda) for c in same if c and c.first_cuda), default=None)
    older = _WHEEL.fullmatch(machine.torch.version or "") and first is not None and cuda < first
    return "is built with a CUDA too old for" if older else None
