from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import python_files, run_line
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.framework_pins import series_of, torch_series
from doctor.rules.lib.hardware import vendors_there
from doctor.rules.lib.pip import beside, delete
from doctor.rules.lib.presence import present
from doctor.rules.lib.python_packages import package, pip_install, release, shown

RULE = Rule(
    id="vllm-build-mismatch",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="vLLM was built for another torch, CUDA, ROCm or GPU.",
    needs=({"packages"},),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A vLLM whose compiled part does not match the installed torch: the release pins another torch, its extension cannot be
loaded, or it is PyPI's CUDA build on a machine with only AMD GPUs.

## Why it matters
vLLM stops at import, or finds no GPU.

## Not raised when
vLLM was built from source, its pin is not known, or torch is the pinned one.

## How to confirm
`python -c 'import vllm._C'` and `python -m pip check`

## Fix
Install vLLM and torch together, from the index of this CUDA or ROCm.

## References
https://docs.vllm.ai/en/latest/getting_started/installation/
""",
)


def advice(machine: Snapshot, kb: Knowledge | None = None) -> tuple[Remedy, ...]:
    """A new environment, so that pip installs the torch that vLLM pins."""
    title = "Install vLLM into a new environment, with the torch that it pins."
    if (vendors_there(machine) or run_line.vendors_meant(machine)) == {"amd"} or machine.symptom(*_OF_AMD):
        text = "AMD publishes vLLM as a container, rocm/vllm; PyPI's wheel is for CUDA."
        get = step(f"Get the image. {text}", "docker", "pull", "rocm/vllm:latest")
        return (
            way("Run vLLM in AMD's container.", Scope.CONTAINER, get, vendor="amd", undo=(step("Delete the image."),)),
        )
    return (way(title, Scope.ENVIRONMENT, *beside(machine, "vllm"), undo=delete()),)


_OF_AMD = ("amdsmi-module-missing", "amdsmi-library-missing", "amdsmi-undefined-symbol")
_CUDA_WHEEL = Lazy(r"nvidia-[a-z-]{2,40}-cu1\d$")
"""Wheels that only a torch for CUDA asks for."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """PyPI's build beside AMD's GPUs alone, else plain releases whose pin is known."""
    yield from python_files.vllm(machine)
    vllm = package(machine, "vllm")
    if vllm is None:
        return
    if _for_cuda_on_amd(machine, vllm.version):
        yield _finding(
            machine, vllm, f"vLLM {vllm.version[:20]} is PyPI's build for CUDA, but the GPUs here are AMD's."
        )
        return
    torch, pin = series_of(release(machine.torch.version)), torch_series("vllm", vllm.version)
    if torch and pin and torch != pin and machine.torch.build != "rocm":
        wanted = (f"vllm=={vllm.version}", f"torch=={pin}.*")
        yield _finding(
            machine,
            vllm,
            f"vLLM {vllm.version[:20]} is built for torch {pin}, but torch {torch} is installed.",
            pip_install(machine, "Install both together.", *wanted),
        )


def _for_cuda_on_amd(machine: Snapshot, version: str) -> bool:
    """A plain release (builds for ROCm say so) with a torch that is not for ROCm."""
    amd_alone = present(machine, "amd") and not present(machine, "nvidia")
    of_cuda = machine.torch.build in ("cuda", "cpu") or (
        machine.torch.build is None and any(_CUDA_WHEEL.match(p.name) for p in machine.packages or ())
    )
    return bool(amd_alone) and release(version) == version and of_cuda


def _finding(machine: Snapshot, vllm: Package, summary: str, *fixes: Remedy) -> Finding:
    return Finding(
        summary=summary,
        severity=Severity.WARNING,
        subject=Subject(kind="package", id="vllm"),
        evidence=(*evidence(machine, ("torch.version", "gpus")), *shown(machine, vllm)),
        remedies=fixes or advice(machine),
    )
