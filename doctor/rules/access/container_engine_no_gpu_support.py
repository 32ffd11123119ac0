"""This flavour of container engine cannot see the host's GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="container-engine-no-gpu-support",
    severity=Severity.ERROR,
    title="This flavour of container engine cannot see the host's GPUs.",
    needs=(),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=20,
    tags=("access", "container"),
    doc="""## What it finds
Docker Desktop on Linux (its engine runs in a VM), a snap engine, or another engine apart from the host's driver and
nodes.

## Why it matters
--device answers 'no such file or directory' for a node that the host has; the NVIDIA runtime finds no driver.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
`docker context ls` and `docker info`: a context desktop-linux, or Docker Root Dir under /var/snap.

## Fix
Use the native engine of the distribution's or Docker's packages.

## Fix safety
Images and volumes of the other engine are not carried over.

## References
https://github.com/ROCm/container-toolkit/issues/86
""",
)

FIXES = (
    Fix(text="Use the native engine instead of Docker Desktop's VM.", command=("docker", "context", "use", "default")),
    Fix(
        text="Replace a snap engine by Docker's own packages.",
        command=("snap", "remove", "docker"),
        root=True,
        risk="Removes that engine with its images and volumes.",
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
