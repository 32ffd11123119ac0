from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import command, step
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="container-no-cgroups-misconfigured",
    severity=Severity.ERROR,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    layer=Layer.CONTAINER,
    title="The container toolkit's no-cgroups setting is wrong for this engine.",
    needs=({"container.no_cgroups"}, {"toolkits"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "container-lost-devices", "container-device-cgroup-denied"),
    order=19,
    facts_decide=False,
    tags=("access", "container"),
    doc="""## What it finds
no-cgroups in /etc/nvidia-container-runtime/config.toml: true under a rootful engine, or false under a rootless one.

## Why it matters
Containers start without the GPU or not at all: 'Failed to initialize NVML: Unknown Error' inside (true, rootful), or
'bpf_prog_query(BPF_CGROUP_DEVICE) failed' (false, rootless).

## Not raised when
The setting is right for the engine: false for an engine that runs as root, true for a rootless one. If nothing fails,
it is information.

## How to confirm
`grep no-cgroups /etc/nvidia-container-runtime/config.toml` and whether the engine runs rootless.

## Fix
Rootful engine: false. Rootless engine: true. Or use CDI, which needs neither.

## References
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html#rootless-mode
""",
)


def _set(value: str, other: str, engine: str) -> Remedy:
    argv = ("nvidia-ctk", "config", "--in-place", "--set")
    undo = (step("Set the old value.", *argv, f"nvidia-container-cli.no-cgroups={other}"),)
    title = f"Set no-cgroups = {value} for the {engine} engine."
    words = (*argv, f"nvidia-container-cli.no-cgroups={value}")
    return command(title, Scope.HOST, *words, root=True, vendor="nvidia", undo=undo)


_ROOTFUL, _ROOTLESS = _set("false", "true", "rootful"), _set("true", "false", "rootless")
REMEDIES = (_ROOTFUL, _ROOTLESS)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The setting against the way the engine runs; on this host, that it keeps an engine of root from the GPUs."""
    kit = next((k for k in machine.toolkits or () if k.key == "nvidia"), None)
    by_root = [e.key for e in machine.engines or () if e.key in ("docker", "containerd")]
    if kit and kit.no_cgroups and by_root:
        yield Finding(
            summary=f"no-cgroups = true keeps containers of {by_root[0]} from the GPUs (NVML: Unknown Error).",
            severity=Severity.WARNING,
            subject=Subject(kind="file", id="/etc/nvidia-container-runtime/config.toml"),
            evidence=evidence(machine, ("toolkits", "engines")),
            remedies=(_ROOTFUL,),
        )
        return
    off, rootless = machine.container.no_cgroups, _rootless(machine)
    if off is None or off == rootless:
        return
    fails = machine.symptom(*_FAILS) is not None or run_line.sees_none(machine)
    says = "no-cgroups = true keeps containers of an engine that runs as root from the GPUs"
    if rootless:
        says = "no-cgroups is not set, but a rootless engine cannot write the device cgroup"
    yield Finding(
        summary=f"{says}.",
        severity=Severity.ERROR if fails else Severity.INFO,
        suspect=0 if fails else 5,
        subject=Subject(kind="file", id="/etc/nvidia-container-runtime/config.toml"),
        evidence=evidence(machine, ("container.no_cgroups", "container.engine_text", "container.rootless")),
        remedies=(_ROOTLESS if rootless else _ROOTFUL,),
    )


_FAILS = (
    *("nvml-unknown-error", "wsl-blocked", "cgroup-bpf-rootless", "devices-allow-denied", "oci-hook-failed"),
    *("cgroup-device-denied", "nvidia-node-permission"),
)


def _rootless(machine: Snapshot) -> bool:
    """Podman that runs the toolkit's hook without sudo counts: as root it needs no such setting."""
    hook = any("hooks.d" in value for value in run_line.options(machine, "--hooks-dir"))
    return machine.container.rootless is True or (machine.container.engine == "podman" and hook)
