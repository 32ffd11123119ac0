"""ONNX Runtime's GPU provider does not fit the CUDA, cuDNN or ROCm at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject
from doctor.rules.python_packages import package, pip_install, pip_remove, shown

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="onnxruntime-gpu-mismatch",
    severity=Severity.ERROR,
    title="ONNX Runtime's GPU provider does not fit the CUDA, cuDNN or ROCm at hand.",
    needs=({"packages"},),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
The CPU package of ONNX Runtime installed over the GPU one, or a provider whose libraries can't be loaded.

## Why it matters
Sessions fall back to the CPU provider with a warning.

## Not raised when
One package of ONNX Runtime is installed and no error text was seen.

## How to confirm
`python -c 'import onnxruntime; print(onnxruntime.get_available_providers())'`

## Fix
Keep one package: onnxruntime-gpu for CUDA, the MIGraphX or ROCm build for AMD, for the CUDA or ROCm at hand.

## Fix safety
No reboot. Changes packages of this environment only.

## References
https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html#requirements
""",
)

FIXES = (Fix(text="Install the ONNX Runtime build for the CUDA and cuDNN (or ROCm) at hand.", where="environment"),)

_GPU = ("onnxruntime-gpu", "onnxruntime-rocm", "onnxruntime-migraphx", "onnxruntime-directml")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Both write the same folder; the one installed last wins."""
    plain, gpu = package(machine, "onnxruntime"), package(machine, *_GPU)
    if plain and gpu:
        yield Finding(
            summary=f"onnxruntime and {gpu.name} install the same module; the GPU provider may be gone.",
            severity=Severity.WARNING,
            subject=Subject(kind="package", id="onnxruntime"),
            evidence=shown(machine, plain, gpu),
            fixes=(
                pip_remove(machine, "Remove both.", plain.name, gpu.name),
                pip_install(machine, "Install the GPU package again.", gpu.name),
            ),
        )
