"""A GPU that wants hipBLASLt runs its matrix products on rocBLAS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.blas.predict import on_rocm
from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules import run_line
from doctor.rules.blas_support import hipblaslt_lacks

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="hipblaslt-not-selected",
    severity=Severity.WARNING,
    title="A GPU that wants hipBLASLt runs its matrix products on rocBLAS.",
    needs=({"gpus", "torch.version"},),
    facts_decide=False,
    proven="synthetic",
    order=82,
    tags=("amd", "blas"),
    doc="""
## What it finds
Texts that say that rocBLAS runs where hipBLASLt is meant to.

## Why it matters
Matrix products are several times slower than the GPU can.

## Not raised when
The GPUs are no such ones, hipBLASLt has no kernels for them, or torch takes it by itself. From facts alone it is
information.

## How to confirm
`torch.backends.cuda.preferred_blas_library()`.

## Fix
Set TORCH_BLAS_PREFER_HIPBLASLT=1.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://github.com/pytorch/pytorch/pull/128753
""",
)
FIXES = (Fix(text="Ask for hipBLASLt.", command=("env", "TORCH_BLAS_PREFER_HIPBLASLT=1", "python3")),)


def excludes(machine: Snapshot) -> bool:
    """Where hipBLASLt has no kernels for any of the GPUs: rocBLAS is what they are to run on, whatever torch prints."""
    archs = [gpu.arch for gpu in machine.of_vendor("amd")]
    return bool(archs) and all(arch is not None and hipblaslt_lacks(machine, arch) for arch in archs)


def unheard(machine: Snapshot) -> bool:
    """Where hipBLASLt is said to be the slower one of the two: then it is what runs."""
    return machine.symptom("hipblaslt-slower-told") is not None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """torch's choice by its version, the GPUs and the variable."""
    archs = sorted({str(g.arch).split(":")[0] for g in machine.of_vendor("amd") if g.arch})
    want = [a for a in archs if a.startswith(_WANT) or _refused(machine)]
    why = _why(machine, archs) if want and machine.torch.build != "cuda" else None
    if why is None:
        return
    text = any(run_line.from_text(machine, f) for f in ("torch.version", "environment[ROCBLAS_USE_HIPBLASLT]"))
    slow = machine.symptom("said-slow", "hipblaslt-not-selected", "preferred-blas-said") is not None
    # What ends at its own check, or is about how many devices there are, is not about speed.
    refused = machine.symptom("assertion-of-python-told", "devices-counted-told", *_ENDS, *_OF_CONVOLUTIONS) is not None
    yield Finding(
        summary=f"Matrix products of {want[0]} run on rocBLAS: {why}.",
        severity=Severity.WARNING if slow else Severity.INFO,
        suspect=4 if text and not refused else 0,
        subject=Subject(kind="package", id="torch"),
        evidence=evidence(machine, ("torch.version", "environment[TORCH_BLAS_PREFER_HIPBLASLT]", "gpus")),
        fixes=FIXES,
    )


_OF_CONVOLUTIONS = ("miopen-workspace-missing", "vae-takes-long-told")
"""What is slow are convolutions, which MIOpen does."""
_ENDS = ("rank-raised-told", "torch-lacks-cuda-parts")
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
        return "ROCBLAS_USE_HIPBLASLT=0 asks for it"
    choice = on_rocm(machine)
    if choice.library != "rocblas" or choice.supported is False or environment.get(_LIBRARY) == "1":
        return None
    return choice.reasons[-1].text
