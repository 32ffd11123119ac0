"""torch has no code for this GPU's architecture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Rule, Severity, Subject, evidence
from doctor.rules import python_files
from doctor.rules.torch_build_at_hand import build_of
from doctor.rules.torch_install import install, see_gpu

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="torch-missing-gpu-arch",
    severity=Severity.ERROR,
    title="torch has no code for this GPU's architecture.",
    needs=(
        {"torch.arch_list", "gpus"},
        {"torch.version", "gpus"},
    ),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    tags=(
        "python",
        "amd",
        "nvidia",
    ),
    doc="""## What it finds
A GPU whose sm_XX or gfxXXX is not served by any architecture that torch was compiled for.

## Why it matters
'no kernel image is available for execution on the device', 'invalid device function', or a crash in the first kernel.

## Not raised when
Code of the same major and a lower minor, PTX, or a generic gfx target serves it; HSA_OVERRIDE_GFX_VERSION makes it
pass as a served one; it is an integrated GPU beside one that is served; the list of architectures is not known.

## How to confirm
`python -c 'import torch; print(torch.cuda.get_arch_list())'`

## Fix
Install a build with code for this GPU.

## Fix safety
Replaces torch in this environment.

## References
https://docs.pytorch.org/docs/stable/generated/torch.cuda.get_arch_list.html
""",
)

_SOLE = {53, 62, 72, 87, 101, 110}
"""Code for these runs on that device alone (torch 2.15 torch/cuda/__init__.py, 2026-11-20)."""
_GENERIC = {
    "gfx9-generic": (900, 902, 904, 906, 909),
    "gfx10-1-generic": (1010, 1011, 1012, 1013),
    "gfx10-3-generic": (1030, 1031, 1032, 1033, 1034, 1035, 1036),
    "gfx11-generic": (1100, 1101, 1102, 1103, 1150, 1151, 1152, 1153),
    "gfx12-generic": (1200, 1201),
    "gfx9-4-generic": (940, 941, 942, 950),
}
"""What LLVM's generic AMDGPU targets run on (llvm.org AMDGPUUsage)."""
_CODE = re.compile(r"^(?P<kind>sm_|compute_)?(?P<major>\d+)\.?(?P<minor>\d)[af]?(?P<ptx>\+PTX)?$")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each architecture that torch has no code for."""
    yield from python_files.torch_ptx(machine, kb)
    vendor, archs = _made_for(machine, kb)
    gpus = [g for g in machine.of_vendor(vendor or "-") if g.arch]
    if not archs or not gpus:
        return
    served = [g for g in gpus if runs(g.arch or "", archs) or _overridden(machine, archs, vendor)]
    for arch in sorted({g.arch for g in gpus if g not in served and not (g.integrated and served)} - {None}, key=str):
        first = next(g for g in gpus if g.arch == arch)
        yield Finding(
            summary=f"torch {(machine.torch.version or '')[:40]} has no code for {str(arch)[:20]}"
            f" ({(first.name or first.key)[:40]}).",
            severity=Severity.WARNING if served else Severity.ERROR,
            subject=Subject(kind="gpu", id=first.key),
            evidence=(
                *evidence(machine, ("torch.version", "torch.arch_list", f"gpus[{first.key}].arch")),
                Evidence(text=f"torch is built for {', '.join(archs)}"[:300], source=machine.source("torch.arch_list")),
            ),
            fixes=(install(machine, vendor or "nvidia"),),
            verify=see_gpu(machine),
        )


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """What torch was built for is known, and so is the architecture of every GPU of that vendor."""
    vendor, archs = _made_for(machine, kb)
    gpus = machine.of_vendor(vendor or "-")
    return bool(archs and gpus) and all(g.arch for g in gpus)


def _made_for(machine: Snapshot, kb: Knowledge) -> tuple[str | None, tuple[str, ...] | None]:
    """The vendor, and the architectures by torch itself, else those of the official wheel."""
    torch, build = machine.torch, build_of(machine, kb)
    vendor = {"cuda": "nvidia", "rocm": "amd"}.get(build.kind) if build else None
    if torch.arch_list or vendor is None or build is None:
        return vendor, torch.arch_list
    tag = build.cuda if vendor == "nvidia" else f"rocm{torch.rocm}" if _official(torch.version) else None
    return vendor, kb.torch_archs(torch.version, tag) if torch.version and tag else None


def _official(version: str | None) -> bool:
    """`2.5.1+rocm6.2`, as on PyTorch's own index; AMD's wheels are built for other lists."""
    return re.fullmatch(r"\d+\.\d+\.\d+\+rocm\d+\.\d+(?:\.\d)?", version or "") is not None


def runs(arch: str, built: tuple[str, ...]) -> bool:
    """Whether code for `built` runs on `arch`: same major and a minor at or below, PTX at or below, same gfx."""
    if arch.startswith("gfx"):
        mine = arch.split(":")[0]
        return any(b.split(":")[0] == mine or int_of(mine) in _GENERIC.get(b, ()) for b in built)
    device = _CODE.match(arch)
    if not device:
        return True
    here = int(device["major"]) * 10 + int(device["minor"])
    return any(_serves(code, here) for code in map(_CODE.match, built) if code)


def _serves(code: re.Match[str], device: int) -> bool:
    number = int(code["major"]) * 10 + int(code["minor"])
    if (code["kind"] == "compute_" or code["ptx"]) and number <= device:
        return True
    if number in _SOLE or device in _SOLE:
        return number == device and code["kind"] != "compute_"
    return number // 10 == device // 10 and number <= device and code["kind"] != "compute_"


def int_of(gfx: str) -> int:
    """1031 of `gfx1031`; -1 for a target with letters."""
    body = gfx.removeprefix("gfx")
    return int(body) if body.isdigit() else -1


def _overridden(machine: Snapshot, archs: tuple[str, ...], vendor: str | None) -> bool:
    """Whether HSA_OVERRIDE_GFX_VERSION makes the GPUs pass as one that torch has code for."""
    for name, value in (machine.environment or {}).items():
        if vendor == "amd" and name.startswith("HSA_OVERRIDE_GFX_VERSION"):
            parts = value.split(".")
            if len(parts) == 3 and all(p.isdigit() for p in parts):
                return runs(f"gfx{parts[0]}{int(parts[1]):x}{int(parts[2]):x}", archs)
    return False
