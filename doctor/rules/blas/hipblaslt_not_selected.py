from __future__ import annotations

from collections.abc import Iterator

from doctor.blas.predict import on_rocm
from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import set_to, unset
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="hipblaslt-not-selected",
    severity=Severity.WARNING,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="Matrix products run on rocBLAS, but hipBLASLt is preferred for this GPU.",
    needs=({"gpus", "torch.version"},),
    facts_decide=False,
    proven="synthetic",
    order=82,
    tags=("amd", "blas"),
    doc="""
## What it finds
Texts that show rocBLAS running where hipBLASLt should run.

## Why it matters
Matrix products are several times slower than they could be.

## Not raised when
hipBLASLt is not preferred for these GPUs or has no kernels for them, or torch uses it already. Without an error
message it is information.

## How to confirm
`torch.backends.cuda.preferred_blas_library()`.

## Fix
Set TORCH_BLAS_PREFER_HIPBLASLT=1.

## Fix safety
Applies to programs started afterwards; results differ in the last digits.

## References
https://github.com/pytorch/pytorch/pull/128753
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """The variable that refuses it is removed; else the one that asks for it is set."""
    if (machine.environment or {}).get("ROCBLAS_USE_HIPBLASLT") == "0":
        return (unset(machine, "ROCBLAS_USE_HIPBLASLT"),)
    return (set_to(machine, "Run matrix products on hipBLASLt.", TORCH_BLAS_PREFER_HIPBLASLT="1"),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """torch's choice by its version, the GPUs and the variable."""
    archs = sorted({str(g.arch).split(":")[0] for g in machine.of_vendor("amd") if g.arch})
    want = [a for a in archs if a.startswith(_WANT) or _refused(machine)]
    why = _why(machine, archs) if want and machine.torch.build != "cuda" else None
    if why is None:
        return
    text = any(run_line.from_text(machine, f) for f in ("torch.version", "environment[ROCBLAS_USE_HIPBLASLT]"))
    # What ends at its own check, or is about how many devices there are, is not about speed.
    refused = machine.symptom(*_ENDS, *_OF_CONVOLUTIONS) is not None
    yield Finding(
        summary=f"Matrix products on {want[0]} run on rocBLAS, not hipBLASLt: {why}.",
        severity=Severity.INFO,
        suspect=4 if text and not refused else 0,
        subject=Subject(kind="package", id="torch"),
        evidence=evidence(machine, ("torch.version", "environment[TORCH_BLAS_PREFER_HIPBLASLT]", "gpus")),
        remedies=advice(machine, kb),
    )


_OF_CONVOLUTIONS = ("miopen-workspace-missing",)
"""What is slow are convolutions, which MIOpen does."""
_ENDS = ("torch-lacks-cuda-parts",)
_WANT = ("gfx90a", "gfx942", "gfx950", "gfx120", "gfx115")
_LIBRARY = "TORCH_BLAS_PREFER_HIPBLASLT"


def _refused(machine: Snapshot) -> bool:
    """Whether hipBLASLt would be taken, were it not for the variable."""
    environment = machine.environment or {}
    if environment.get(_LIBRARY) != "0":
        return False
    without = {name: value for name, value in environment.items() if name != _LIBRARY}
    return on_rocm(machine.model_copy(update={"environment": without})).library == "hipblaslt"


def _why(machine: Snapshot, archs: list[str]) -> str | None:
    """None where torch takes hipBLASLt or has none for the GPU, where the tables can't tell, or it was asked for."""
    environment = machine.environment or {}
    if environment.get("ROCBLAS_USE_HIPBLASLT") == "0":
        return "ROCBLAS_USE_HIPBLASLT=0 selects it"
    choice = on_rocm(machine)
    if choice.library != "rocblas" or choice.supported is False or environment.get(_LIBRARY) == "1":
        return None
    return choice.reasons[-1].text
