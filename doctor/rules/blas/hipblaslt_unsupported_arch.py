"""hipBLASLt is asked for on a GPU it has no kernels for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules.blas_support import hipblaslt_has, hipblaslt_lacks, rocm_of

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="hipblaslt-unsupported-arch",
    severity=Severity.WARNING,
    title="hipBLASLt is asked for on a GPU it has no kernels for.",
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
The variable is unset or 0 and no error text says it.

## How to confirm
Unset the variable and look at `torch.backends.cuda.preferred_blas_library()`.

## Fix
Choose rocBLAS.

## Fix safety
Only the choice of library changes.

## References
https://github.com/pytorch/pytorch/issues/138067
""",
)
FIXES = (
    Fix(
        text="Unset TORCH_BLAS_PREFER_HIPBLASLT, or set it to 0.",
        command=("env", "--unset=TORCH_BLAS_PREFER_HIPBLASLT", "python3"),
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding where a variable asks for it on GPUs that hipBLASLt was never built for, or not in this ROCm."""
    env = machine.environment or {}
    name = next((n for n in _ASKING if env.get(n) == "1"), None)
    bare = [g for g in machine.of_vendor("amd") if g.arch and hipblaslt_lacks(machine, g.arch)]
    if name is None or not bare:
        return
    yield Finding(
        summary=f"{name}=1 asks for hipBLASLt, which has no kernels for {str(bare[0].arch)[:40]}.",
        subject=Subject(kind="variable", id=name),
        evidence=evidence(machine, [f"gpus[{bare[0].key}].arch", "torch.version", "rocm"]),
        fixes=(Fix(text=f"Unset {name}, or set it to 0.", command=("env", f"--unset={name}", "python3")),),
    )


_ASKING = ("TORCH_BLAS_PREFER_HIPBLASLT", "ROCBLAS_USE_HIPBLASLT", "PYTORCH_TUNABLEOP_HIPBLASLT_ENABLED")
_ALWAYS = ("gfx90a", "gfx94", "gfx95")
"""Each release of ROCm that runs one of them with hipBLASLt has its kernels."""


def unheard(machine: Snapshot) -> bool:
    """Where hipBLASLt has kernels for each of the GPUs: what it refuses is the work it was given."""
    archs = [g.arch for g in machine.of_vendor("amd")]
    rocm = rocm_of(machine)
    return bool(archs) and all(
        arch is not None and (arch.startswith(_ALWAYS) or hipblaslt_has(rocm, arch) is True) for arch in archs
    )
