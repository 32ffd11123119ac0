from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import unset
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.blas_support import hipblaslt_lacks

RULE = Rule(
    id="hipblaslt-unsupported-arch",
    severity=Severity.WARNING,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="hipBLASLt is selected but has no kernels for this GPU.",
    needs=[{"gpus", "environment"}],
    proven="synthetic",
    order=50,
    facts_decide=False,
    tags=("amd", "blas"),
    doc="""
## What it finds
hipBLASLt chosen, by a variable or by default, on a GPU without hipBLASLt kernels.

## Why it matters
torch falls back with a warning, or matrix products fail.

## Not raised when
The variable is unset or 0, and no error message shows it.

## How to confirm
Unset the variable and check `torch.backends.cuda.preferred_blas_library()`.

## Fix
Choose rocBLAS.

## References
https://github.com/pytorch/pytorch/issues/138067
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Of the variables that ask for hipBLASLt, the one that is set; torch's own where that is not known."""
    name = next((n for n in _ASKING if (machine.environment or {}).get(n) == "1"), _ASKING[0])
    return (unset(machine, name),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding where a variable asks for it on GPUs that hipBLASLt was never built for, or not in this ROCm."""
    env = machine.environment or {}
    name = next((n for n in _ASKING if env.get(n) == "1"), None)
    bare = [g for g in machine.of_vendor("amd") if g.arch and hipblaslt_lacks(machine, g.arch)]
    if name is None or not bare:
        return
    yield Finding(
        summary=f"{name}=1 selects hipBLASLt, which has no kernels for {str(bare[0].arch)[:40]}.",
        subject=Subject(kind="variable", id=name),
        evidence=evidence(machine, [f"gpus[{bare[0].key}].arch", "torch.version", "rocm"]),
        remedies=advice(machine, kb),
    )


_ASKING = ("TORCH_BLAS_PREFER_HIPBLASLT", "ROCBLAS_USE_HIPBLASLT", "PYTORCH_TUNABLEOP_HIPBLASLT_ENABLED")
