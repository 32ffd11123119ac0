from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.hardware import discrete, vendors_there
from doctor.rules.lib.torch_build_at_hand import GPU_MISSED, build_of, cpu_on_purpose
from doctor.rules.lib.torch_install import install, on_jetson, see_gpu

RULE = Rule(
    id="torch-cpu-only-build",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.TORCH,
    title="The installed torch has no GPU support.",
    needs=(
        {"torch.build", "gpus"},
        {"torch.build", "nvidia_driver.loaded"},
        {"torch.build", "kfd.nodes"},
        {"torch.version", "gpus"},
        {"torch.build"},
        {"gpus", "torch.available"},
        {"gpus", "symptom:torch-reports-no-gpu"},
    ),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=40,
    tags=("python", "amd", "nvidia"),
    doc="""## What it finds
A CPU build of torch in the user's Python, on a machine with an AMD or NVIDIA GPU: by its version, by torch itself, or
by what PyPI offers for that release on Windows and aarch64 where torch reports no GPU. On a Jetson whose torch sees no
GPU it is a warning without a version, too: PyTorch's wheels have no code for that GPU.

## Why it matters
`torch.cuda.is_available()` is False and "Torch not compiled with CUDA enabled" is raised, whatever the driver is.

## Not raised when
No GPU of AMD or NVIDIA is known to be there. With integrated AMD GPUs only it is information, and where the text's
error is one of torch and NumPy, which any build gives, or ONNX Runtime runs its models on the GPU and no error is
torch's. If a GPU build sees a GPU further down in the text, the CPU build belongs to another environment.

## How to confirm
`python -c 'import torch; print(torch.__version__, torch.version.cuda, torch.version.hip)'`: both are None.

## Fix
Install the same release for the GPU; pip keeps an installed torch, so `--force-reinstall` is needed:
`pip install --force-reinstall torch==RELEASE --index-url https://download.pytorch.org/whl/cu126` (AMD: `/rocm7.2`).

## References
https://pytorch.org/get-started/locally/
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Of the vendor that is there; of each where none is known."""
    return tuple(install(machine, vendor) for vendor in _vendors(vendors_there(machine)) or ("nvidia", "amd"))


def _vendors(there: frozenset[str]) -> tuple[Literal["nvidia", "amd"], ...]:
    order: tuple[Literal["nvidia", "amd"], ...] = ("nvidia", "amd")
    return tuple(vendor for vendor in order if vendor in there)


_OF_NUMPY = ("numpy-not-available-in-torch", "numpy-compiled-with-1x", "numpy-unknown-to-torch")
"""Errors that a CPU build and a GPU build give alike."""
_ANOTHER_ENGINE = ("onnxruntime-applied-gpu",)
"""The work is another engine's, which took the GPU: torch only prepares its data."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    vendors = _vendors(vendors_there(machine))
    build = build_of(machine, kb)
    blind = machine.torch.available is False or machine.symptom("torch-reports-no-gpu") is not None
    if blind and machine.torch.version is None and on_jetson(machine) and not machine.container.inside:
        yield Finding(
            summary="torch sees no GPU on this Jetson: PyTorch's wheels do not support it, NVIDIA's do.",
            severity=Severity.WARNING,
            subject=Subject(kind="package", id="torch"),
            evidence=evidence(machine, ("torch.available", "gpus", "os.version")),
            remedies=(install(machine, "nvidia"),),
            verify=see_gpu(machine),
        )
    if not vendors or build is None or build.kind != "cpu":
        return
    names = {"amd": "an AMD", "nvidia": "an NVIDIA"}
    elsewhere = machine.symptom(*_OF_NUMPY, *_ANOTHER_ENGINE) is not None and machine.symptom(*GPU_MISSED) is None
    serious = any(discrete(machine, v) for v in vendors) and not elsewhere and not cpu_on_purpose(machine)
    yield Finding(
        summary=f"torch {(machine.torch.version or '')[:40]} is a CPU-only build on a machine with".replace("  ", " ")
        + f" {' and '.join(names[v] for v in vendors)} GPU.",
        severity=Severity.ERROR if serious else Severity.INFO,
        subject=Subject(kind="package", id="torch"),
        evidence=evidence(machine, ("torch.version", "torch.build", "host.machine", "torch.location", "gpus")),
        remedies=tuple(install(machine, v) for v in vendors),
        verify=see_gpu(machine),
    )


_DENIED = ("torch-not-compiled-with-cuda", "torch-without-nccl")


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """A plain version does not show the build; a GPU build ends the search, whatever GPUs exist. Without a version it
    is known from what was asked for, the index of a CUDA or ROCm: torch's own word on what came decides."""
    build = build_of(machine, kb)
    if machine.torch.version is None and machine.symptom(*_DENIED) is not None:
        return False
    return build is not None and (build.kind != "cpu" or bool(vendors_there(machine)) or machine.gpus is not None)
