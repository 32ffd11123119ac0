from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.python_packages import package, pip_install, shown
from doctor.versions import Dotted

RULE = Rule(
    id="amdsmi-mismatch",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="The amdsmi Python package is missing or does not match ROCm.",
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
A program that uses AMD's amdsmi module, which is not installed or does not match libamd_smi.so: the package and the
installed ROCm have different releases.

## Why it matters
vLLM finds no GPU; monitoring fails.

## Not raised when
The package and an installed ROCm are of one release, or either is not known. If nothing fails, it is information.

## How to confirm
`python -c 'import amdsmi; amdsmi.amdsmi_init()'`

## Fix
Install the amdsmi of the installed ROCm: it is in /opt/rocm/share/amd_smi.

## References
https://rocm.docs.amd.com/projects/amdsmi/en/latest/install/install.html
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """From the folder of the installed ROCm, which is /opt/rocm where it is not known."""
    path = next((i.path for i in machine.rocm or () if i.kind == "prefix"), "/opt/rocm")
    title = "Install the amdsmi package that came with the installed ROCm."
    return (pip_install(machine, title, f"{path}/share/amd_smi").model_copy(update={"vendor": "amd"}),)


_ROCM_NUMBERS = range(5, 20)
"""Majors of packages that are numbered as ROCm is; the library's own numbers (24, 25, 26) are not compared."""
_FELT = ("vllm-no-platform", "amdsmi-undefined-symbol", "amdsmi-library-missing")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The package is a thin layer over the installed library, which changes from release to release."""
    held = package(machine, "amdsmi")
    number = Dotted(held.version) if held else Dotted("")
    installed = {Dotted(i.version).series() for i in machine.rocm or () if i.version}
    if held is None or number.major not in _ROCM_NUMBERS or not installed or number.series() in installed:
        return
    felt = any(s.key in _FELT for s in machine.symptoms)
    yield Finding(
        summary=f"amdsmi {held.version[:20]} does not match the installed ROCm {max(installed)}.",
        severity=Severity.WARNING if felt else Severity.INFO,
        suspect=True,
        subject=Subject(kind="package", id="amdsmi"),
        evidence=(*shown(machine, held), *evidence(machine, ("rocm",))),
        remedies=advice(machine, kb),
    )
