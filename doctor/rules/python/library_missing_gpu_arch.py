"""A GPU library has no kernels for this GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity
from doctor.rules import python_files

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="library-missing-gpu-arch",
    severity=Severity.ERROR,
    title="A GPU library has no kernels for this GPU.",
    needs=({"binaries", "gpus"},),
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
offload bundles hold no code for this GPU's architecture; any library (ollama, a ptxas …) that says so itself.

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


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from python_files.library_archs(machine, kb)
    yield from ()
