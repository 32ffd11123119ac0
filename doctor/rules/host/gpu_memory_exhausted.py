from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Step, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import presence
from doctor.rules.lib.advice import by_hand, drain, looks, step
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="gpu-memory-exhausted",
    severity=Severity.WARNING,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.GPU,
    title="The GPU's memory is full or nearly full.",
    needs=[{"gpus[].memory_used_bytes", "gpus[].memory_bytes"}, {"kernel_log.events"}],
    proven="synthetic",
    order=67,
    facts_decide=False,
    tags=("host",),
    doc="""
## What it finds
Out-of-memory errors of CUDA, HIP or a framework; command submissions of amdgpu that got no memory; a GPU whose memory
is full to the last percent (info), with the programs that use it; memory that no process uses (info).

## Why it matters
The program stops, and sometimes those of other users of the GPU.

## Not raised when
The GPU has memory left: servers reserve most of it on purpose. An integrated GPU, whose memory is the machine's.

## How to confirm
`nvidia-smi` or `rocm-smi --showpids`: which programs use the memory.

## Fix
Use a smaller batch or share, or stop other programs that use the memory.

## Fix safety
A program that you stop loses its work since the last checkpoint.

## References
https://docs.pytorch.org/docs/stable/notes/cuda.html
""",
)
_LESS = by_hand(
    "Use less of the GPU's memory in the program.",
    Scope.JOB,
    "Training: a smaller batch with gradient accumulation, or activation checkpointing.",
    "Servers: a shorter context (vLLM: --max-model-len), or a smaller share of the memory (--gpu-memory-utilization).",
    undo="Set the old values again.",
)
REMEDIES = (
    looks("Find the programs that use the GPU's memory, and stop those you do not need.", "nvidia-smi",
          vendor="nvidia"),
    looks("Find the programs that use the GPU's memory, and stop those you do not need.", "amd-smi", "process",
          vendor="amd"),
    _LESS,
)  # fmt: skip
_OWN = Lazy(
    r"total capacity of ([\d.]+) GiB.*this process has ([\d.]+) GiB|([\d.]+) GiB total capacity; ([\d.]+) GiB already"
)
"""What torch's message says of the GPU's memory and of this process's share (c10/cuda/CUDACachingAllocator.cpp)."""


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """The program's own use first, but where the message shows that others hold most of the memory."""
    for symptom in machine.symptoms:
        if found := _OWN.search(symptom.text):
            total, own = (float(text) for text in found.groups() if text)
            if own < total / 2:
                return REMEDIES
    return (_LESS, *REMEDIES[:-1])


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each GPU that is full, with who holds it; and for command submissions that found no memory."""
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
            remedies=REMEDIES,
        )
    yield from _held_by_nobody(machine)
    for event in machine.kernel_log.events or ():
        if event.code == "amdgpu-oom":
            yield Finding(
                summary="amdgpu ran out of memory for a program's commands.",
                subject=Subject(kind="gpu", id=event.device or "-"),
                evidence=(
                    Evidence(text=f"{presence.times(event)}{event.text}", source=machine.source("kernel_log.events")),
                ),
                remedies=REMEDIES,
                explains=(*RULE.explains, "amdgpu-gpu-hang"),  # Vulkan calls the device lost then
            )


def _reset(gpu: Gpu) -> tuple[Step, ...]:
    if gpu.vendor == "nvidia" and gpu.pci_address:
        return (step("Reset it.", "nvidia-smi", "--gpu-reset", "-i", gpu.pci_address),)
    if gpu.vendor == "amd" and gpu.index.smi is not None:
        return (step("Reset it.", "amd-smi", "reset", "--gpureset", "--gpu", str(gpu.index.smi)),)
    return ()


_FULL = 0.99
"""Servers take 90 to 95 % on purpose."""


_LEFT_OVER, _LEFT_OVER_SHARE = 2 << 30, 0.05
"""Bytes and share of memory above which the rule reports it: drivers keep some for themselves."""


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
            summary=f"GPU {gpu.pci_address or gpu.key}: {used >> 30} GiB are in use, but no process has it open.",
            subject=presence.subject(gpu),
            evidence=evidence(machine, (f"gpus[{gpu.key}].memory_used_bytes", "holders", "host.processes_seen")),
            remedies=(
                drain(
                    "Wait for ending programs to exit; if memory stays in use, reset the idle GPU.",
                    *_reset(gpu),
                    risk="stops what runs on the GPU",
                ),
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
        yield Evidence(text="processes of other users are not visible", source=machine.source("host.processes_seen"))
