"""TensorFlow does not fit the CUDA, cuDNN or ROCm at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules import accusing, python_files, python_plugins, work_done
from doctor.rules.hardware import discrete, vendors_there
from doctor.rules.library_release import known_faults
from doctor.rules.missing_libraries import missing_runtimes
from doctor.rules.python_packages import below, package, pip_install, release, shown
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="tensorflow-gpu-mismatch",
    severity=Severity.ERROR,
    title="TensorFlow does not fit the CUDA, cuDNN or ROCm at hand.",
    needs=({"packages", "gpus"}, {"packages", "cuda"}, {"packages"}, {"rocm", "symptom:rocm-library-not-found"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A TensorFlow without GPU support, or for the other vendor, on a machine with a GPU; one that can't load its libraries;
one built for another CUDA, cuDNN or ROCm than what is here (the table of tested builds, the sonames that it asks
for), or too late for Windows.

## Why it matters
TensorFlow runs on the CPU with one line of warning.

## Not raised when
tensorflow-cpu is not installed, or stands beside JAX and says nothing (then it is information), the GPUs are
NVIDIA's, CUDA and cuDNN are of the majors that the release was built for
or not known, and no error text was seen.

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


_BUILT = (("2.18", "12", "9"), ("2.15", "12", "8"), ("2.5", "11", "8"), ("2.1", "10", "7"))
"""First TensorFlow of a row -> majors of CUDA and cuDNN that it was built and tested with
(tensorflow.org/install/source, 2026-03-11)."""
_WINDOWS_ENDS = "2.11"
"""From this release on there is no GPU support on native Windows (tensorflow.org/install/pip)."""
_CUDNN = Lazy(r"nvidia-cudnn-cu(\d\d)$")


_LACKS = (
    *("gpu-not-seen-said", "framework-falls-back-to-cpu", "library-of-tensorflow-missing", "only-cpu-listed-told"),
    *("import-fails-told", "program-crashed", "tensorflow-binary-lacks-capability"),
)


def excludes(machine: Snapshot) -> bool:
    """Where TensorFlow lists its GPU, and no error text accuses anything; where its program leaves the GPU alone, or
    there is none."""
    if accusing.leaves_gpu_alone(machine) or accusing.has_no_card(machine):
        return True
    return accusing.works_alone(machine, "tensorflow-lists-gpu")


def unheard(machine: Snapshot) -> bool:
    """Where work ran, or is slower than in an older release; where TensorFlow asked where its GPU sits, made a device
    of it, or compiles for it; where it says that it makes no devices of XLA's, as it does at each start."""
    if work_done.took_gpu(machine, "tensorflow-made-gpu-device-told", "ptxas-spilled-registers-told"):
        return True
    if machine.symptom("slower-than-before-told", "llvm-cannot-select") is not None or work_done.ran(machine):
        return True
    at_start = machine.symptom("tensorflow-asks-place-of-gpu", "tensorflow-makes-no-xla-devices-told")
    return at_start is not None and machine.symptom(*_LACKS) is None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """A build without support for the GPUs that are there, else one for another CUDA or cuDNN."""
    yield from python_files.tensorflow(machine)
    yield from python_plugins.mismatched(machine, "tensorflow-")
    yield from known_faults(machine, RULE.id)
    yield from _library_of_another_rocm(machine)
    there = vendors_there(machine)
    cpu = package(machine, "tensorflow-cpu", "intel-tensorflow")
    plain = package(machine, "tensorflow", "tensorflow-gpu")
    if package(machine, "tensorflow-rocm"):
        return
    wrong, why = (cpu if there else None), "has no support for this machine's GPUs"
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
        evidence=(*shown(machine, wrong), *evidence(machine, ("gpus", "os.id", "cuda"))),
        fixes=(pip_install(machine, "Install TensorFlow for ROCm.", "tensorflow-rocm"),) if there == {"amd"} else FIXES,
    )


def _speaks(machine: Snapshot) -> bool:
    """Whether TensorFlow prints anything of its own, or a GPU is missed."""
    of_it = any(s.key.startswith("tensorflow-") and s.key != "tensorflow-named" for s in machine.symptoms)
    return of_it or machine.symptom(*_LACKS) is not None


def _library_of_another_rocm(machine: Snapshot) -> Iterator[Finding]:
    """libamdhip64.so.3 is asked for where ROCm 4 is installed, and TensorFlow is what the text is of."""
    held = {Dotted(i.version).major for i in machine.rocm or () if i.version}
    if not held or machine.torch.version or not machine.symptom("tensorflow-named"):
        return
    other = next((m for m in missing_runtimes(machine) if m.stack == "rocm" and m.major not in held), None)
    if other:
        yield Finding(
            summary=f"TensorFlow asks for {other.library} of ROCm {other.major}; ROCm {max(map(str, held))} is here.",
            severity=Severity.WARNING,
            explains=("gpu-libs-not-found",),
            subject=Subject(kind="package", id="tensorflow-rocm"),
            evidence=(Evidence(text=other.symptom.text, source=other.symptom.source), *evidence(machine, ("rocm",))),
            fixes=(pip_install(machine, "Install the TensorFlow of the installed ROCm.", "tensorflow-rocm"),),
        )


def _without_gpus(machine: Snapshot, version: str, there: frozenset[str]) -> bool:
    """The plain build beside AMD's GPUs alone, or a late one on Windows. One that names an AMD target is ROCm's."""
    if there == {"amd"}:
        of_rocm = "rocm" in version or machine.symptom("tensorflow-leaves-gfx-out") is not None
        return discrete(machine, "amd") and not of_rocm
    return "nvidia" in there and machine.os.id == "windows" and not below(version, _WINDOWS_ENDS)


def _other_library(machine: Snapshot, version: str) -> str | None:
    """`is built for CUDA 12; CUDA 11 is what is here`."""
    if work_done.took_gpu(machine, "tensorflow-made-gpu-device-told"):
        return None  # it found its libraries, whatever toolkit lies beside them
    held = release(version)
    row = next((r for r in _BUILT if held and Dotted(held) >= r[0]), None)
    if row is None:
        return None
    wheels = [(m[1], p.version) for p in machine.packages or () if (m := _CUDNN.match(p.name[:40]))]
    toolkits = {str(Dotted(i.version).major) for i in machine.cuda or () if i.version}
    cudas = {cuda for cuda, _ in wheels} or toolkits
    if cudas and row[1] not in cudas:
        return f"is built for CUDA {row[1]}; CUDA {min(cudas)} is what is here"
    if wheels and not machine.torch.version and all(str(Dotted(v).major) != row[2] for _, v in wheels):
        return f"is built for cuDNN {row[2]}; cuDNN {wheels[0][1][:12]} is installed"
    return None
