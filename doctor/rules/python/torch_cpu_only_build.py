"""torch has no GPU support and a GPU is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules import work_done
from doctor.rules.hardware import discrete, vendors_there
from doctor.rules.torch_build_at_hand import GPU_MISSED, build_of, cpu_on_purpose, of_another_environment
from doctor.rules.torch_install import INDEX, install, see_gpu

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="torch-cpu-only-build",
    severity=Severity.ERROR,
    title="The installed torch has no GPU support.",
    needs=(
        {"torch.build", "gpus"},
        {"torch.build", "nvidia_driver.loaded"},
        {"torch.build", "kfd.nodes"},
        {"torch.version", "gpus"},
        {"torch.build"},
    ),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=40,
    tags=("python", "amd", "nvidia"),
    doc="""## What it finds
A CPU build of torch in the user's Python, on a machine with an AMD or NVIDIA GPU: by its version, by torch itself, or
by what PyPI gives for that release on Windows and aarch64 where torch says that it has no GPU. A pasted text that shows
no GPU and misses one of a vendor gives a warning.

## Why it matters
`torch.cuda.is_available()` is False and "Torch not compiled with CUDA enabled" is raised, whatever the driver is.

## Not raised when
No GPU of AMD or NVIDIA is known to be there. With integrated AMD GPUs only it is information, and where the text's
error is one of torch and NumPy, which any build gives, or ONNX Runtime runs its models on the GPU and no error is
torch's. Where a build for a GPU sees one further down in the text, the CPU build was another environment's.

## How to confirm
`python -c 'import torch; print(torch.__version__, torch.version.cuda, torch.version.hip)'`: both are None.

## Fix
Install the build for the GPU from PyTorch's index. pip keeps an installed torch, so it must be told to replace it.

## Fix safety
No reboot. Replaces torch and what it pins in this environment.

## References
https://pytorch.org/get-started/locally/
""",
)

FIXES = (
    Fix(
        text="Install a GPU build from PyTorch's index (cu128 for NVIDIA; rocm6.4 instead for AMD).",
        command=("python3", "-m", "pip", "install", "--force-reinstall", "--index-url", f"{INDEX}/cu128", "torch"),
        where="environment",
        risk="Replaces torch and what it pins in this environment.",
    ),
)


_OF_NUMPY = ("numpy-major-told", "numpy-not-available-in-torch", "numpy-compiled-with-1x", "numpy-unknown-to-torch")
"""Errors that a CPU build and a GPU build give alike."""
_ANOTHER_ENGINE = ("onnxruntime-applied-gpu",)
"""The work is another engine's, which took the GPU: torch only prepares its data."""


def unheard(machine: Snapshot) -> bool:
    """Where torch says that it has a GPU, its kernels ran or a call of cuBLAS failed; where neither torch nor a
    program on it is named. Where a build for CUDA was installed, and neither torch nor a person misses the GPU."""
    called = machine.symptom("cudnn-execution-failed", "cublas-alloc-failed") is not None
    if machine.torch.available is True or called or work_done.ran(machine):
        return True
    if machine.symptom("cuda-build-asked-for-told") is not None and machine.symptom(*GPU_MISSED, *_MISSED) is None:
        return True
    named = machine.symptom("torch-program-named", "extension-built-without-gpu")
    return named is None and not machine.torch.installed and not machine.torch.version


def excludes(machine: Snapshot) -> bool:
    """A build without GPU that was asked for by name, where nothing tells of a GPU and a program's own check fails, as
    on a runner for tests."""
    if (
        machine.symptom("torch-from-cpu-index-told") is None
        or machine.gpus
        or machine.pci
        or machine.nvidia_driver.version
    ):
        return False
    own = any(symptom.key.startswith("user-error-") for symptom in machine.symptoms)
    return own and machine.symptom(*_TOLD["amd"], *_TOLD["nvidia"]) is None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding, with a fix for each vendor that is there."""
    vendors = sorted(vendors_there(machine), reverse=True)
    build = build_of(machine, kb)
    if build is None or build.kind != "cpu" or of_another_environment(machine, "torch.build"):
        return
    if not vendors:
        yield from _of_a_gpu_told(machine, build.said)
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
        fixes=tuple(install(machine, v) for v in vendors),
        verify=see_gpu(machine),
    )


_TOLD = {
    "amd": ("amd-gpu-told", "amd-gpu-by-name-told", "amdgpu-driver-named"),
    "nvidia": ("nvidia-gpu-told",),
}
_MISSED = ("gpu-not-seen-said", "torch-reports-no-gpu", "torch-not-compiled-with-cuda")


_DENIED = ("torch-not-compiled-with-cuda", "torch-without-nccl", "apex-finds-torch-without-cuda")


def _of_a_gpu_told(machine: Snapshot, said: bool) -> Iterator[Finding]:
    """Of a text that shows no GPU, and tells that torch does not find the one of a vendor."""
    missed = machine.symptom(*_MISSED)
    told = [v for v, keys in _TOLD.items() if machine.symptom(*keys) is not None]
    if machine.gpus is not None or missed is None or not said or len(told) != 1 or machine.symptom(*_OF_NUMPY):
        return
    yield Finding(
        summary=f"torch {(machine.torch.version or '')[:40]} is a CPU-only build, and the text misses a GPU.",
        severity=Severity.WARNING,
        suspect=True,
        subject=Subject(kind="package", id="torch"),
        evidence=(
            *evidence(machine, ("torch.version", "torch.build")),
            Evidence(text=missed.text[:200], source=missed.source),
        ),
        fixes=tuple(install(machine, v) for v in told),
        verify=see_gpu(machine),
    )


def decides(machine: Snapshot, kb: Knowledge) -> bool:
    """A plain version tells no build; a build for a GPU ends the matter, whatever GPUs are there. Without a version it
    is known from what was asked for, the index of a CUDA or ROCm: torch's own word on what came decides."""
    build = build_of(machine, kb)
    if machine.torch.version is None and machine.symptom(*_DENIED) is not None:
        return False
    return build is not None and (build.kind != "cpu" or bool(vendors_there(machine)) or machine.gpus is not None)
