"""A compiler, converter, profiler or CUDA's libraries have no support for this GPU."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import by_hand
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.tool_support import unserved

RULE = Rule(
    id="gpu-tool-unsupported",
    severity=Severity.INFO,
    scope=Scope.HOST,
    action=Action.INFORM,
    title="A compiler, profiler or CUDA library does not support this GPU.",
    needs=({"tools", "gpus"}, {"cuda", "gpus"}),
    proven="synthetic",
    order=80,
    tags=("tools",),
    doc="""## What it finds
nvcc, hipcc, hipify-clang, Nsight Compute, Nsight Systems, nvprof, rocprof, rocprofv3, ROCm Compute and Systems
Profiler (Omniperf, Omnitrace), or the libraries of a CUDA: a release that does not support a GPU of this machine,
builds programs that the driver cannot run, or cannot read the installed CUDA.

## Why it matters
The compiler rejects the architecture; the profiler finds no GPU or no metrics.

## Not raised when
The release is in no table, its version or the GPU's architecture is not known, or the tool supports the GPU. It is
information: an unused tool does no harm.

## How to confirm
`nvcc --list-gpu-code`, `ncu --list-chips`, `nsys --version`, `rocprofv3 --version`

## Fix
Install a release of the tool that supports the GPU; keep the old one if you still need it.

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
            remedies=(by_hand(found.fix, Scope.HOST, undo="Use the old tool again."),),
            source=found.source,
        )
