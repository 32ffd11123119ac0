"""torch has no code for this GPU's architecture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Rule, Severity, Subject, evidence
from doctor.rules import python_files, run_line
from doctor.rules.integrated import is_integrated
from doctor.rules.torch_archs import (
    made_for,
    no_wheel_serves,
    of_another_gpu,
    runs,
    too_new_for_wheel,
    torch_serves,
    within_told_range,
)
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
pass as a served one; it is an integrated GPU beside one that is served; the list of architectures is not known. Where
a text tells of another failure and another GPU is served, it is information. A
warning of torch names a GPU between the capabilities that it gives itself, or of the last one's major.

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


def excludes(machine: Snapshot) -> bool:
    """Where torch warns of a GPU that it serves all the same, or of one that the program does not take, and nothing
    fails for want of code."""
    beside = within_told_range(machine) or (of_another_gpu(machine) and machine.symptom("cuda-no-kernel-image") is None)
    return beside and machine.symptom(*_NO_CODE) is None


def unheard(machine: Snapshot) -> bool:
    """Where a stream is being captured and no code is missed: kernels were launched into it. Where the number of a GPU
    that is not there is refused, before any code is looked for, or a kernel that was found, for the size of its grid.
    Where torch warns of a GPU that the program does not take."""
    refused = machine.symptom("kernel-itself-refused-told")
    too_large = refused is not None and "NVRTC" not in refused.text
    other = too_large or machine.symptom("capture-not-permitted", "invalid-device-ordinal") is not None
    return (other and machine.symptom(*_NO_CODE) is None) or (of_another_gpu(machine) and excludes(machine))


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each architecture that torch has no code for."""
    yield from python_files.torch_ptx(machine, kb)
    vendor, archs = made_for(machine, kb)
    gpus = [g for g in machine.of_vendor(vendor or "-") if g.arch]
    if vendor is None or (vendor == "nvidia" and not archs):
        yield from _by_release(machine, kb)
    if not archs or not gpus:
        return
    served = [g for g in gpus if runs(g.arch or "", archs) or _overridden(machine, archs, vendor)]
    unserved = {g.arch for g in gpus if g not in served and not (is_integrated(g) and served)}
    for arch in sorted(unserved - {None}, key=str):
        first = next(g for g in gpus if g.arch == arch)
        yield Finding(
            summary=" ".join(("torch", *filter(None, (machine.torch.version or "")[:40].split())))
            + f" has no code for {str(arch)[:20]} ({(first.name or first.key)[:40]}).",
            severity=Severity.INFO
            if _unseen(machine, vendor) or (served and (excludes(machine) or _fails_elsewhere(machine)))
            else Severity.WARNING
            if served or _fails_earlier(machine, vendor)
            else Severity.ERROR,
            suspect=2 if _unseen(machine, vendor) else 0,
            subject=Subject(kind="gpu", id=first.key),
            evidence=(
                *evidence(machine, ("torch.version", "torch.arch_list", f"gpus[{first.key}].arch")),
                Evidence(text=f"torch is built for {', '.join(archs)}"[:300], source=machine.source("torch.arch_list")),
            ),
            fixes=(install(machine, vendor or "nvidia"),),
            verify=see_gpu(machine),
            explains=(*RULE.explains, *(_OF_A_LIBRARY if not served and machine.symptom(*_MET_BY_TORCH_TOO) else ())),
        )


def _fails_elsewhere(machine: Snapshot) -> bool:
    """Whether a text tells of a failure and of none that an unserved GPU beside a served one has: that GPU may drive
    the display, or be hidden."""
    from doctor.knowledge.hearsay import trouble

    own = any(symptom.key.startswith("user-error-") for symptom in machine.symptoms)
    if not run_line.from_text(machine, "gpus") or not (own or trouble(machine, "")):
        return False
    return machine.symptom(*_NO_CODE, *_NO_FILE, *_OF_UNSERVED) is None


def _unseen(machine: Snapshot, vendor: str | None) -> bool:
    """Whether torch of a text sees no AMD GPU at all: HIP counts one that torch has no code for too."""
    reports = machine.symptom("torch-cannot-use-gpu-webui", "torch-reports-no-gpu")
    return vendor == "amd" and reports is not None and machine.symptom(*_NO_CODE) is None


