"""A GPU that wants hipBLASLt runs its matrix products on rocBLAS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules import run_line
from doctor.rules.blas_support import preferred
from doctor.versions import Dotted

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
The GPUs are no such ones, or torch takes hipBLASLt by itself. From facts alone it is information.

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


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """torch's choice by its version, the GPUs and the variable."""
    archs = sorted({str(g.arch).split(":")[0] for g in machine.of_vendor("amd") if g.arch})
    refused = (machine.environment or {}).get(_LIBRARY) == "0"
    known = (preferred(machine.torch.version, machine.torch.rocm) or ()) if refused else ()
    want = [a for a in archs if a.startswith(_WANT) or a in known]
    why = _why(machine, archs) if want and machine.torch.build != "cuda" else None
    if why is None:
        return
    text = any(run_line.from_text(machine, f) for f in ("torch.version", "environment[ROCBLAS_USE_HIPBLASLT]"))
    slow = machine.symptom("said-slow", "hipblaslt-not-selected", "preferred-blas-said") is not None
    yield Finding(
        summary=f"Matrix products of {want[0]} run on rocBLAS: {why}.",
        severity=Severity.WARNING if slow else Severity.INFO,
        suspect=4 if text else 0,
        subject=Subject(kind="package", id="torch"),
        evidence=evidence(machine, ("torch.version", "environment[TORCH_BLAS_PREFER_HIPBLASLT]", "gpus")),
        fixes=FIXES,
    )


_WANT = ("gfx90a", "gfx942", "gfx950", "gfx120", "gfx115")
_LIBRARY = "TORCH_BLAS_PREFER_HIPBLASLT"


def _why(machine: Snapshot, archs: list[str]) -> str | None:
    """None where torch takes hipBLASLt, or the tables can't tell."""
    if (machine.environment or {}).get("ROCBLAS_USE_HIPBLASLT") == "0":
        return "ROCBLAS_USE_HIPBLASLT=0 asks for it"
    choice = (machine.environment or {}).get(_LIBRARY)
    takes = preferred(machine.torch.version, machine.torch.rocm)
    if choice == "1" or takes is None:
        return None
    if choice == "0" and (Dotted(machine.torch.version or "") < Dotted("2.7") or not takes):
        return f"{_LIBRARY}=0 asks for it"
    if not takes:
        return "torch before 2.5 takes it unless told otherwise"
    odd = [a for a in archs if a not in takes]
    if odd and len(archs) > 1:
        return f"one GPU that hipBLASLt is not taken for ({odd[0]}) decides for all"
    return f"torch {(machine.torch.version or '')[:20]} does not take hipBLASLt on it" if odd else None
