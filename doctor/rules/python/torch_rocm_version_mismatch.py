"""torch's ROCm does not match the installed ROCm or its driver."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.drivers import Install
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import torch_install
from doctor.rules.lib.advice import unset
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.versions import Dotted

RULE = Rule(
    id="torch-rocm-version-mismatch",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.TORCH,
    title="torch's ROCm does not match the installed ROCm or its driver.",
    needs=({"torch.rocm", "rocm"}, {"rocm", "symptom:rocm-library-not-found"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=40,
    facts_decide=False,
    tags=("python", "amd"),
    doc="""## What it finds
A ROCm build of torch that loads libraries of another ROCm, or runs on a driver outside its support window.

## Why it matters
Symbols are missing at import, or libraries of one release read kernels of another.

## Not raised when
The releases have the same or neighbouring majors, the installed ROCm is not known, or LD_LIBRARY_PATH does not point
to it: a wheel has its own libraries, so the distance alone is a warning.

## How to confirm
`python -c 'import torch; print(torch.version.hip)'` and `/opt/rocm/.info/version`.

## Fix
Use the torch build of the installed ROCm, and keep /opt/rocm/lib out of LD_LIBRARY_PATH: the wheel has its own.

## Fix safety
Replaces torch in this environment.

## References
https://rocm.docs.amd.com/en/latest/compatibility/compatibility-matrix.html
""",
)


def advice(machine: Snapshot, kb: Knowledge | None = None) -> tuple[Remedy, ...]:
    """The build for the ROCm that is there, or torch's own libraries alone."""
    off = unset(machine, _PATH, because=": torch's wheel brings its own ROCm").model_copy(update={"vendor": "amd"})
    return torch_install.install(machine, "amd"), off


_FAR = 2
"""Majors apart: neighbouring ones are within AMD's support window of a year (user and kernel space matrix, 2026-09)."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """A runtime of torch's own major that is not found, else majors that are far apart; nearer ones work together."""
    ours = Dotted(machine.torch.rocm or "").major
    held = [Dotted(i.version).major for i in machine.rocm or () if i.version and _meets_torch(i)]
    theirs = [major for major in held if major is not None]
    if ours is None or not theirs or min(abs(major - ours) for major in theirs) < _FAR:
        return
    yield Finding(
        summary=f"torch was built for ROCm {(machine.torch.rocm or '')[:12]}, but ROCm {max(theirs)} is installed.",
        severity=Severity.WARNING,
        subject=Subject(kind="package", id="torch"),
        evidence=evidence(machine, ("torch.version", "torch.rocm", "rocm")),
        remedies=advice(machine),
    )


_PATH = "LD_LIBRARY_PATH"


def _meets_torch(install: Install) -> bool:
    """Whether torch's libraries meet those of the installation. A wheel's own come first, unless LD_LIBRARY_PATH leads
    to others; where it is not known what selects the installation, it may."""
    return install.selected_by is None or "LD_LIBRARY_PATH" in install.selected_by
