"""There is no CDI spec where the engine looks, or it was made for another driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="cdi-spec-missing-or-stale",
    severity=Severity.ERROR,
    title="There is no CDI spec where the engine looks, or it was made for another driver.",
    needs=(),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=20,
    tags=("access", "container"),
    doc="""## What it finds
No spec for nvidia.com/gpu (or amd.com/gpu) under /etc/cdi or /var/run/cdi, or one that names files of another driver.

## Why it matters
'unresolvable CDI devices nvidia.com/gpu=all', or a mount of a library that is not there after a driver update.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
`nvidia-ctk cdi list` on the host; the driver version in the file names of /etc/cdi/nvidia.yaml.

## Fix
Generate the spec anew, after every driver update.

## Fix safety
Writes one file; running containers keep theirs.

## References
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html
""",
)

FIXES = (
    Fix(
        text="Generate the spec.", command=("nvidia-ctk", "cdi", "generate", "--output=/etc/cdi/nvidia.yaml"), root=True
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
