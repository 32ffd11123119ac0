"""The toolkit's no-cgroups setting is wrong for this engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="container-no-cgroups-misconfigured",
    severity=Severity.ERROR,
    title="The toolkit's no-cgroups setting is wrong for this engine.",
    needs=(),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=20,
    tags=("access", "container"),
    doc="""## What it finds
no-cgroups in /etc/nvidia-container-runtime/config.toml: true under a rootful engine, or false under a rootless one.

## Why it matters
'Failed to initialize NVML: Unknown Error' inside (true, rootful), or 'bpf_prog_query(BPF_CGROUP_DEVICE) failed'
(false, rootless).

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
`grep no-cgroups /etc/nvidia-container-runtime/config.toml` and whether the engine runs rootless.

## Fix
Rootful engine: false. Rootless engine: true. Or use CDI, which needs neither.

## Fix safety
Applies to containers started afterwards.

## References
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html#rootless-mode
""",
)

FIXES = (
    Fix(
        text="For a rootful engine.",
        command=("nvidia-ctk", "config", "--set", "nvidia-container-cli.no-cgroups=false", "--in-place"),
        root=True,
    ),
    Fix(
        text="For a rootless engine instead.",
        command=("nvidia-ctk", "config", "--set", "nvidia-container-cli.no-cgroups=true", "--in-place"),
        root=True,
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
