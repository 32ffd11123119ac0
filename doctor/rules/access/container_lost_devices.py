"""A running container lost its GPUs when its device cgroup was rewritten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="container-lost-devices",
    severity=Severity.ERROR,
    title="A running container lost its GPUs when its device cgroup was rewritten.",
    needs=(),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=20,
    tags=("access", "container"),
    doc="""## What it finds
systemd rewrote the container's device cgroup (daemon-reload, an update) and dropped what the toolkit's hook had
added.

## Why it matters
GPU work ran and then fails with 'Failed to initialize NVML: Unknown Error', until the container is started again.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
A new container works; in the old one opening /dev/nvidiactl answers EPERM.

## Fix
Start the container again. To keep it from coming back use CDI, or the cgroupfs driver, or pass each node with
--device.

## Fix safety
The container must be started again.

## References
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
https://github.com/NVIDIA/nvidia-container-toolkit/issues/48
""",
)

FIXES = (
    Fix(text="Start the container again.", command=("docker", "restart", "CONTAINER")),
    Fix(
        text="Make the nodes' links under /dev/char, so that systemd keeps the devices.",
        command=("nvidia-ctk", "system", "create-dev-char-symlinks", "--create-all"),
        root=True,
    ),
    Fix(text="Or pass GPUs by CDI.", command=("docker", "run", "--device", "nvidia.com/gpu=all", "IMAGE")),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
