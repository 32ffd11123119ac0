"""AMD's own wheels of torch, for GPUs that no build of pytorch.org has code for: the kernels are chosen by an extra."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from doctor.knowledge import Knowledge
from doctor.knowledge.frameworks import DeviceWheels
from doctor.knowledge.windows import UNKNOWN_HERE
from doctor.resolve.command import Tool, start
from doctor.resolve.machine import judge
from doctor.resolve.model import IN_TREE, Pick, Reason, Solution, Status, Target, worst
from doctor.resolve.packages import FAMILY
from doctor.resolve.torch_builds import amdgpu_serves
from doctor.versions import Dotted

_GLIBC = "2.28"
"""Of the manylinux container that TheRock builds in (ROCm/TheRock docs/development, 2026-08)."""
_WITH_DEVICE = ("torch", "torchvision")
"""Packages with code for GPUs; torchaudio has none (ROCm/TheRock RELEASES.md, 2026-08)."""


def stack(kb: Knowledge, target: Target, wanted: Sequence[Requirement], tool: Tool) -> Solution | None:
    """torch and its family from AMD's index; None for other packages, for named versions and for unlisted GPUs."""
    gfx = (target.arch or "").partition(":")[0]
    names = [canonicalize_name(wish.name) for wish in wanted]
    found = next((w for w in kb.device_wheels() if gfx in w.gpus and _fit(kb, w, target)), None)
    if found is None or any(w.specifier or w.extras for w in wanted) or not {"torch"} <= set(names) <= set(FAMILY):
        return None
    pins = {name: f"=={version}" for name, version in found.pins.items()}
    wishes = [(f"{name}[device-{gfx}]" if name in _WITH_DEVICE else name) + pins.get(name, "") for name in names]
    reason = Reason("gpu", "yes", f"AMD's {found.channel} wheels have an extra for {gfx}", found.source, found.as_of)
    note = f"AMD's {found.channel} channel; its wheels bring their own ROCm."
    reasons: tuple[Reason, ...] = (reason,)
    if answer := _driver(kb, found, target):
        reasons += (answer,)
    elif target.driver or target.rocm:
        text = f"whether the amdgpu driver supports the ROCm of AMD's {found.channel} wheels is {UNKNOWN_HERE}"
        reasons += (Reason("driver", "unknown", text, found.source, found.as_of),)
    picks = tuple(
        Pick(
            package=name,
            version=found.pins.get(name, ""),
            requirement=wish,
            index=(found.index,),
            note=note if name == "torch" else None,
            reasons=(reason,),
        )
        for name, wish in zip(names, wishes, strict=True)
    )
    command = (*start(target, tool), *wishes, "--index-url", found.index)
    reasons += judge(kb, target)
    status: Status = "solved" if worst(reasons) == "yes" else "unknown"
    return Solution(status, target, tuple(map(str, wanted)), picks=picks, commands=(command,), reasons=reasons)


def _fit(kb: Knowledge, wheels: DeviceWheels, target: Target) -> bool:
    """Whether nothing known speaks against them: Python, processor, C library, and the driver of the machine."""
    if wheels.python and target.python and target.python not in wheels.python:
        return False
    if target.machine != "x86_64" or target.libc == "musl" or (target.glibc and Dotted(target.glibc) < _GLIBC):
        return False
    answer = _driver(kb, wheels, target)
    return answer is None or answer.verdict != "no"


def _driver(kb: Knowledge, wheels: DeviceWheels, target: Target) -> Reason | None:
    """Whether the driver serves their ROCm; None where one of the two is not known."""
    if not wheels.rocm or not (target.driver or target.rocm) or target.driver == IN_TREE:
        return None
    return amdgpu_serves(kb, target, wheels.rocm)
