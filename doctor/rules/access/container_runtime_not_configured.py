"""The container engine is not set up to pass NVIDIA GPUs."""

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
    id="container-runtime-not-configured",
    severity=Severity.ERROR,
    title="The container engine is not set up to pass NVIDIA GPUs.",
    needs=({"container.toolkit_installed"}, {"container.runtimes"}, {"container.default_runtime"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "container-missing-gpu-passthrough"),
    order=19,
    facts_decide=False,
    tags=("access", "container"),
    doc="""## What it finds
The NVIDIA Container Toolkit is missing on the host, or the engine was not configured for it.

## Why it matters
`docker run --gpus all` fails with 'could not select device driver', or 'unknown or invalid runtime name: nvidia'.

## Not raised when
The engine is Docker Desktop or a snap (container-engine-no-gpu-support), a CDI device is asked for, or no NVIDIA GPU is
meant. Where nobody says that no GPU is seen it is information.

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
    """Toolkit and runtimes as a text or the engine states them."""
    box = machine.container
    meant = run_line.vendors_meant(machine)
    if run_line.apart(machine) or meant == {"amd"} or _by_cdi(machine):
        return
    if box.toolkit_installed is False:
        yield _finding(machine, "NVIDIA's container toolkit is not installed.", "container.toolkit_installed")
    elif box.runtimes is not None and not any("nvidia" in name for name in box.runtimes) and _wanted(machine):
        yield _finding(machine, "The engine is configured for no nvidia runtime.", "container.runtimes")
    elif box.default_runtime == "runc" and _pods_run_under_it(machine):
        yield _finding(
            machine, "Pods run under runc: nothing passes NVIDIA's GPUs to them.", "container.default_runtime"
        )


def excludes(machine: Snapshot) -> bool:
    """Where the device plugin waits on a node whose lspci shows no GPU of NVIDIA: there is none to pass."""
    none = machine.pci and not machine.gpus and all(device.vendor_id != "10de" for device in machine.pci)
    return bool(none) and machine.symptom("device-plugin-finds-none-told") is not None


def unheard(machine: Snapshot) -> bool:
    """Where the engine itself lists NVIDIA's runtime. Pods take it where it is the default one. Where a container runs
    that lacks a program of its own, or in which a server took its GPU. Where one lost the GPU that it had."""
    if machine.symptom("gpu-lost-after-time-told") is not None:
        return True
    if machine.symptom(*_RUNS) is not None and not run_line.sees_none(machine):
        return True
    listed = any("nvidia" in name for name in machine.container.runtimes or ())
    return listed and machine.container.engine != "kubernetes" and machine.symptom("kubernetes-told") is None


_RUNS = ("program-missing-in-container-told", "ggml-finds-gpus-told", "ollama-serves-from-gpu-told", "layers-on-gpu")


def _pods_run_under_it(machine: Snapshot) -> bool:
    """A pod without a runtimeClass; or a text that speaks of pods that see no GPU beside the engine's settings."""
    if machine.container.engine == "kubernetes":
        return "nvidia" not in run_line.options(machine, "--runtime")
    return machine.symptom("kubernetes-told") is not None and run_line.sees_none(machine)


def _by_cdi(machine: Snapshot) -> bool:
    return any("nvidia.com/" in device for device in run_line.options(machine, "--device"))


def _wanted(machine: Snapshot) -> bool:
    """`docker info` of a machine that never meant to pass GPUs shows no such runtime either."""
    return run_line.passes_nvidia(machine) or run_line.vendors_meant(machine) == {"nvidia"}


def _finding(machine: Snapshot, summary: str, fact: str) -> Finding:
    sure = run_line.sees_none(machine) or run_line.vendors_meant(machine) == {"nvidia"}
    return Finding(
        summary=summary,
        severity=Severity.WARNING if sure else Severity.INFO,
        suspect=0 if sure else 5,
        subject=Subject(kind="container", id="engine"),
        evidence=evidence(machine, (fact, "container.engine_text")),
        fixes=FIXES,
        verify=("nvidia-ctk", "--version"),
    )
