"""The container toolkit is older than the driver or the engine needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="container-toolkit-too-old",
    severity=Severity.ERROR,
    title="The container toolkit is older than the driver or the engine needs.",
    needs=(),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=20,
    tags=("access", "container"),
    doc="""## What it finds
An NVIDIA or AMD container toolkit that predates the driver, the engine or a security fix.

## Why it matters
Containers start without some libraries or nodes, or not at all ('nvidia-container-cli: … undefined symbol').

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
`nvidia-ctk --version` and `nvidia-container-cli --version` on the host.

## Fix
Update the toolkit and restart the engine.

## Fix safety
Restarting Docker stops its containers unless live-restore is on.

## References
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/release-notes.html
""",
)

FIXES = (
    Fix(text="Update nvidia-container-toolkit (and libnvidia-container1, of the same version) on the host.", root=True),
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
