"""torchvision or torchaudio belong to another torch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules.torch_install import INDEX, python_of
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Companions, Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="torch-companion-mismatch",
    severity=Severity.ERROR,
    title="torchvision or torchaudio belong to another torch.",
    needs=({"packages", "torch.version"},),
    proven="synthetic",
    order=41,
    tags=("python",),
    doc="""## What it finds
A torchvision or torchaudio whose release is made for another release of torch than the one installed.

## Why it matters
"operator torchvision::nms does not exist", undefined symbols, or an import that crashes.

## Not raised when
Either release is not in the table (nightlies, NVIDIA's and AMD's own builds), or the release pins no torch.

## How to confirm
`python -m pip check`

## Fix
Install the release that belongs to the installed torch.

## Fix safety
Replaces one package in this environment.

## References
Requirement lines in the published metadata of torchvision and torchaudio (2026-11-20)
""",
)

_RELEASE = re.compile(r"^(\d+\.\d+\.\d+)(?:\+([\w.]+))?$")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Both releases must be plain ones that the table knows."""
    torch = _RELEASE.match(machine.torch.version or "")
    row = kb.companions(torch[1]) if torch else None
    if torch is None or row is None:
        return
    for package in machine.packages or ():
        held = _RELEASE.match(package.version)
        wanted = row.made_for(package.name)
        if not held or not wanted or held[1] in wanted or not kb.is_companion(package.name, held[1]):
            continue
        since = row.serves_from(package.name)
        if since and Dotted(held[1]) >= since:
            continue
        yield _finding(machine, package, torch[1], torch[2], wanted[0], row)


def _finding(machine: Snapshot, package: Package, torch: str, tag: str | None, wanted: str, row: Companions) -> Finding:
    index = ("--index-url", f"{INDEX}/{tag}") if tag else ()
    command = (python_of(machine), "-m", "pip", "install", *index, f"{package.name}=={wanted}", f"torch=={torch}")
    return Finding(
        summary=f"{package.name} {package.version} is not made for torch {torch}, which goes with {wanted}.",
        subject=Subject(kind="package", id=package.name),
        evidence=(
            *evidence(machine, ("torch.version",)),
            Evidence(text=f"{package.name} {package.version}", source=machine.source("packages")),
        ),
        fixes=(Fix(text=f"Install {package.name} {wanted}.", command=command, where="environment"),),
        verify=(python_of(machine), "-m", "pip", "check"),
        source=f"{row.source} ({row.as_of})",
    )
