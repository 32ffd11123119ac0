"""The GPU's memory is overcommitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules import presence, work_done

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="gpu-memory-exhausted",
    severity=Severity.WARNING,
    title="The GPU's memory is overcommitted.",
    needs=[{"gpus[].memory_used_bytes", "gpus[].memory_bytes"}, {"kernel_log.events"}],
    proven="synthetic",
    order=67,
    facts_decide=False,
    tags=("host",),
    doc="""
## What it finds
Out-of-memory errors of CUDA, HIP or a framework; command submissions of amdgpu that found no memory; a GPU whose
memory is in use to the last percent (info), with the programs that hold it; memory that no process holds (info).

## Why it matters
The work ends, and sometimes that of other users of the GPU.

## Not raised when
The GPU has memory left: servers take most of it on purpose. An integrated GPU, whose memory is the machine's.

## How to confirm
`nvidia-smi` or `rocm-smi --showpids`: who holds the memory.

## Fix
Use a smaller batch or share, or end what else holds the memory.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://docs.pytorch.org/docs/stable/notes/cuda.html
""",
)
FIXES = (
    Fix(text="End what else holds the GPU's memory, or lower batch size, context length or the server's memory share."),
)


def unheard(machine: Snapshot) -> bool:
    """Where a kernel went astray, and nothing tells that memory ran out; where it is the host's that did, and no GPU's
    allocator complains. Where a pool is full that the program itself gave a bound: the GPU may have memory left."""
    if machine.symptom("memory-pool-bounded-told") and machine.symptom("memory-pool-is-full-told"):
        return True
    of_host = machine.symptom("host-allocator-refused-told") is not None
    return work_done.went_astray(machine) or (of_host and machine.symptom(*_OF_A_GPU) is None)


_OF_A_GPU = ("cuda-out-of-memory", "gpu-out-of-memory-told", "hsa-out-of-memory")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each GPU that is full, with who holds it; and for command submissions that found no memory."""
    yield from _no_room_for_a_handle(machine)
    for gpu in machine.gpus or ():
        total, used = gpu.memory_bytes, gpu.memory_used_bytes
        if not total or not used or gpu.integrated or used < total * _FULL:
            continue
        yield Finding(
            severity=Severity.INFO,
            summary=f"GPU {gpu.pci_address or gpu.key}: {used * 100 // total}% of its memory is in use.",
            subject=presence.subject(gpu),
            evidence=(
                *evidence(machine, (f"gpus[{gpu.key}].memory_used_bytes", f"gpus[{gpu.key}].memory_bytes")),
                *_holders(machine, gpu),
            ),
            fixes=FIXES,
        )
    yield from _held_by_nobody(machine)
    for event in machine.kernel_log.events or ():
        if event.code == "amdgpu-oom":
            yield Finding(
                summary="amdgpu found no memory for the commands of a program.",
                subject=Subject(kind="gpu", id=event.device or "-"),
                evidence=(
                    Evidence(text=f"{presence.times(event)}{event.text}", source=machine.source("kernel_log.events")),
                ),
                fixes=FIXES,
                explains=(*RULE.explains, "amdgpu-gpu-hang"),  # Vulkan calls the device lost then
            )


def _no_room_for_a_handle(machine: Snapshot) -> Iterator[Finding]:
    """cuBLAS and cuDNN that can't be set up on a GPU with next to nothing free: their handles take memory."""
    refused = machine.symptom("cudnn-not-initialized")
    if refused is None or "NOT_INITIALIZED" not in refused.text:
        return
    for gpu in machine.of_vendor("nvidia"):
        total, used = gpu.memory_bytes, gpu.memory_used_bytes
        if not total or not used or total - used >= _HANDLES:
            continue
        yield Finding(
            severity=Severity.WARNING,
            summary=f"{(total - used) >> 20} MiB of the GPU's memory are free: a library's handle finds no room.",
            subject=presence.subject(gpu),
            explains=("gpu-libs-conflict",),
            evidence=(
                Evidence(text=refused.text, source=refused.source),
                *evidence(machine, (f"gpus[{gpu.key}].memory_used_bytes", f"gpus[{gpu.key}].memory_bytes")),
            ),
            fixes=FIXES,
            source="https://github.com/EleutherAI/lm-evaluation-harness/issues/1689",
        )
        return


_HANDLES = 768 << 20
"""Bytes below which a handle may not be had. A bound of ours: 225 MiB were free where it failed (JuliaGPU/CUDA.jl
issue 1567), and a listing may be of the moment before."""
_FULL = 0.99
"""Servers take 90 to 95 % on purpose."""


_LEFT_OVER, _LEFT_OVER_SHARE = 2 << 30, 0.05
"""Bytes and share of memory from which on it is told that no process holds it: drivers keep some for themselves."""


def _held_by_nobody(machine: Snapshot) -> Iterator[Finding]:
    """Memory in use while all processes of the machine could be looked at and none has the GPU open."""
    if machine.holders is None or machine.host.processes_seen != "all":
        return
    for gpu in machine.gpus or ():
        total, used = gpu.memory_bytes, gpu.memory_used_bytes
        if not total or not used or gpu.integrated or used < max(_LEFT_OVER, total * _LEFT_OVER_SHARE):
            continue
        if any(_holders(machine, gpu)):
            continue
        yield Finding(
            severity=Severity.INFO,
            summary=f"GPU {gpu.pci_address or gpu.key}: {used >> 30} GiB are in use and no process has it open.",
            subject=presence.subject(gpu),
            evidence=evidence(machine, (f"gpus[{gpu.key}].memory_used_bytes", "holders", "host.processes_seen")),
            fixes=(
                Fix(text="Wait for a program that is ending; a reset of the idle GPU gives back what is left over."),
            ),
        )


def _holders(machine: Snapshot, gpu: Gpu) -> Iterator[Evidence]:
    """Programs that hold the GPU's node, and that others may be unseen."""
    nodes = {f"/dev/{gpu.device_node}", f"/dev/dri/{gpu.render_node}", "/dev/kfd" if gpu.vendor == "amd" else ""}
    source = machine.source("holders")
    for holder in machine.holders or ():
        if nodes & set(holder.nodes or ()):
            where = " in a container" if holder.in_container else ""
            yield Evidence(text=f"held by {holder.name} (pid {holder.pid}{where})", source=source)
    if machine.holders is not None and machine.host.processes_seen != "all":
        yield Evidence(text="processes of others could not be seen", source=machine.source("host.processes_seen"))
