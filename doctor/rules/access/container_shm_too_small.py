"""A container whose /dev/shm is the engine's small default."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot, Symptom
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules import run_line
from doctor.rules.hardware import compute_gpus, vendors_there

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="container-shm-too-small",
    severity=Severity.WARNING,
    title="/dev/shm is too small for data loaders or collectives.",
    needs=({"container.inside", "host.shm_bytes"}, {"container.engine_text", "host.shm_bytes"}, {"container.run_args"}),
    proven="synthetic",
    order=22,
    facts_decide=False,
    tags=("access", "container"),
    doc="""## What it finds
A container on a GPU machine, or with torch, whose /dev/shm has no more than the engine's default of 64 MiB.

## Why it matters
Data loader workers die with "Bus error", and NCCL or RCCL fails with
"No space left on device" or "unhandled system error".

## Not raised when
Outside of a container, without GPU and torch, or with more room. With one GPU, or without torch, it is information.
Apptainer and enroot give the host's own /dev/shm. A run line alone accuses neither servers that are one process, nor
pods, nor where nothing tells of processes that work together.

## How to confirm
`df -h /dev/shm` in the container.

## Fix
Start the container with `--shm-size=16g`, or with `--ipc=host`.

## Fix safety
The container must be started again. What is in /dev/shm counts as memory; --ipc=host shares it with the host.

## References
https://docs.docker.com/reference/cli/docker/container/run/#options (shm-size, default 64 MB)
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory
""",
)

_ENGINE_DEFAULT_BYTES = 64 << 20
_ROOMY_BYTES = 8 << 30
FIXES = (Fix(text="Give the container more shared memory.", command=("docker", "run", "--shm-size=16g", "IMAGE")),)


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
        summary=f"/dev/shm holds {size >> 20} MiB in this container: little for data loaders and collectives.",
        severity=Severity.WARNING if several else Severity.INFO,
        subject=Subject(kind="path", id="/dev/shm"),
        evidence=evidence(machine, ("host.shm_bytes", "container.engine", "torch.version")),
        fixes=FIXES,
        verify=("df", "-h", "/dev/shm"),
    )


_FULL = ("bus-error", "nccl-shm-open", "shm-no-space", "shm-nccl", "shm-dataloader")
_HOSTS_OWN = ("apptainer", "enroot")
"""Engines that put the host's own /dev into the container (apptainer.conf `mount dev`; enroot's 10-system.fstab)."""
_SERVES_ALONE = Lazy(r"(?:^|/)(?:ollama|llama\.cpp|llama-swap|koboldcpp)\b", re.IGNORECASE)
"""Images of servers that drive all their GPUs from one process: they share no memory."""
_TOGETHER = ("several-gpus-work-together-told", "worker-dies-told", "hang-word-told", "stands-still-told")
"""What tells of processes that share work: several GPUs at hand alone do not, whatever else fails on them."""
_SHARERS = Lazy(r"--?(?:tp|tensor-parallel-size|tp-size|nproc[-_]per[-_]node|num-shard|num_workers|dp)(?:=|$)")


def _of_run_line(machine: Snapshot) -> Iterator[Finding]:
    """A run line that asks for no shared memory, where processes share some: several GPUs, or options that say so."""
    if not run_line.shown(machine) or run_line.options(machine, "--shm-size", "--ipc") or _mounts_shm(machine):
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
        summary="The container is started without --shm-size or --ipc=host: /dev/shm holds 64 MiB.",
        severity=Severity.WARNING if fails else Severity.INFO,
        suspect=3 if not fails and (shared or machine.symptom(*_TOGETHER)) else 0,
        subject=Subject(kind="path", id="/dev/shm"),
        evidence=evidence(machine, ("container.run_args",)),
        fixes=FIXES,
        verify=("df", "-h", "/dev/shm"),
    )


def _mounts_shm(machine: Snapshot) -> bool:
    return any("/dev/shm" in value for value in run_line.options(machine, "-v", "--volume", "--tmpfs", "--mount"))


def unheard(machine: Snapshot) -> bool:
    """Where the run line gives the container the host's shared memory, or gigabytes of its own, and no error tells of
    either."""
    if machine.symptom(*_FULL):
        return False
    if machine.symptom("dataloader-worker-segfault-told") is not None:
        return True  # a page of a full /dev/shm ends a worker with a bus error
    sizes = run_line.options(machine, "--shm-size")
    return "host" in run_line.options(machine, "--ipc") or any(_GIGABYTES.fullmatch(size) for size in sizes)


_GIGABYTES = Lazy(r"[1-9]\d*(?:\.\d+)?\s?[gG](?:i?[bB])?")


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """A roomy /dev/shm is not what broke."""
    if (machine.host.shm_bytes or 0) < _ROOMY_BYTES:
        yield Finding(
            summary=RULE.title,
            severity=Severity.ERROR,
            subject=Subject(kind="path", id="/dev/shm"),
            basis="symptom",
            evidence=(Evidence(text=symptom.text, source=symptom.source),),
            fixes=FIXES,
        )
