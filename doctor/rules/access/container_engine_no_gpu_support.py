"""This flavour of container engine cannot see the host's GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules import run_line

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="container-engine-no-gpu-support",
    severity=Severity.ERROR,
    title="This flavour of container engine cannot see the host's GPUs.",
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
Docker Desktop on Linux (its engine runs in a VM), a snap engine, or another engine apart from the host's driver and
nodes.

## Why it matters
--device answers 'no such file or directory' for a node that the host has; the NVIDIA runtime finds no driver.

## Not raised when
On Windows, where Docker Desktop passes NVIDIA's GPUs through WSL. Where nobody says that no GPU is seen, or that a
container may not open /dev/kfd, it is information.

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


def unheard(machine: Snapshot) -> bool:
    """Where no container and no engine is named: any other program may be a snap as well."""
    shown = machine.container.inside or machine.container.engine_text or machine.container.run_args
    return not shown and machine.symptom("container-engine-named") is None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """By the engine as a text names it."""
    if not run_line.apart(machine):
        return
    refused = machine.symptom(*_REFUSED) is not None
    shut = machine.symptom(_SHUT) is not None and (machine.container.inside is True or run_line.passes_amd(machine))
    missed = run_line.sees_none(machine) or machine.symptom("gpu-idle-said") is not None
    sure = refused or shut or missed or bool(machine.gpus)
    yield Finding(
        summary=f"This engine runs apart from the host's GPUs: {(machine.container.engine_text or '')[:60]}.",
        severity=Severity.ERROR if refused else Severity.WARNING if sure else Severity.INFO,
        suspect=0 if sure else 4,
        explains=_explained(machine),
        subject=Subject(kind="container", id="engine"),
        evidence=evidence(machine, ("container.engine_text", "os.name")),
        fixes=FIXES,
        verify=("docker", "context", "ls"),
    )


def _explained(machine: Snapshot) -> tuple[str, ...]:
    """An engine that says that it has no such runtime may as well lack only that: both are named. A snap's hook that
    finds no library is another sign of it. What runs in its VM is Linux: that macOS has neither CUDA nor ROCm is said
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
    *("kfd-missing-in-container", "no-gpu-in-compose"),
)
