"""A GPU library has no kernels for this GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules import python_code, python_support, run_line, work_done
from doctor.rules.torch_archs import torch_serves, within_told_range

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="library-missing-gpu-arch",
    severity=Severity.ERROR,
    title="A GPU library has no kernels for this GPU.",
    needs=(
        {"binaries", "gpus"},
        {"packages", "gpus"},
        {"torch.version", "gpus", "symptom:cuda-no-kernel-image"},
        {"torch.arch_list", "gpus", "symptom:cuda-no-kernel-image"},
    ),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=42,
    facts_decide=False,
    tags=(
        "python",
        "libraries",
    ),
    doc="""## What it finds
A library beside torch (flash-attn, bitsandbytes, vLLM, xformers, ONNX Runtime, jax plugins …) whose fat binaries or
offload bundles hold no code for this GPU's architecture; a package of which no release serves this GPU (TensorRT-LLM on
AMD, flash-attn on Turing); any library (ollama, a ptxas …) that says so itself. A missing
kernel where torch surely has its own.

## Why it matters
Its kernels can't run: the library falls back, raises, or stops the program, while torch itself works.

## Not raised when
One object of the package has code that runs on the GPU: its own architecture, a lower minor of its major, a generic gfx
target, or PTX that the driver can compile; and no error text was seen. An integrated GPU beside one that is served.

## How to confirm
`cuobjdump --list-elf FILE.so` or `roc-obj-ls FILE.so` on the library that the error names.

## Fix
Install a release built for this GPU, build it from source for it, or choose another backend.

## Fix safety
No reboot. Changes packages of this environment only.

## References
docs.nvidia.com/cuda/cuda-runtime-api, cudaErrorNoKernelImageForDevice
""",
)

FIXES = (
    Fix(
        text="Install a release of the named library with code for this GPU, or build it for that architecture.",
        where="environment",
    ),
)


_NO_KERNEL = ("cuda-no-kernel-image", "hip-invalid-device-function")


def unheard(machine: Snapshot) -> bool:
    """Where kernels ran: a library without code for the GPU starts none. Where torch warns of a GPU that it serves all
    the same, a kernel itself, the model or the precision that was asked for is refused or the client left before a
    model was loaded, and none is missed. Where an engine took the GPU, and nothing fails or is slow."""
    if work_done.ran(machine) or _served_before(machine) or _taken(machine) or _built_for_it(machine):
        return True
    if machine.symptom("powerd-speaks-told") and work_done.nothing_fails(machine, "packages"):
        return True  # the service of a laptop's firmware loads no library
    if (
        machine.symptom("health-watch-speaks-told", "metric-not-parsed-told")
        and machine.symptom(*_NO_KERNEL, *_AMISS) is None
    ):
        return True  # what watches over GPUs runs no kernels on them
    there = machine.symptom("layers-on-gpu", *_NOT_THE_LIBRARY) is not None
    return (there or within_told_range(machine)) and machine.symptom(*_NO_KERNEL) is None


_NOT_THE_LIBRARY = (
    *("kernel-itself-refused-told", "bf16-asked-of-trainer", "client-left-while-loading-told"),
    "trtexec-refuses-model-told",
)


def _served_before(machine: Snapshot) -> bool:
    """An older release is told to do the work of a GPU of the newest family: later ones leave out old GPUs alone."""
    new = machine.symptom("blackwell-card-told") is not None
    return new and machine.symptom("another-version-works-told") is not None


def _built_for_it(machine: Snapshot) -> bool:
    """Whether the build that is shown names the target of every GPU, and no kernel is missed."""
    told, archs = machine.symptom("build-targets-told"), {str(g.arch).split(":")[0] for g in machine.gpus or ()}
    if told is None or "None" in archs or machine.symptom(*_NO_KERNEL, "hip-invalid-device-function") is not None:
        return False
    return bool(archs) and archs <= set(re.findall(r"gfx[0-9a-f]{3,4}", told.text))


def _taken(machine: Snapshot) -> bool:
    """An engine with kernels of its own says which GPU it works on, and would say of a missing kernel too: on NVIDIA's
    GPUs before it crashes by it (ggml-cuda/common.cuh: no_device_code)."""
    took = machine.symptom("ollama-serves-from-gpu-told", "ggml-took-gpu-told", "ollama-card-supported-told")
    nvidia = bool(machine.of_vendor("nvidia")) and machine.symptom(*_NO_KERNEL) is None
    said = nvidia and machine.symptom("ggml-took-gpu-told") is not None
    amiss = machine.symptom(*(key for key in _AMISS if not said or key not in _CRASH))
    return took is not None and amiss is None and not run_line.complained_of(machine)


_CRASH = ("program-crashed", "gpu-work-goes-wrong")


_AMISS = (
    *("program-crashed", "gpu-work-goes-wrong", "values-wrong-said", "said-slow", "slower-than-before-told"),
    *("gpu-idle-said", "stands-still-told", "hang-word-told"),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """What the files say, and a missing kernel where torch has its own."""
    told = list(python_code.library_archs(machine, kb))
    yield from told
    named = {finding.subject.id for finding in told}
    yield from (f for f in python_support.unsupported(machine, kb) if f.subject.id not in named)
    seen = [s for s in machine.symptoms if s.key in _NO_KERNEL]
    if seen and torch_serves(machine, kb):
        yield Finding(
            summary="torch has code for this GPU: the library that failed beside it has none.",
            severity=Severity.WARNING,
            subject=Subject(kind="library"),
            evidence=(
                *(Evidence(text=s.text, source=s.source) for s in seen[:2]),
                *evidence(machine, ("torch.version", "torch.arch_list")),
            ),
            fixes=FIXES,
        )
