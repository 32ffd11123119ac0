from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.pip import beside, delete

_OF_HIP = ("hip-invalid-device-function",)
"""What only a build for ROCm says."""

RULE = Rule(
    id="install-path-has-space",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="The environment's path contains a space.",
    needs=(
        {"interpreter.prefix", "torch.build"},
        {"torch.location", "torch.build"},
        *({"torch.location", f"symptom:{key}"} for key in _OF_HIP),
    ),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "torch-missing-gpu-arch"),
    order=39,
    facts_decide=False,
    tags=(
        "python",
        "amd",
    ),
    doc="""## What it finds
A ROCm build of torch under a path that contains a space.

## Why it matters
ROCm 6's loader of code objects does not find kernels under such a path: 'invalid device function'.

## Not raised when
torch is not a ROCm build and no error message shows it, or the path has no space.

## How to confirm
`python -c 'import torch; print(torch.__file__)'`

## Fix
Recreate the environment under a path without spaces: environments cannot be moved.

## References
https://github.com/ROCm/clr/issues
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """A new environment beside the old one."""
    held = step("List its packages: `pip freeze > requirements.txt` in the old environment.", where="environment")
    new = beside(machine, "-r", "requirements.txt", where="/opt/venv")
    title = "Create the environment again under a path without spaces."
    return (way(title, Scope.ENVIRONMENT, held, *new, undo=delete("/opt/venv")),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """ROCm builds alone are known to mind."""
    spaced = [p for p in (machine.interpreter.prefix, machine.torch.location) if p and " " in p.strip()]
    if spaced and (machine.torch.build == "rocm" or machine.symptom(*_OF_HIP)):
        yield Finding(
            summary="torch for ROCm may not find its kernels: its path contains a space.",
            severity=Severity.WARNING,
            subject=Subject(kind="path"),
            evidence=evidence(machine, ("torch.location", "interpreter.prefix", "torch.version")),
            remedies=advice(machine, kb),
        )