def _fails_earlier(machine: Snapshot, vendor: str | None) -> bool:
    """Whether the text is of a failure before any kernel is asked for: a module that does not load, an AMD GPU that is
    not seen. And where nothing fails in it, an override of the target, which it need not show, may be set."""
    if machine.symptom(*_NO_CODE, *_NO_FILE) is not None:
        return False
    if machine.symptom("extension-needs-older-libtorch", *(["gpu-not-seen-said"] if vendor == "amd" else [])):
        return True
    return vendor == "amd" and bool(machine.symptoms) and machine.environment is None and not _fails(machine)


def _fails(machine: Snapshot) -> bool:
    from doctor.knowledge.symptoms import shared

    said = ("program-crashed", "gpu-work-goes-wrong", "values-wrong-said", "amd-memory-access-fault")
    return machine.symptom(*said) is not None or any(shared().causes(s.key, machine) for s in machine.symptoms)


_OF_UNSERVED = (
    *("cuda-no-kernel-image", "program-crashed", "amd-memory-access-fault", "hip-launch-failure"),
    *("hip-no-binary-for-gpu", "torch-install-lacks-capability", "torch-capability-range-told"),
    *("torch-warns-of-capability-told", "gpu-work-goes-wrong", "values-wrong-said"),
)
_NO_FILE = ("rocblas-tensile-missing", "rocblaslt-could-not-load", "miopen-compile-failed")


_NO_CODE = (
    "hip-invalid-device-function",
    "invalid-device-function",
    "hip-invalid-image",
    "hip-shared-object-init-failed",
)
_OF_A_LIBRARY = ("library-missing-gpu-arch",)
_MET_BY_TORCH_TOO = ("kernel-missing-in-named-library", "kernel-image-missing-in-compiled-extension")
"""The error stands beside a library's name; where torch has no code for the GPU either, it is torch's own."""


def _by_release(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """Whose build torch is was not told, and no wheel of its release has code for the GPU; or the CUDA of the wheel is
    older than the GPU."""
    gpus = [g for g in machine.of_vendor("nvidia") if g.arch]
    older = {g.arch for g in gpus if too_new_for_wheel(machine, kb, g.arch or "")}
    unserved = {g.arch: g for g in gpus if g.arch in older or no_wheel_serves(machine, kb, g.arch or "")}
    if len(unserved) < len({g.arch for g in gpus}) or machine.of_vendor("amd"):
        return
    for arch, gpu in sorted(unserved.items(), key=str):
        yield Finding(
            summary=(
                f"torch {(machine.torch.version or '')[:40]} is built with a CUDA older than {str(arch)[:20]}"
                if arch in older
                else f"No wheel of torch {(machine.torch.version or '')[:40]} has code for {str(arch)[:20]}"
            )
            + f" ({(gpu.name or gpu.key)[:40]}).",
            severity=Severity.WARNING,
            subject=Subject(kind="gpu", id=gpu.key),
            evidence=evidence(machine, ("torch.version", f"gpus[{gpu.key}].arch", f"gpus[{gpu.key}].name")),
            fixes=(install(machine, "nvidia"),),
            verify=see_gpu(machine),
        )


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """What torch was built for is known, and so is the architecture of every GPU of that vendor."""
    vendor, archs = made_for(machine, kb)
    gpus = machine.of_vendor(vendor or "-")
    return torch_serves(machine, kb) or (bool(archs and gpus) and all(g.arch for g in gpus))


def _overridden(machine: Snapshot, archs: tuple[str, ...], vendor: str | None) -> bool:
    """Whether HSA_OVERRIDE_GFX_VERSION makes the GPUs pass as one that torch has code for."""
    for name, value in (machine.environment or {}).items():
        if vendor == "amd" and name.startswith("HSA_OVERRIDE_GFX_VERSION"):
            parts = value.split(".")
            if len(parts) == 3 and all(p.isdigit() for p in parts):
                return runs(f"gfx{parts[0]}{int(parts[1]):x}{int(parts[2]):x}", archs)
    return False
