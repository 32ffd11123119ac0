"""A CUDA build of torch where only AMD GPUs are, or a ROCm build where only NVIDIA GPUs are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Rule, Severity, Subject, evidence
from doctor.rules.hardware import discrete, vendors_there
from doctor.rules.torch_build_at_hand import build_of
from doctor.rules.torch_install import install, see_gpu

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="torch-built-for-other-vendor",
    severity=Severity.ERROR,
    title="torch was built for the other vendor's GPUs.",
    needs=({"torch.build", "gpus"}, {"torch.version", "gpus"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=40,
    tags=("python", "amd", "nvidia"),
    doc="""## What it finds
A CUDA build of torch on a machine with AMD GPUs only, or a ROCm build on a machine with NVIDIA GPUs only. A plain
release beside NVIDIA's nvidia-* wheels is a CUDA build.

## Why it matters
The default wheel of torch is a CUDA build: on AMD it installs, imports and sees no GPU.

## Not raised when
GPUs of both vendors are there, or the GPUs are not known. With integrated AMD GPUs only it is information. Variables
such as CUDA_HOME and toolkits on disk play no part. ZLUDA runs builds for CUDA on AMD's GPUs.

## How to confirm
`python -c 'import torch; print(torch.version.cuda, torch.version.hip)'`

## Fix
Install the build for the GPU from PyTorch's index.

## Fix safety
No reboot. Replaces torch and what it pins in this environment.

## References
https://pytorch.org/get-started/locally/
""",
)

_MADE_FOR = {"cuda": "nvidia", "rocm": "amd"}
_OF_AMD = ("amd-gpu-told", "amdgpu-driver-named", "amd-variable-told", "rocm-wanted-told")
_LABEL = {"cuda": "CUDA", "rocm": "ROCm", "nvidia": "NVIDIA", "amd": "AMD"}


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """A driver of the right vendor that is loaded also counts: its GPU may only be hidden."""
    build = build_of(machine, kb)
    made_for = _MADE_FOR.get(build.kind) if build else None
    there = vendors_there(machine)
    if made_for is None or not there or made_for in there:
        return
    if made_for == "nvidia" and (machine.nvidia_driver.loaded or machine.symptom("zluda-in-use-told")):
        return
    (vendor,) = there
    yield Finding(
        summary=f"torch {(machine.torch.version or '')[:40]} is a {_LABEL[build.kind if build else '']} build;".replace(
            "  ", " "
        )
        + f" this machine has {_LABEL[vendor]} GPUs only.",
        severity=Severity.ERROR if discrete(machine, vendor) else Severity.INFO,
        subject=Subject(kind="package", id="torch"),
        evidence=evidence(machine, ("torch.version", "torch.build", "torch.location", "gpus")),
        fixes=(install(machine, vendor),),
        verify=see_gpu(machine),
    )


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """A plain version tells no build, and torch's own build nothing of a module that was built for CUDA beside it."""
    return build_of(machine, kb) is not None and machine.symptom("cuda-driver-library-asked-on-amd") is None


_TORCH = ("torch-program-named", "torch-reports-no-gpu")


def unheard(machine: Snapshot) -> bool:
    """That torch asks for NVIDIA's driver tells nothing of this where the text names nothing of AMD's. Nor does
    anything where it names neither torch nor AMD."""
    named = machine.torch.version is not None or machine.torch.build is not None or machine.symptom(*_TORCH) is not None
    if not named and not machine.rocm and machine.symptom(*_OF_AMD) is None:
        return True
    asks = machine.symptom("torch-no-nvidia-driver", "cuda-torch-asks-for-nvidia-driver") is not None
    return asks and not machine.rocm and machine.symptom(*_OF_AMD) is None
