"""TensorFlow does not fit the CUDA, cuDNN or ROCm at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules.hardware import discrete, vendors_there
from doctor.rules.python_packages import package, pip_install, shown

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="tensorflow-gpu-mismatch",
    severity=Severity.ERROR,
    title="TensorFlow does not fit the CUDA, cuDNN or ROCm at hand.",
    needs=({"packages", "gpus"},),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A TensorFlow without GPU support, or for the other vendor, on a machine with a GPU; or one that can't load its
libraries.

## Why it matters
TensorFlow runs on the CPU with one line of warning.

## Not raised when
tensorflow-cpu is not installed, the GPUs are NVIDIA's, and no error text was seen.

## How to confirm
`python -c "import tensorflow as tf; print(tf.config.list_physical_devices('GPU'))"`

## Fix
Install tensorflow[and-cuda] for NVIDIA, tensorflow-rocm of the installed ROCm for AMD.

## Fix safety
No reboot. Changes packages of this environment only.

## References
https://www.tensorflow.org/install/pip
""",
)

FIXES = (
    Fix(
        text="Install TensorFlow with the libraries that it was built for (tensorflow-rocm instead for AMD).",
        command=("python3", "-m", "pip", "install", "tensorflow[and-cuda]"),
        where="environment",
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """A CPU build beside any GPU; the plain build, which is for CUDA, beside AMD's alone."""
    there = vendors_there(machine)
    cpu, plain = package(machine, "tensorflow-cpu", "intel-tensorflow"), package(machine, "tensorflow")
    rocm = package(machine, "tensorflow-rocm")
    wrong = cpu if there else None
    if plain and there == {"amd"} and discrete(machine, "amd") and not rocm and "rocm" not in plain.version:
        wrong = plain
    if wrong is None or rocm:
        return
    yield Finding(
        summary=f"{wrong.name} {wrong.version[:30]} has no support for this machine's GPUs.",
        severity=Severity.WARNING,
        subject=Subject(kind="package", id=wrong.name),
        evidence=(*shown(machine, wrong), *evidence(machine, ("gpus",))),
        fixes=(pip_install(machine, "Install TensorFlow for ROCm.", "tensorflow-rocm"),) if there == {"amd"} else FIXES,
    )
