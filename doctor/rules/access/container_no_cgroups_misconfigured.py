"""The toolkit's no-cgroups setting is wrong for this engine."""

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
    id="container-no-cgroups-misconfigured",
    severity=Severity.ERROR,
    title="The toolkit's no-cgroups setting is wrong for this engine.",
    needs=({"container.no_cgroups"},),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "container-lost-devices", "container-device-cgroup-denied"),
    order=19,
    facts_decide=False,
    tags=("access", "container"),
    doc="""## What it finds
no-cgroups in /etc/nvidia-container-runtime/config.toml: true under a rootful engine, or false under a rootless one.

## Why it matters
'Failed to initialize NVML: Unknown Error' inside (true, rootful), or 'bpf_prog_query(BPF_CGROUP_DEVICE) failed'
(false, rootless).

## Not raised when
The setting fits the engine: false for an engine that runs as root, true for a rootless one. Where nothing fails it is
information.

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


def unheard(machine: Snapshot) -> bool:
    """Where the toolkit's program errs before it comes to the cgroup."""
    return machine.symptom("container-cli-takes-word-for-path") is not None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The setting against the way the engine runs."""
    off, rootless = machine.container.no_cgroups, _rootless(machine)
    if off is None or off == rootless:
        return
    fails = machine.symptom(*_FAILS) is not None or run_line.sees_none(machine)
    says = "no-cgroups = true: an engine that runs as root then gives the container no right to the GPUs"
    if rootless:
        says = "no-cgroups is not set: a rootless engine may not write the device cgroup"
    yield Finding(
        summary=f"{says}.",
        severity=Severity.ERROR if fails else Severity.INFO,
        suspect=0 if fails else 5,
        subject=Subject(kind="file", id="/etc/nvidia-container-runtime/config.toml"),
        evidence=evidence(machine, ("container.no_cgroups", "container.engine_text", "container.rootless")),
        fixes=FIXES,
    )


_FAILS = (
    *("nvml-unknown-error", "wsl-blocked", "cgroup-bpf-rootless", "devices-allow-denied", "oci-hook-failed"),
    *("cgroup-device-denied", "nvidia-node-permission"),
)


def _rootless(machine: Snapshot) -> bool:
    """Podman that runs the toolkit's hook without sudo counts: as root it needs no such setting."""
    hook = any("hooks.d" in value for value in run_line.options(machine, "--hooks-dir"))
    return machine.container.rootless is True or (machine.container.engine == "podman" and hook)
