from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject
from doctor.rules.lib import gfx_override, python_code
from doctor.rules.lib.advice import by_hand, unset
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.blas_support import rocm_of
from doctor.versions import Dotted

RULE = Rule(
    id="blas-kernels-missing",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="rocBLAS or hipBLASLt has no kernel files for this GPU.",
    needs=({"environment"}, {"binaries", "gpus"}),
    facts_decide=False,
    proven="synthetic",
    order=35,
    tags=("amd", "blas"),
    doc="""
## What it finds
A rocBLAS in torch's wheel without kernel files for the GPU, or an error of rocBLAS or hipBLASLt that it cannot read
the kernel files of this GPU.

## Why it matters
Every matrix product aborts.

## Not raised when
The library path that a variable sets is that of the ROCm in use, and the rocBLAS that came with torch has kernel
files for every GPU (a generic target counts). HSA_OVERRIDE_GFX_VERSION is set: the GPU passes as another.

## How to confirm
List rocblas/library in the folder that the error names.

## Fix
Install the library package of this GPU's target, or a build that carries it.

## References
https://github.com/ROCm/rocBLAS/issues/1339
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """A build that has the kernels, or the code of a relative; by target where that is known."""
    archs = sorted({(g.arch or "").partition(":")[0] for g in machine.of_vendor("amd") if g.arch})
    if len(archs) == 1:
        return gfx_override.remedies(machine, kb, archs[0])
    text = (
        "`rocminfo | grep gfx` shows the target; rocBLAS keeps its kernels in lib/rocblas/library, one set per target."
    )
    title = "Install a torch build (or rocBLAS and hipBLASLt packages) with kernels for this gfx target."
    return (by_hand(title, Scope.ENVIRONMENT, text, undo="Install the old version again.", vendor="amd"),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The rocBLAS in torch's wheel by its files; a variable that names the kernel files of another ROCm."""
    yield from python_code.rocblas_kernels(machine, kb)
    rocm = rocm_of(machine)
    for name in _PATHS:
        value = (machine.environment or {}).get(name, "")
        named = re.search(r"rocm-(\d{1,2}\.\d{1,2})", value)
        if named and rocm and Dotted(rocm).series() != named[1]:
            yield Finding(
                summary=f"{name} points to kernel files of ROCm {named[1]}, but ROCm {rocm[:12]} is installed.",
                subject=Subject(kind="variable", id=name),
                evidence=(Evidence(text=f"{name}={value[:120]}", source=machine.source(f"environment[{name}]")),),
                remedies=(unset(machine, name),),
            )


_PATHS = ("ROCBLAS_TENSILE_LIBPATH", "HIPBLASLT_TENSILE_LIBPATH")
