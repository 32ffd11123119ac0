"""A compiler, converter, profiler or CUDA's libraries have no support for this GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules.tool_support import unserved

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="gpu-tool-unsupported",
    severity=Severity.INFO,
    title="A compiler, profiler or CUDA's libraries have no support for this GPU.",
    needs=({"tools", "gpus"}, {"cuda", "gpus"}),
    proven="synthetic",
    order=80,
    tags=("tools",),
    doc="""## What it finds
nvcc, hipcc, hipify-clang, Nsight Compute, Nsight Systems, nvprof, rocprof, rocprofv3, ROCm Compute and Systems Profiler
(Omniperf, Omnitrace), or the libraries of a CUDA, in a release that has no support for a GPU that is here, whose
programs the driver can't run, or that can't read the CUDA that is installed.

## Why it matters
The compiler refuses the architecture, the profiler finds no GPU or no metrics, however it is called.

## Not raised when
The release is in no table, its version or the GPU's architecture is not known, or the tool serves the GPU. It is a
remark: a tool that nobody calls does no harm.

## How to confirm
`nvcc --list-gpu-code`, `ncu --list-chips`, `nsys --version`, `rocprofv3 --version`

## Fix
Install a release of the tool that serves the GPU, beside the other one where that is still needed.

## Fix safety
No reboot. A second release stands beside the first.

## References
https://docs.nvidia.com/nsight-compute/ReleaseNotes/topics/gpu-support.html
https://rocm.docs.amd.com/projects/rocprofiler-compute/en/latest/reference/compatible-accelerators.html
""",
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding a tool and GPU architecture."""
    for found in unserved(machine, kb):
        yield Finding(
            summary=found.text[:240],
            severity=RULE.severity,
            subject=Subject(kind="tool", id=f"{found.thing} {found.where}"),
            evidence=(
                Evidence(text=f"{found.thing} in {found.where}"[:300], source=machine.source(found.names[0])),
                *evidence(machine, found.names[1:]),
            ),
            fixes=(Fix(text=found.fix, where="host"),),
            source=found.source,
        )
