"""There is no CDI spec where the engine looks, or it was made for another driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="cdi-spec-missing-or-stale",
    severity=Severity.ERROR,
    title="There is no CDI spec where the engine looks, or it was made for another driver.",
    needs=({"container.cdi_driver", "nvidia_driver.version"},),
    proven="synthetic",
    explains=(
        *("torch-sees-no-gpu", "framework-sees-no-gpu", "nvidia-driver-library-mismatch", "container-toolkit-too-old"),
        "container-missing-gpu-passthrough",
    ),
    order=19,
    facts_decide=False,
    tags=("access", "container"),
    doc="""## What it finds
No spec for nvidia.com/gpu (or amd.com/gpu) under /etc/cdi or /var/run/cdi, or one that names files of another driver.

## Why it matters
'unresolvable CDI devices nvidia.com/gpu=all', or a mount of a library that is not there after a driver update.

## Not raised when
The spec names files of the driver that is loaded.

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
    """The driver whose files the spec names against the one that is loaded."""
    spec, loaded = machine.container.cdi_driver, machine.nvidia_driver.version
    if spec and loaded and spec != loaded:
        yield Finding(
            summary=f"The CDI spec names files of driver {spec[:20]}; {loaded[:20]} is loaded.",
            subject=Subject(kind="file", id="/etc/cdi/nvidia.yaml"),
            evidence=evidence(machine, ("container.cdi_driver", "nvidia_driver.version")),
            fixes=FIXES,
            verify=("nvidia-ctk", "cdi", "list"),
        )
