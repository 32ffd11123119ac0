"""The rocBLAS or hipBLASLt kernel files for this GPU are missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject
from doctor.rules import python_code
from doctor.rules.blas_support import rocm_of
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="blas-kernels-missing",
    severity=Severity.ERROR,
    title="The rocBLAS or hipBLASLt kernel files for this GPU are missing.",
    needs=({"environment"}, {"binaries", "gpus"}),
    facts_decide=False,
    proven="synthetic",
    order=35,
    tags=("amd", "blas"),
    doc="""
## What it finds
A rocBLAS in torch's wheel without kernel files for the GPU, and error texts of rocBLAS or hipBLASLt that say that they
cannot read the kernel files of this GPU.

## Why it matters
Every matrix product aborts.

## Not raised when
The library path that a variable names is that of the ROCm at hand, and the rocBLAS that came with torch has kernel
files for every GPU (a generic target counts). HSA_OVERRIDE_GFX_VERSION is set: the GPU passes as another.

## How to confirm
List rocblas/library in the folder that the error names.

## Fix
Install the library package of this GPU's target, or a build that carries it.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://github.com/ROCm/rocBLAS/issues/1339
""",
)
FIXES = (
    Fix(
        text="Install the rocBLAS and hipBLASLt packages, or a torch build, that carry the kernels of this gfx target."
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The rocBLAS in torch's wheel by its files; a variable that names the kernel files of another ROCm."""
    yield from python_code.rocblas_kernels(machine, kb)
    rocm = rocm_of(machine)
    for name in _PATHS:
        value = (machine.environment or {}).get(name, "")
        named = re.search(r"rocm-(\d{1,2}\.\d{1,2})", value)
        if named and rocm and Dotted(rocm).series() != named[1]:
            yield Finding(
                summary=f"{name} names kernel files of ROCm {named[1]}; ROCm {rocm[:12]} is at hand.",
                subject=Subject(kind="variable", id=name),
                evidence=(Evidence(text=f"{name}={value[:120]}", source=machine.source(f"environment[{name}]")),),
                fixes=(
                    Fix(text=f"Start without {name}.", command=("env", "-u", name, "COMMAND"), where="environment"),
                ),
            )


_PATHS = ("ROCBLAS_TENSILE_LIBPATH", "HIPBLASLT_TENSILE_LIBPATH")
