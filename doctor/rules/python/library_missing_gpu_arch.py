from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import python_code, python_support
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.pip import pip
from doctor.rules.lib.python_packages import pip_install
from doctor.rules.lib.torch_archs import torch_serves

RULE = Rule(
    id="library-missing-gpu-arch",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
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
offload bundles have no code for this GPU's architecture; a package of which no release supports this GPU
(TensorRT-LLM on AMD, flash-attn on Turing); any library (ollama, a ptxas …) that reports it itself. A missing kernel
where torch certainly has its own.

## Why it matters
Its kernels cannot run: the library falls back, raises, or stops the program, while torch itself works.

## Not raised when
One object of the package has code that runs on the GPU: its own architecture, a lower minor of its major, a generic
gfx target, or PTX that the driver can compile; and no error message shows it. An integrated GPU beside a supported
one.

## How to confirm
`cuobjdump --list-elf FILE.so` or `roc-obj-ls FILE.so` on the library that the error names.

## Fix
Install a release built for this GPU, build it from source, or choose another backend.

## References
docs.nvidia.com/cuda/cuda-runtime-api, cudaErrorNoKernelImageForDevice
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """A newer release, or one that is compiled here for the GPU (PACKAGE: the library that the text names)."""
    newer = pip_install(
        machine, "Install the newest release of the library (PACKAGE: its name).", "--upgrade", "PACKAGE"
    )
    arch = next((g.arch for g in machine.gpus or () if g.arch), None)
    if not arch:
        return (newer,)
    amd = arch.startswith("gfx")
    number = arch.partition(":")[0] if amd else f"{arch[3:-1]}.{arch[-1]}"
    variable = "PYTORCH_ROCM_ARCH" if amd else "TORCH_CUDA_ARCH_LIST"
    fresh = ("--force-reinstall", "--no-deps", "--no-cache-dir", "--no-build-isolation")
    *make, build = pip(machine, "", *fresh, "--no-binary", "PACKAGE", "PACKAGE")
    compiler = "hipcc of the ROCm" if amd else "nvcc of the CUDA"
    text, argv = f"Compile it; this needs {compiler} that torch is built for.", ("env", f"{variable}={number}")
    compiled = step(text, *argv, *(build.command or ()), where="environment")
    again = step("Install the old wheel again.", where="environment")
    title = f"Compile the library (PACKAGE: its name) for {number[:20]} here."
    return newer, way(title, Scope.ENVIRONMENT, *make, compiled, undo=(again,))


_NO_KERNEL = ("cuda-no-kernel-image", "hip-invalid-device-function")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """What the files say, and a missing kernel where torch has its own."""
    lacking = list(python_code.library_archs(machine, kb))
    yield from lacking
    named = {finding.subject.id for finding in lacking}
    yield from (f for f in python_support.unsupported(machine, kb) if f.subject.id not in named)
    seen = [s for s in machine.symptoms if s.key in _NO_KERNEL]
    if seen and torch_serves(machine, kb):
        yield Finding(
            summary="The library that failed has no code for this GPU; torch does.",
            severity=Severity.WARNING,
            subject=Subject(kind="library"),
            evidence=(
                *(Evidence(text=s.text, source=s.source) for s in seen[:2]),
                *evidence(machine, ("torch.version", "torch.arch_list")),
            ),
            remedies=advice(machine, kb),
        )
