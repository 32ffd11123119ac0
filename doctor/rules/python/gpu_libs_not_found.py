"""A GPU library that a program needs is not on the loader's path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity
from doctor.rules import accusing, python_loading, python_plugins, work_done

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="gpu-libs-not-found",
    severity=Severity.ERROR,
    title="A GPU library that a program needs is not on the loader's path.",
    needs=({"libraries"}, {"plugin_libraries"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A library of CUDA or ROCm (libcudart, libcudnn, libMIOpen …), or its headers, that the loader or compiler can't find.

## Why it matters
The import or the build stops.

## Not raised when
The loader, followed through RPATH, LD_LIBRARY_PATH, RUNPATH, ld.so.cache and the default folders, finds every library
that torch and the plugins of other frameworks (ONNX Runtime's providers, JAX's plugins, TensorFlow's and CuPy's builds
for ROCm) need, or torch opens it by its path; and no error text was seen. Another major at hand is a mismatch of that
framework, which its own rule names. The driver's own libraries are not meant.

## How to confirm
`ldconfig -p` and `ldd FILE.so` for the file that the error names.

## Fix
Install the package that holds the library, in the release that the error names, or put its folder on the loader's
path.

## Fix safety
No reboot. Changes packages of this environment only.

## References
https://man7.org/linux/man-pages/man8/ld.so.8.html
""",
)

FIXES = (
    Fix(
        text="Install the package that holds the named library, in that release, or add its folder to LD_LIBRARY_PATH.",
        where="environment",
    ),
)


def excludes(machine: Snapshot) -> bool:
    """Where a program on TensorFlow leaves the GPU alone, and where there is none. Where torch has its GPU, and what
    misses a library is TensorFlow alone, which TensorBoard loads beside it."""
    missed = machine.symptom("cuda-library-not-found")
    beside = machine.torch.available is True and missed is not None and "dso_loader.cc" in missed.text
    return beside or accusing.leaves_gpu_alone(machine) or accusing.has_no_card(machine)


def unheard(machine: Snapshot) -> bool:
    """Where kernels ran: the libraries that they need were found. Where a search that told of each folder found the one
    that it was for. Where torch has its GPU, for which it loads them, and nothing names one or fails to import. Where a
    monitor of both vendors' GPUs leaves AMD's out, and NVIDIA's are what is there."""
    nvidia = machine.of_vendor("nvidia") or machine.symptom("nvidia-gpu-told")
    if nvidia and not machine.of_vendor("amd") and machine.symptom("monitor-leaves-amd-out"):
        return True
    if work_done.ran(machine) or work_done.took_gpu(machine, "bitsandbytes-found-cudart-told"):
        return True
    missed = machine.symptom("gpu-dll-named", "import-fails-told", "gpu-library-not-found-said", "program-crashed")
    return machine.torch.available is True and missed is None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """What torch needs, and what plugins need that frameworks open by name; of others error texts tell."""
    yield from python_loading.not_found(machine)
    yield from python_plugins.not_found(machine)
