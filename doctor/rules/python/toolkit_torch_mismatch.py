from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import python_files
from doctor.rules.lib.toolkits import toolkit_of_torch
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.facts.snapshot import Symptom
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="toolkit-torch-mismatch",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="The compiler's CUDA or ROCm differs from the one that torch was built with.",
    needs=(
        {"torch.cuda", "cuda"},
        {"torch.rocm", "rocm"},
        {"cuda", "symptom:build-command-failed"},
    ),
    proven="synthetic",
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
nvcc or hipcc of another release than torch's while an extension is being compiled, or none at all; a toolkit older
than the one that a program requires for compiling.

## Why it matters
The build fails, or its result cannot be loaded.

## Not raised when
No build fails: a toolkit of another release is harmless until something is compiled. CUDA of the same major and ROCm
of the same series match.

## How to confirm
`nvcc --version` and `python -c 'import torch; print(torch.version.cuda)'`

## Fix
Point CUDA_HOME at the toolkit of torch's CUDA, or install a prebuilt wheel.

## References
https://docs.pytorch.org/docs/stable/cpp_extension.html
""",
)


def advice(machine: Snapshot, kb: Knowledge | None = None) -> tuple[Remedy, ...]:
    return toolkit_of_torch(machine)


_BUILDS = ("build-command-failed", "nvcc-unsupported-gpu-architecture", "ptxas-unknown-gpu-name")
"""Symptoms that show that something is compiled: without that, a toolkit that differs is harmless."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Another major of CUDA, or another series of ROCm, than torch was built with, while something is compiled."""
    yield from python_files.deepspeed(machine)
    if not any(s.key in _BUILDS for s in machine.symptoms):
        return
    yield from _compiler_of_another_cuda(machine)
    for stack, ours, installs, parts in (
        ("CUDA", machine.torch.cuda, machine.cuda, 1),
        ("ROCm", machine.torch.rocm, machine.rocm, 2),
    ):
        ran = [i for i in installs or () if i.kind == "ran"]
        held = [i.version for i in ran or installs or () if i.version]
        series = {Dotted(v).series(parts) for v in held}
        if not ours or not held or Dotted(ours).series(parts) in series:
            continue
        yield Finding(
            summary=f"The compiler is of {stack} {held[0][:12]}, but torch was built with {stack} {ours[:12]}.",
            severity=Severity.WARNING,
            subject=Subject(kind="toolkit"),
            evidence=evidence(machine, ("torch.version", "torch.cuda", "torch.rocm", "cuda", "rocm")),
            remedies=toolkit_of_torch(machine),
        )


def _compiler_of_another_cuda(machine: Snapshot) -> Iterator[Finding]:
    """The compiler that ran, by its path, is of another major than the CUDA that the text tells of, and torch's is not
    known."""
    ran = [i for i in machine.cuda or () if i.kind == "ran" and i.version]
    named = [i.version for i in machine.cuda or () if i.kind != "ran" and i.version]
    if machine.torch.cuda or not ran or not named:
        return
    if Dotted(ran[0].version or "").series(1) in {Dotted(v).series(1) for v in named}:
        return
    yield Finding(
        summary=f"{ran[0].path[:40]}/bin/nvcc is used instead of the nvcc of CUDA {named[0][:12]}.",
        severity=Severity.WARNING,
        suspect=True,
        subject=Subject(kind="toolkit"),
        evidence=evidence(machine, ("cuda", "torch.version")),
        remedies=toolkit_of_torch(machine),
    )


_COMPILED = Lazy(r"was used to compile PyTorch \((\d{1,2}\.\d{1,2})\)")


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """Names torch's release, which the error itself may tell, and the toolkits, where they are known."""
    compiled = _COMPILED.search(symptom.text)
    ours = machine.torch.cuda or machine.torch.rocm or (compiled[1] if compiled else None)
    built = f"torch was built with {'ROCm' if machine.torch.rocm else 'CUDA'} {(ours or '')[:12]}"
    names = ("torch.version", "torch.cuda", "torch.rocm", "cuda", "environment[CUDA_HOME]")
    yield Finding(
        summary="The build finds no CUDA toolkit: CUDA_HOME is not set."
        if symptom.key == "cuda-home-not-set"
        else f"{built}, but the compiler is another release's."
        if ours
        else RULE.title,
        subject=Subject(kind="toolkit"),
        evidence=(Evidence(text=symptom.text, source=symptom.source), *evidence(machine, names)),
        remedies=toolkit_of_torch(machine, ours),
    )
