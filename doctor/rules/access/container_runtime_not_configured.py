"""The container engine is not set up to pass NVIDIA GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="container-runtime-not-configured",
    severity=Severity.ERROR,
    title="The container engine is not set up to pass NVIDIA GPUs.",
    needs=(),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=20,
    tags=("access", "container"),
    doc="""## What it finds
The NVIDIA Container Toolkit is missing on the host, or the engine was not configured for it.

## Why it matters
`docker run --gpus all` fails with 'could not select device driver', or 'unknown or invalid runtime name: nvidia'.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
`nvidia-ctk --version` and `docker info` (Runtimes) on the host.

## Fix
Install the toolkit, configure the engine, restart it.

## Fix safety
Restarting Docker stops its containers unless live-restore is on.

## References
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
""",
)

FIXES = (
    Fix(text="Install nvidia-container-toolkit from NVIDIA's package repository, where it is missing.", root=True),
    Fix(text="Configure Docker for it.", command=("nvidia-ctk", "runtime", "configure", "--runtime=docker"), root=True),
    Fix(
        text="Restart Docker.",
        command=("systemctl", "restart", "docker"),
        root=True,
        risk="Stops running containers unless live-restore is on.",
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
