from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import python_plugins
from doctor.rules.lib.advice import by_hand
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.python_packages import below, package, pip_install, release, shown
from doctor.versions import Dotted

RULE = Rule(
    id="onnxruntime-gpu-mismatch",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="ONNX Runtime's GPU provider does not match the installed CUDA, cuDNN or ROCm.",
    needs=({"packages"},),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
The CPU package of ONNX Runtime installed over the GPU one, a provider whose libraries cannot be loaded, or one built
for another CUDA major than the installed one.

## Why it matters
Sessions fall back to the CPU provider with a warning.

## Not raised when
One package of ONNX Runtime is installed, its CUDA major is installed or not known, and no error message shows it. A
CUDA package beside only AMD GPUs, or an empty placeholder package, does not count as CUDA.

## How to confirm
`python -c 'import onnxruntime; print(onnxruntime.get_available_providers())'`

## Fix
Keep one package: onnxruntime-gpu for CUDA, the MIGraphX or ROCm build for AMD, for the installed CUDA or ROCm.

## References
https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html#requirements
""",
)


def advice(machine: Snapshot, kb: Knowledge | None = None) -> tuple[Remedy, ...]:
    """The build of the vendor, with the libraries that it was built for."""
    amd = bool(machine.of_vendor("amd")) and not machine.of_vendor("nvidia")
    if amd:
        text = "AMD publishes wheels of onnxruntime-rocm or onnxruntime-migraphx for each ROCm release: " + _AMD_WHEELS
        title = "Install AMD's ONNX Runtime for the installed ROCm."
        return (by_hand(title, Scope.ENVIRONMENT, text, undo="Install onnxruntime again.", vendor="amd"),)
    gpu = "onnxruntime-gpu[cuda,cudnn]"
    title = "Install ONNX Runtime for CUDA with the CUDA and cuDNN that it was built for."
    return (pip_install(machine, title, gpu).model_copy(update={"vendor": "nvidia"}),)


_AMD_WHEELS = "https://repo.radeon.com/rocm/manylinux/"

_GPU = ("onnxruntime-gpu", "onnxruntime-rocm", "onnxruntime-migraphx", "onnxruntime-directml")


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
            remedies=(
                pip_install(
                    machine,
                    "Remove both ONNX Runtime packages, then install the GPU one again.",
                    *("--force-reinstall", "--no-deps", f"{gpu.name}=={gpu.version}"),
                    remove=(plain.name, gpu.name),
                ),
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
        summary=f"onnxruntime-gpu {version} is built for CUDA {needed}, but CUDA {min(here)} is here.",
        severity=Severity.WARNING,
        subject=Subject(kind="package", id="onnxruntime-gpu"),
        evidence=(*shown(machine, gpu), *evidence(machine, ("cuda", "torch.version"))),
        remedies=advice(machine),
    )
