from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot, Symptom
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import run_line
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.container_advice import pod, recreate
from doctor.rules.lib.hardware import compute_gpus, vendors_there

RULE = Rule(
    id="container-shm-too-small",
    severity=Severity.WARNING,
    scope=Scope.CONTAINER,
    action=Action.REBUILD,
    layer=Layer.CONTAINER,
    title="/dev/shm is too small for data loaders or collectives.",
    needs=({"container.inside", "host.shm_bytes"}, {"container.engine_text", "host.shm_bytes"}, {"container.run_args"}),
    proven="synthetic",
    order=22,
    facts_decide=False,
    tags=("access", "container"),
    doc="""## What it finds
A container on a GPU machine, or with torch, whose /dev/shm has at most the engine's default of 64 MiB.

## Why it matters
Data loader workers die with "Bus error", and NCCL or RCCL fails with
"No space left on device" or "unhandled system error".

## Not raised when
Outside of a container, without GPU and torch, or with more space. With one GPU, or without torch, it is information.
Apptainer and enroot use the host's /dev/shm. A run line alone is not enough for one-process servers, for pods, or
where nothing shows several processes that work together.

## How to confirm
`df -h /dev/shm` in the container.

## Fix
Start the container with `--shm-size=16g`, or with `--ipc=host`.

## Fix safety
Needs a new container. Files in /dev/shm use memory; --ipc=host shares it with the host.

## References
https://docs.docker.com/reference/cli/docker/container/run/#options (shm-size, default 64 MB)
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory
""",
)

_ENGINE_DEFAULT_BYTES = 64 << 20
_ROOMY_BYTES = 8 << 30


def advice(machine: Snapshot, kb: Knowledge | None = None) -> tuple[Remedy, ...]:
    """By the engine at hand; a pod has a manifest."""
    if machine.container.engine == "kubernetes":
        text = "Mount an emptyDir with `medium: Memory` at /dev/shm."
        return (pod("Give the pod more shared memory.", text),)
    more = recreate(machine, "Recreate the container with more shared memory (Compose: shm_size).", "--shm-size=16g")
    return more, recreate(machine, "Recreate the container with the host's shared memory.", "--ipc=host")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Several GPUs talk through shared memory, so there it is a warning."""
    size = machine.host.shm_bytes
    if size is None:
        yield from _of_run_line(machine)
        return
    text = run_line.from_text(machine, "host.shm_bytes")
    engine = text and machine.container.inside is None and machine.container.engine_text is not None
    if not (machine.container.inside or engine) or size > _ENGINE_DEFAULT_BYTES:
        return
    if not (machine.torch.installed or text or vendors_there(machine)):
        return
    several = text or (machine.torch.installed and len(compute_gpus(machine)) > 1)
    yield Finding(
        summary=f"/dev/shm holds {size >> 20} MiB in this container, which is small for data loaders and collectives.",
        severity=Severity.WARNING if several else Severity.INFO,
        subject=Subject(kind="path", id="/dev/shm"),
        evidence=evidence(machine, ("host.shm_bytes", "container.engine", "torch.version")),
        remedies=advice(machine),
        verify=("df", "-h", "/dev/shm"),
    )


_FULL = ("bus-error", "nccl-shm-open", "shm-no-space", "shm-nccl", "shm-dataloader")
_HOSTS_OWN = ("apptainer", "enroot")
"""Engines that put the host's own /dev into the container (apptainer.conf `mount dev`; enroot's 10-system.fstab)."""
_SERVES_ALONE = Lazy(r"(?:^|/)(?:ollama|llama\.cpp|llama-swap|koboldcpp)\b", re.IGNORECASE)
"""Images of servers that drive all their GPUs from one process: they share no memory."""
_SHARERS = Lazy(r"--?(?:tp|tensor-parallel-size|tp-size|nproc[-_]per[-_]node|num-shard|num_workers|dp)(?:=|$)")


def _of_run_line(machine: Snapshot) -> Iterator[Finding]:
    """A run line that asks for no shared memory, where processes share some: several GPUs, or options that say so."""
    mounts = run_line.options(machine, "-v", "--volume", "--tmpfs", "--mount")
    given = run_line.options(machine, "--shm-size", "--ipc") or any("/dev/shm" in value for value in mounts)
    if not run_line.shown(machine) or given:
        return
    if machine.container.engine in _HOSTS_OWN:
        return
    args = machine.container.run_args or ()
    shared = any(_SHARERS.match(word) for word in args)
    several = shared or len(compute_gpus(machine)) > 1
    fails = machine.symptom("nccl-system-error", *_FULL)
    pod = machine.container.engine == "kubernetes"  # its volumes stand further down, and what is pasted is often cut
    if not fails and (not several or pod or _SERVES_ALONE.search(machine.container.image or "")):
        return
    yield Finding(
        summary="/dev/shm is only 64 MiB: the container starts without --shm-size or --ipc=host.",
        severity=Severity.WARNING if fails else Severity.INFO,
        suspect=3 if not fails and shared else 0,
        subject=Subject(kind="path", id="/dev/shm"),
        evidence=evidence(machine, ("container.run_args",)),
        remedies=advice(machine),
        verify=("df", "-h", "/dev/shm"),
    )


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """A roomy /dev/shm is not what broke."""
    if (machine.host.shm_bytes or 0) < _ROOMY_BYTES:
        yield Finding(
            summary=RULE.title,
            severity=Severity.ERROR,
            subject=Subject(kind="path", id="/dev/shm"),
            basis="symptom",
            evidence=(Evidence(text=symptom.text, source=symptom.source),),
            remedies=advice(machine),
        )
