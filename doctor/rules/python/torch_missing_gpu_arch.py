from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import gfx_override, python_files, run_line
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.error_texts import failing
from doctor.rules.lib.hardware import named_gpu
from doctor.rules.lib.integrated import is_integrated
from doctor.rules.lib.torch_archs import made_for, no_wheel_serves, outside_cuda, runs, torch_serves
from doctor.rules.lib.torch_install import install, run_kernel, solved

RULE = Rule(
    id="torch-missing-gpu-arch",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.TORCH,
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
A GPU whose sm_XX or gfxXXX does not match any architecture that torch was compiled for.

## Why it matters
The first kernel fails or crashes: 'no kernel image is available for execution on the device', 'invalid device
function'.

## Not raised when
Code of the same major and a lower minor, PTX, or a generic gfx target covers it; HSA_OVERRIDE_GFX_VERSION makes it
pass for a supported one; it is an integrated GPU beside a supported one; the list of architectures is not known. If a
text shows another failure and another GPU is supported, it is information. A torch warning names a GPU between the
capabilities that it lists, or of the last one's major.

## How to confirm
`python -c 'import torch; print(torch.cuda.get_arch_list())'`

## Fix
`doctor solve torch` prints the build with code for this GPU, of the same torch release where there is one:
`pip install torch==RELEASE --index-url https://download.pytorch.org/whl/cu128` (RTX 50). For AMD GPUs that no build
supports, see the override in amd-gpu-unsupported-by-rocm.

## References
https://docs.pytorch.org/docs/stable/generated/torch.cuda.get_arch_list.html
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """For an error text alone: a build with code for the first GPU that is known."""
    gfx = next((g.arch for g in machine.of_vendor("amd") if g.arch), None)
    if gfx:
        return gfx_override.remedies(machine, kb, gfx)
    return (install(machine, "nvidia"),) if solved(machine, "nvidia") else ()


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    yield from python_files.torch_ptx(machine, kb)
    vendor, archs = made_for(machine, kb)
    gpus = [g for g in machine.of_vendor(vendor or "-") if g.arch]
    if vendor is None or (vendor == "nvidia" and not archs):
        yield from _by_release(machine, kb)
    if not archs or not gpus:
        return
    pasted = run_line.from_text(machine, "torch.version")
    served = [
        g for g in gpus if runs(kb, g.arch or "", archs, machine.torch.cuda) or _overridden(machine, kb, archs, vendor)
    ]
    unserved = {g.arch for g in gpus if g not in served and not (is_integrated(g) and served)}
    for arch in sorted(unserved - {None}, key=str):
        first = next(g for g in gpus if g.arch == arch)
        yield Finding(
            summary=" ".join(("torch", *filter(None, (machine.torch.version or "")[:40].split())))
            + f" has no code for {named_gpu(first)}.",
            severity=Severity.INFO
            if _unseen(machine, vendor) or (served and _fails_elsewhere(machine))
            else Severity.WARNING
            if served or _fails_earlier(machine, vendor)
            else Severity.ERROR,
            suspect=2 if _unseen(machine, vendor) else 0,
            subject=Subject(kind="gpu", id=first.key),
            evidence=(
                *evidence(machine, ("torch.version", "torch.arch_list", f"gpus[{first.key}].arch")),
                Evidence(text=f"torch is built for {', '.join(archs)}"[:300], source=machine.source("torch.arch_list")),
            ),
            remedies=gfx_override.remedies(machine, kb, str(arch))
            if vendor == "amd"
            else (install(machine, "nvidia"),),
            verify=run_kernel(machine),
            explains=(*RULE.explains, *(() if pasted else ("amd-gpu-unsupported-by-rocm",))),
        )


def _fails_elsewhere(machine: Snapshot) -> bool:
    """Whether a text tells of a failure and of none that an unserved GPU beside a served one has: that GPU may drive
    the display, or be hidden."""
    if not run_line.from_text(machine, "gpus") or not failing(machine):
        return False
    return machine.symptom(*_NO_CODE, *_NO_FILE, *_OF_UNSERVED) is None


def _unseen(machine: Snapshot, vendor: str | None) -> bool:
    """Whether torch of a text sees no AMD GPU at all: HIP counts one that torch has no code for too."""
    reports = machine.symptom("torch-cannot-use-gpu-webui", "torch-reports-no-gpu", "torch-reports-no-hip-gpu")
    return vendor == "amd" and reports is not None and machine.symptom(*_NO_CODE) is None


def _fails_earlier(machine: Snapshot, vendor: str | None) -> bool:
    """Whether the text is of a failure before any kernel is asked for: a module that does not load, an AMD GPU that is
    not seen. And where nothing fails in it, an override of the target, which it need not show, may be set."""
    if machine.symptom(*_NO_CODE, *_NO_FILE) is not None:
        return False
    if machine.symptom("extension-needs-older-libtorch"):
        return True
    return vendor == "amd" and bool(machine.symptoms) and machine.environment is None and not _fails(machine)


def _fails(machine: Snapshot) -> bool:
    crashed = machine.symptom("program-crashed", "amd-memory-access-fault")
    return crashed is not None or failing(machine)


_OF_UNSERVED = (
    *("cuda-no-kernel-image", "program-crashed", "amd-memory-access-fault", "hip-launch-failure"),
    *("hip-no-binary-for-gpu", "torch-install-lacks-capability"),
)
_NO_FILE = ("rocblas-tensile-missing",)


_NO_CODE = (
    "hip-invalid-device-function",
    "kernel-image-invalid",
    "hip-shared-object-init-failed",
)


def _by_release(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """The build of torch is unknown, and no wheel of its release has code for the GPU; or the build's CUDA can make
    none for it."""
    gpus = [g for g in machine.of_vendor("nvidia") if g.arch]
    why = {g.arch: outside_cuda(machine, kb, g.arch or "") for g in gpus}
    unserved = {g.arch: g for g in gpus if why[g.arch] or no_wheel_serves(machine, kb, g.arch or "")}
    if len(unserved) < len({g.arch for g in gpus}) or machine.of_vendor("amd"):
        return
    for arch, gpu in sorted(unserved.items(), key=str):
        yield Finding(
            summary=(
                f"torch {(machine.torch.version or '')[:40]} {why[arch]} {named_gpu(gpu)}."
                if why[arch]
                else f"No wheel of torch {(machine.torch.version or '')[:40]} has code for {named_gpu(gpu)}."
            ),
            severity=Severity.WARNING if run_line.from_text(machine, "torch.version") else Severity.ERROR,
            subject=Subject(kind="gpu", id=gpu.key),
            evidence=evidence(machine, ("torch.version", f"gpus[{gpu.key}].arch", f"gpus[{gpu.key}].name")),
            remedies=(install(machine, "nvidia"),),
            verify=run_kernel(machine),
        )


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """What torch was built for is known, and so is the architecture of every GPU of that vendor."""
    vendor, archs = made_for(machine, kb)
    gpus = machine.of_vendor(vendor or "-")
    return torch_serves(machine, kb) or (bool(archs and gpus) and all(g.arch for g in gpus))


def _overridden(machine: Snapshot, kb: Knowledge, archs: tuple[str, ...], vendor: str | None) -> bool:
    """Whether HSA_OVERRIDE_GFX_VERSION makes the GPUs pass as one that torch has code for."""
    for name, value in (machine.environment or {}).items():
        if vendor == "amd" and name.startswith("HSA_OVERRIDE_GFX_VERSION"):
            parts = value.split(".")
            if len(parts) == 3 and all(p.isdigit() for p in parts):
                return runs(kb, f"gfx{parts[0]}{int(parts[1]):x}{int(parts[2]):x}", archs)
    return False
