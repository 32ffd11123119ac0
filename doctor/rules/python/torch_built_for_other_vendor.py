from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.hardware import discrete, vendors_there
from doctor.rules.lib.torch_build_at_hand import build_of
from doctor.rules.lib.torch_install import install, see_gpu

RULE = Rule(
    id="torch-built-for-other-vendor",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.TORCH,
    title="torch was built for the other vendor's GPUs.",
    needs=({"torch.build", "gpus"}, {"torch.version", "gpus"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "triton-mismatch"),
    order=40,
    tags=("python", "amd", "nvidia"),
    doc="""## What it finds
A CUDA build of torch on a machine with AMD GPUs only, or a ROCm build on a machine with NVIDIA GPUs only. A plain
release beside NVIDIA's nvidia-* wheels is a CUDA build.

## Why it matters
Such a build installs and imports, but sees no GPU. The default wheel of torch is for CUDA.

## Not raised when
GPUs of both vendors are there, or the GPUs are not known. With integrated AMD GPUs only it is information. Variables
such as CUDA_HOME and toolkits on disk do not matter. ZLUDA runs CUDA builds on AMD GPUs.

## How to confirm
`python -c 'import torch; print(torch.version.cuda, torch.version.hip)'`

## Fix
Install the same release of torch, built for the GPU that is there.

## References
https://pytorch.org/get-started/locally/
""",
)

_MADE_FOR = {"cuda": "nvidia", "rocm": "amd"}
_VENDORS: tuple[Literal["nvidia", "amd"], ...] = ("nvidia", "amd")
_LABEL = {"cuda": "CUDA", "rocm": "ROCm", "nvidia": "NVIDIA", "amd": "AMD"}


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    there = vendors_there(machine) or _VENDORS
    return tuple(install(machine, vendor) for vendor in _VENDORS if vendor in there)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """A driver of the right vendor that is loaded also counts: its GPU may only be hidden."""
    build = build_of(machine, kb)
    made_for = _MADE_FOR.get(build.kind) if build else None
    there = vendors_there(machine)
    if made_for is None or not there or made_for in there:
        return
    if made_for == "nvidia" and machine.nvidia_driver.loaded:
        return
    vendor: Literal["nvidia", "amd"] = "nvidia" if "nvidia" in there else "amd"
    yield Finding(
        summary=f"torch {(machine.torch.version or '')[:40]} is a {_LABEL[build.kind if build else '']} build;".replace(
            "  ", " "
        )
        + f" this machine has only {_LABEL[vendor]} GPUs.",
        severity=Severity.ERROR if discrete(machine, vendor) else Severity.INFO,
        subject=Subject(kind="package", id="torch"),
        evidence=evidence(machine, ("torch.version", "torch.build", "torch.location", "gpus")),
        remedies=(install(machine, vendor),),
        verify=see_gpu(machine),
    )


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """A plain version does not show the build, and torch's build does not show that of a CUDA module beside it."""
    return build_of(machine, kb) is not None and machine.symptom("cuda-driver-library-asked-on-amd") is None
