from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import STOPS_CONTAINER, step, way
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.hardware import has_no, nodes_of

RULE = Rule(
    id="container-lost-devices",
    severity=Severity.ERROR,
    scope=Scope.CONTAINER,
    action=Action.REBUILD,
    layer=Layer.DEVICES,
    title="A running container lost its GPUs when its device rules were rewritten.",
    needs=({"nvidia_driver.nvml_error", "container.inside"}, {"nvidia_driver.nvml_gpus", "container.inside"}),
    facts_decide=False,
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=20,
    tags=("access", "container", "nvidia"),
    doc="""## What it finds
systemd rewrote the container's device cgroup (daemon-reload, an update) and dropped the rules that the toolkit's hook
had added.

## Why it matters
GPU work starts to fail with 'Failed to initialize NVML: Unknown Error', until the container is started again.

## Not raised when
NVML works, no node of an NVIDIA GPU was passed, or this is not a container.

## How to confirm
A new container works; in the old one, opening /dev/nvidiactl fails with EPERM.

## Fix
Restart the container. To prevent it, use CDI or the cgroupfs driver, or pass each node with --device.

## References
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
https://github.com/NVIDIA/nvidia-container-toolkit/issues/48
""",
)

REMEDIES = (
    way(
        "Recreate the container with CDI, which keeps the devices.",
        Scope.CONTAINER,
        step("Start it (IMAGE: your image).", "docker", "run", "--device", "nvidia.com/gpu=all", "IMAGE"),
        risk=STOPS_CONTAINER,
        vendor="nvidia",
    ),
    way(
        "Create the links in /dev/char, so that systemd keeps the devices.",
        Scope.HOST,
        step(
            "Create them; repeat it at each boot.", "nvidia-ctk", "system", "create-dev-char-symlinks", "--create-all"
        ),
        step("Restart the container (CONTAINER: its name).", "docker", "restart", "CONTAINER"),
        root=True,
        vendor="nvidia",
    ),
    way(
        "Restart the container; the fault returns at the next `systemctl daemon-reload`.",
        Scope.CONTAINER,
        step("Restart it (CONTAINER: its name).", "docker", "restart", "CONTAINER"),
        risk="stops the programs in it",
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """NVML answers `Unknown Error` where it may not open the nodes that the container was given."""
    unknown = machine.nvidia_driver.nvml_error in ("NVML_ERROR_UNKNOWN", "NVML_ERROR_NO_PERMISSION")
    if not unknown or not machine.container.inside or run_line.from_text(machine, "nvidia_driver.nvml_error"):
        return
    if not nodes_of(machine, "nvidia") or has_no(machine, "nvidiactl"):
        return  # never given
    yield Finding(
        summary="This container lost its GPU device rules (NVML: Unknown Error); the device nodes are still there.",
        subject=Subject(kind="container", id="nvidia"),
        evidence=evidence(machine, ("nvidia_driver.nvml_error", "container.engine", "nodes")),
        remedies=REMEDIES,
        verify=("nvidia-smi", "-L"),
    )
