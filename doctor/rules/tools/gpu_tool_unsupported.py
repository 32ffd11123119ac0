from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import way
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.nvidia_packages import cuda_toolkit
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


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Where neither the tool nor the GPU is known."""
    title = (
        "Install CUDA's toolkit of a release that supports the GPU (RELEASE: 12-9 before Turing, 13-0 from Turing on)."
    )
    return (_install(machine, title, "RELEASE"),)


def _install(machine: Snapshot, title: str, cuda: str | None) -> Remedy:
    steps = cuda_toolkit(machine, cuda) if cuda else ()
    return way(title, Scope.HOST, *steps, root=bool(cuda))


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    for found in unserved(machine, kb):
        yield Finding(
            summary=found.text[:240],
            severity=RULE.severity,
            subject=Subject(kind="tool", id=f"{found.thing} {found.where}"),
            evidence=(
                Evidence(text=f"{found.thing} in {found.where}"[:300], source=machine.source(found.names[0])),
                *evidence(machine, found.names[1:]),
            ),
            remedies=(_install(machine, found.fix, found.cuda),),
            source=found.source,
        )
