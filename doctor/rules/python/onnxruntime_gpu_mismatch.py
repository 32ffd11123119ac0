"""ONNX Runtime's GPU provider does not fit the CUDA, cuDNN or ROCm at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules import python_plugins, work_done
from doctor.rules.python_packages import below, package, pip_install, pip_remove, release, shown
from doctor.versions import Dotted

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
The CPU package of ONNX Runtime installed over the GPU one, a provider whose libraries can't be loaded, or one that is
built for another major of CUDA than what is here.

## Why it matters
Sessions fall back to the CPU provider with a warning.

## Not raised when
One package of ONNX Runtime is installed, CUDA of its major is here or not known, and no error text was seen. A
package of CUDA beside AMD's GPUs alone, or one that only keeps its name, is no CUDA that is here.

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


def unheard(machine: Snapshot) -> bool:
    """Where the provider ran the model, and what came out is not right or an access went astray; where it took nodes of
    the model or translates it, or heads the list of providers and no more is told than that Linux lists no card."""
    if work_done.took_gpu(machine, "onnxruntime-placed-nodes-told", "onnxruntime-applied-gpu"):
        return True
    if machine.symptom("onnxruntime-reads-list-of-cards-told") and work_done.took_gpu(machine, _FIRST):
        return True
    if machine.symptom("migraphx-parser-speaks-told", "migraphx-provider-compiles-told") is not None:
        return True  # the provider was loaded with all its libraries: what its parser or compiler does is their own
    return work_done.ran(machine) or machine.symptom("onnx-session-ran-told", _MODELS_OWN) is not None


_FIRST = "onnxruntime-gpu-provider-first-told"
_MODELS_OWN = "onnx-node-met-shape-told"


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Both write the same folder; the one installed last wins."""
    yield from python_plugins.mismatched(machine, "onnxruntime-")
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
    elif gpu and gpu.name == "onnxruntime-gpu":
        yield from _other_cuda(machine, gpu)


_BUILT_FOR = (("1.27", 13), ("1.19", 12), ("1.7", 11))
"""First release of a row -> major of CUDA that PyPI's builds are for, 10 before
(onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html#requirements)."""
_NAME_ONLY = "0.0.0"
"""Release of the packages that only keep a name on PyPI: nvidia-cuda-runtime-cu13 0.0.0a0 holds no library."""
_WHEEL = Lazy(r"nvidia-(?:cublas|cuda-runtime|cudnn)(?:-cu(\d\d))?$")


def _other_cuda(machine: Snapshot, gpu: Package) -> Iterator[Finding]:
    """The toolkit at hand is of another major than the provider was built for, and no wheels bring that one."""
    version = release(gpu.version)
    needed = next((major for first, major in _BUILT_FOR if not below(version, first)), 10)
    if machine.of_vendor("amd") and not machine.of_vendor("nvidia"):
        return  # no CUDA serves these GPUs: its wheels came with some requirement
    brought = {
        int(m[1] or 13)
        for p in machine.packages or ()
        if (m := _WHEEL.match(p.name[:60])) and not (p.version or "").startswith(_NAME_ONLY)
    }
    toolkits = {Dotted(i.version).major for i in machine.cuda or () if i.version}
    here = brought | {m for m in toolkits if m} | {m for m in (Dotted(machine.torch.cuda or "").major,) if m}
    if version is None or not here or needed in here:
        return
    yield Finding(
        summary=f"onnxruntime-gpu {version} is built for CUDA {needed}; CUDA {min(here)} is what is here.",
        severity=Severity.WARNING,
        subject=Subject(kind="package", id="onnxruntime-gpu"),
        evidence=(*shown(machine, gpu), *evidence(machine, ("cuda", "torch.version"))),
        fixes=FIXES,
    )
