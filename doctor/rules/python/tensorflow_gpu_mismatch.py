from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import python_files, python_plugins, work_done
from doctor.rules.lib.advice import by_hand
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.hardware import discrete, vendors_there
from doctor.rules.lib.library_release import known_faults
from doctor.rules.lib.python_packages import below, package, pip_install, release, shown
from doctor.versions import Dotted

RULE = Rule(
    id="tensorflow-gpu-mismatch",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="TensorFlow does not match the installed CUDA, cuDNN or ROCm.",
    needs=({"packages", "gpus"}, {"packages", "cuda"}, {"packages"}, {"rocm", "symptom:rocm-library-not-found"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A TensorFlow without GPU support, or for the other vendor, on a machine with a GPU; one that cannot load its
libraries; one built for another CUDA, cuDNN or ROCm than the installed one (by the table of tested builds and the
sonames that it needs), or too new for Windows.

## Why it matters
TensorFlow runs on the CPU with one line of warning.

## Not raised when
tensorflow-cpu is not installed, or is installed beside JAX and prints nothing (then it is information), the GPUs are
NVIDIA's, CUDA and cuDNN are of the majors that the release was built for or not known, and no error message shows it.

## How to confirm
`python -c "import tensorflow as tf; print(tf.config.list_physical_devices('GPU'))"`

## Fix
Install tensorflow[and-cuda] for NVIDIA, tensorflow-rocm of the installed ROCm for AMD.

## References
https://www.tensorflow.org/install/pip
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """TensorFlow for the vendor that is there; for each where none is known."""
    there = {v for v in ("nvidia", "amd") if machine.of_vendor(v)} or {"nvidia", "amd"}
    if machine.os.id == "windows":
        return (by_hand("Run TensorFlow in WSL 2: on Windows itself it uses no GPU from 2.11 on.", Scope.ENVIRONMENT),)
    held = package(machine, "tensorflow")
    same = f"=={held.version}" if held and release(held.version) and not below(held.version, _EXTRA_SINCE) else ""
    cuda = pip_install(machine, "Install TensorFlow with its CUDA libraries.", f"tensorflow[and-cuda]{same}")
    rocm = pip_install(machine, "Install TensorFlow for ROCm.", "tensorflow-rocm")
    return tuple(
        remedy.model_copy(update={"vendor": vendor})
        for vendor, remedy in (("nvidia", cuda), ("amd", rocm))
        if vendor in there
    )


_EXTRA_SINCE = "2.14"
_BUILT = (("2.18", "12", "9"), ("2.15", "12", "8"), ("2.5", "11", "8"), ("2.1", "10", "7"))
"""First TensorFlow of a row -> majors of CUDA and cuDNN that it was built and tested with
(tensorflow.org/install/source, 2026-03-11)."""
_WINDOWS_ENDS = "2.11"
"""From this release on there is no GPU support on native Windows (tensorflow.org/install/pip)."""
_CUDNN = Lazy(r"nvidia-cudnn-cu(\d\d)$")


_LACKS = (
    *(
        "framework-falls-back-to-cpu",
        "ggml-gpu-not-initialized",
        "jax-no-gpu-falls-back",
        "library-of-tensorflow-missing",
    ),
    *("program-crashed", "tensorflow-binary-lacks-capability"),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """A build without support for the GPUs that are there, else one for another CUDA or cuDNN."""
    yield from python_files.tensorflow(machine)
    yield from python_plugins.mismatched(machine, "tensorflow-")
    yield from known_faults(machine, RULE.id)
    there = vendors_there(machine)
    cpu = package(machine, "tensorflow-cpu", "intel-tensorflow")
    plain = package(machine, "tensorflow", "tensorflow-gpu")
    if package(machine, "tensorflow-rocm"):
        return
    wrong, why = (cpu if there else None), "does not support this machine's GPUs"
    if plain and _without_gpus(machine, plain.version, there):
        wrong = plain
    elif plain and there != {"amd"} and (other := _other_library(machine, plain.version)):
        wrong, why = plain, other
    if wrong is None:
        return
    # tensorflow-datasets and tf.data bring it beside JAX, which has the GPU: TensorFlow itself need not.
    beside = wrong is cpu and package(machine, "jax", "jaxlib") and not _speaks(machine)
    yield Finding(
        summary=f"{wrong.name} {wrong.version[:30]} {why}.",
        severity=Severity.INFO if beside else Severity.WARNING,
        subject=Subject(kind="package", id=wrong.name),
        explains=(*RULE.explains, *(("gpu-libs-not-found",) if "built for" in why else ())),
        evidence=(*shown(machine, wrong), *evidence(machine, ("gpus", "os.id", "cuda"))),
        remedies=advice(machine, kb),
    )


def _speaks(machine: Snapshot) -> bool:
    """Whether TensorFlow prints anything of its own, or a GPU is missed."""
    of_it = any(s.key.startswith("tensorflow-") for s in machine.symptoms)
    return of_it or machine.symptom(*_LACKS) is not None


def _without_gpus(machine: Snapshot, version: str, there: frozenset[str]) -> bool:
    """The plain build beside AMD's GPUs alone, or a late one on Windows. One that names an AMD target is ROCm's."""
    if there == {"amd"}:
        of_rocm = "rocm" in version or machine.symptom("tensorflow-leaves-gfx-out") is not None
        return discrete(machine, "amd") and not of_rocm
    return "nvidia" in there and machine.os.id == "windows" and not below(version, _WINDOWS_ENDS)


def _other_library(machine: Snapshot, version: str) -> str | None:
    """`is built for CUDA 12; CUDA 11 is what is here`."""
    if work_done.took_gpu(machine):
        return None  # it found its libraries, whatever toolkit lies beside them
    held = release(version)
    row = next((r for r in _BUILT if held and Dotted(held) >= r[0]), None)
    if row is None:
        return None
    wheels = [(m[1], p.version) for p in machine.packages or () if (m := _CUDNN.match(p.name[:40]))]
    toolkits = {str(Dotted(i.version).major) for i in machine.cuda or () if i.version}
    cudas = {cuda for cuda, _ in wheels} or toolkits
    if cudas and row[1] not in cudas:
        return f"is built for CUDA {row[1]}, but CUDA {min(cudas)} is here"
    if wheels and not machine.torch.version and all(str(Dotted(v).major) != row[2] for _, v in wheels):
        return f"is built for cuDNN {row[2]}, but cuDNN {wheels[0][1][:12]} is installed"
    return None
