"""vLLM was built for another torch, CUDA, ROCm or GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules import python_files, work_done
from doctor.rules.framework_pins import series_of, torch_series
from doctor.rules.presence import present
from doctor.rules.python_packages import package, pip_install, release, shown

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="vllm-build-mismatch",
    severity=Severity.ERROR,
    title="vLLM was built for another torch, CUDA, ROCm or GPU.",
    needs=({"packages"},),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A vLLM whose compiled part does not fit the installed torch: the release pins another torch, its extension can't be
loaded, or it is PyPI's build for CUDA on a machine with AMD's GPUs alone.

## Why it matters
vLLM stops at import, or takes the machine for one without GPUs.

## Not raised when
vLLM was built from source, its pin is not known, or torch is the pinned one.

## How to confirm
`python -c 'import vllm._C'` and `python -m pip check`

## Fix
Install vLLM and torch together, from the index of this CUDA or ROCm.

## Fix safety
No reboot. Changes packages of this environment only.

## References
https://docs.vllm.ai/en/latest/getting_started/installation/
""",
)

FIXES = (
    Fix(
        text="Install vLLM into a fresh environment, with the torch that it pins and for this CUDA or ROCm.",
        where="environment",
    ),
)
_CUDA_WHEEL = Lazy(r"nvidia-[a-z-]{2,40}-cu1\d$")
"""Wheels that only a torch for CUDA asks for."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """PyPI's build beside AMD's GPUs alone, else plain releases whose pin is known."""
    yield from python_files.vllm(machine)
    vllm = package(machine, "vllm")
    if vllm is None:
        return
    if _for_cuda_on_amd(machine, vllm.version):
        yield _finding(machine, vllm, f"vLLM {vllm.version[:20]} is PyPI's build for CUDA; the GPUs here are AMD's.")
        return
    torch, pin = series_of(release(machine.torch.version)), torch_series("vllm", vllm.version)
    if torch and pin and torch != pin and machine.torch.build != "rocm":
        wanted = (f"vllm=={vllm.version}", f"torch=={pin}.*")
        yield _finding(
            machine,
            vllm,
            f"vLLM {vllm.version[:20]} is built for torch {pin}; torch {torch} is installed.",
            pip_install(machine, "Install both together.", *wanted),
        )


def _for_cuda_on_amd(machine: Snapshot, version: str) -> bool:
    """A plain release (builds for ROCm say so) with a torch that is not for ROCm."""
    amd_alone = present(machine, "amd") and not present(machine, "nvidia")
    of_cuda = machine.torch.build in ("cuda", "cpu") or (
        machine.torch.build is None and any(_CUDA_WHEEL.match(p.name) for p in machine.packages or ())
    )
    return bool(amd_alone) and release(version) == version and of_cuda


def _finding(machine: Snapshot, vllm: Package, summary: str, *fixes: Fix) -> Finding:
    return Finding(
        summary=summary,
        severity=Severity.WARNING,
        subject=Subject(kind="package", id="vllm"),
        evidence=(*evidence(machine, ("torch.version", "gpus")), *shown(machine, vllm)),
        fixes=fixes or FIXES,
    )


def unheard(machine: Snapshot) -> bool:
    """Words alone blame no program that the text does not name, nor one whose kernels ran, nor one whose extension is
    listed among its files: a module that is not found beside it is looked for elsewhere, as in a checkout. Nor one that
    another program asks for and that is not there at all: no build of it can be the wrong one."""
    if work_done.ran(machine) or machine.symptom("vllm-extension-installed-told", "vllm-absent-told") is not None:
        return True
    return machine.symptom("vllm-named") is None and not any(p.name == "vllm" for p in machine.packages or ())
