from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="container-engine-no-gpu-support",
    severity=Severity.ERROR,
    scope=Scope.CONTAINER,
    action=Action.RECONFIGURE,
    layer=Layer.CONTAINER,
    title="This container engine cannot use the host's GPUs.",
    needs=({"container.engine_text"},),
    proven="synthetic",
    explains=(
        *("torch-sees-no-gpu", "framework-sees-no-gpu", "container-runtime-not-configured", "amdgpu-driver-not-loaded"),
        *("nvidia-driver-not-loaded", "container-missing-gpu-passthrough"),
    ),
    order=18,
    facts_decide=False,
    tags=("access", "container"),
    doc="""## What it finds
Docker Desktop on Linux (its engine runs in a VM), a snap engine, or another engine that cannot reach the host's
driver and nodes.

## Why it matters
--device fails with 'no such file or directory' for a node that the host has; the NVIDIA runtime finds no driver.

## Not raised when
On Windows, where Docker Desktop passes NVIDIA's GPUs through WSL. It is information unless the text says that no GPU
is seen or that a container cannot open /dev/kfd.

## How to confirm
`docker context ls` and `docker info`: a context desktop-linux, or Docker Root Dir under /var/snap.

## Fix
- Docker Desktop on Linux: install Docker Engine (https://docs.docker.com/engine/install/) beside it and select it with
  `docker context use default`. Undo: `docker context use desktop-linux`.
- The snap of Docker: `snap disable docker`, then install Docker's packages. Undo: `snap enable docker`.

## Fix safety
Root, no reboot. Images and volumes of the other engine stay where they are and are not moved. Save them before you
run `snap remove docker`: it deletes them.

## References
https://github.com/ROCm/container-toolkit/issues/86
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """By the engine: Docker Desktop can stay beside the native engine, a snap engine is replaced."""
    engine = (machine.container.engine_text or "").lower()
    if machine.os.id == "macos":
        return ()
    if machine.os.id == "windows" or machine.host.wsl:
        title = "Run the program without Docker, in Windows or in WSL: Docker on Windows passes on NVIDIA's GPUs only."
        return (way(title, Scope.JOB),)
    if re.search(r"\bsnap\b", engine):
        steps = (
            step("Back up what you need; the snap's images and volumes are not moved.", "docker", "image", "ls"),
            step("Stop and disable it; its data stays.", "snap", "disable", "docker"),
            step("Install Docker's own packages: https://docs.docker.com/engine/install/"),
        )
        undo = (step("Enable it again.", "snap", "enable", "docker"),)
        risk = "stops the snap's containers"
        return (
            way(
                "Replace the Docker snap with Docker's own packages.",
                Scope.HOST,
                *steps,
                root=True,
                risk=risk,
                undo=undo,
            ),
        )
    if "desktop" in engine or not engine:
        beside = (
            step("Install Docker Engine beside Docker Desktop: https://docs.docker.com/engine/install/"),
            step("Select it.", "docker", "context", "use", "default"),
        )
        undo = (step("Select Docker Desktop again.", "docker", "context", "use", "desktop-linux"),)
        title = "Use Docker Engine instead of Docker Desktop, which runs in a VM."
        return (way(title, Scope.HOST, *beside, root=True, undo=undo, keeps=("Docker Desktop's images and volumes",)),)
    return (way("Run the container with Docker Engine or Podman on the host itself.", Scope.HOST, root=True),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    if not run_line.apart(machine):
        return
    refused = machine.symptom(*_REFUSED) is not None
    shut = machine.symptom(_SHUT) is not None and (machine.container.inside is True or run_line.passes_amd(machine))
    missed = run_line.sees_none(machine)
    sure = refused or shut or missed or bool(machine.gpus)
    yield Finding(
        summary=f"{_named(machine)} cannot use the host's GPUs.",
        severity=Severity.ERROR if refused else Severity.WARNING if sure else Severity.INFO,
        suspect=0 if sure else 4,
        explains=_explained(machine),
        subject=Subject(kind="container", id="engine"),
        evidence=evidence(machine, ("container.engine_text", "os.name")),
        remedies=advice(machine, kb),
        verify=("docker", "context", "ls"),
    )


def _named(machine: Snapshot) -> str:
    name = (machine.container.engine_text or "This container engine")[:60]
    return f"{name[:1].upper()}{name[1:]}".replace("Docker desktop", "Docker Desktop")


def _explained(machine: Snapshot) -> tuple[str, ...]:
    """An engine that says that it has no such runtime may as well lack only that: both are named. A snap's hook that
    finds no library is another sign of it. What runs in its VM is Linux: that macOS has neither CUDA nor ROCm goes
    with the VM."""
    unset = machine.symptom("docker-no-gpu-capability", "docker-no-nvidia-runtime") is not None
    if machine.symptom("snap-docker") is not None and machine.symptom("container-cli-load-library") is not None:
        unset = True
    explained = (*RULE.explains, "os-without-cuda-or-rocm") if machine.os.id == "macos" else RULE.explains
    return tuple(rule for rule in explained if not unset or rule != "container-runtime-not-configured")


_SHUT = "kfd-open-permission"
"""A node of that name is there, and the account of the VM may not open it."""
_REFUSED = (
    *(
        "docker-no-gpu-capability",
        "container-cli-load-library",
        "docker-custom-device-missing",
        "docker-no-nvidia-runtime",
    ),
    *("kfd-missing-in-container", "kfd-node-missing", "no-gpu-in-compose"),
)
