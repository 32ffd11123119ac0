"""The amdsmi Python package is missing or of another ROCm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules.python_packages import package, shown
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="amdsmi-mismatch",
    severity=Severity.ERROR,
    title="The amdsmi Python package is missing or of another ROCm.",
    needs=({"packages", "rocm"},),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=(
        "python",
        "amd",
    ),
    doc="""## What it finds
A program that asks AMD's amdsmi module, which is not installed, or does not fit libamd_smi.so: a package of another
release than the installed ROCm.

## Why it matters
vLLM takes the machine for one without GPUs; monitoring fails.

## Not raised when
The package and an installed ROCm are of one release, or either is not known. Where nothing fails it is a remark.

## How to confirm
`python -c 'import amdsmi; amdsmi.amdsmi_init()'`

## Fix
Install the amdsmi of the installed ROCm: it is in /opt/rocm/share/amd_smi.

## Fix safety
No reboot. Changes packages of this environment only.

## References
https://rocm.docs.amd.com/projects/amdsmi/en/latest/install/install.html
""",
)

FIXES = (
    Fix(
        text="Install the amdsmi package that came with the installed ROCm.",
        command=("python3", "-m", "pip", "install", "/opt/rocm/share/amd_smi"),
        where="environment",
    ),
)


_ROCM_NUMBERS = range(5, 20)
"""Majors of packages that are numbered as ROCm is; the library's own numbers (24, 25, 26) are not compared."""
_FELT = ("vllm-no-platform", "amdsmi-undefined-symbol", "amdsmi-library-missing", "amdsmi-import-told")


def unheard(machine: Snapshot) -> bool:
    """Where the library was loaded and answers that the GPU does not have what was asked for; where vLLM, which tries
    each platform in turn, took NVIDIA's."""
    if machine.symptom("vllm-takes-cuda-told") is not None:
        return True
    return machine.symptom("amdsmi-answers-told") is not None and not any(s.key in _FELT for s in machine.symptoms)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The package is a thin layer over the installed library, which changes from release to release."""
    held = package(machine, "amdsmi")
    number = Dotted(held.version) if held else Dotted("")
    installed = {Dotted(i.version).series() for i in machine.rocm or () if i.version}
    if held is None or number.major not in _ROCM_NUMBERS or not installed or number.series() in installed:
        return
    felt = any(s.key in _FELT for s in machine.symptoms)
    yield Finding(
        summary=f"amdsmi {held.version[:20]} is not of the installed ROCm {max(installed)}.",
        severity=Severity.WARNING if felt else Severity.INFO,
        suspect=True,
        subject=Subject(kind="package", id="amdsmi"),
        evidence=(*shown(machine, held), *evidence(machine, ("rocm",))),
        fixes=FIXES,
    )
