from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.facts.snapshot import Symptom
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.advice import by_hand
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.boot import kernel_argument
from doctor.rules.lib.integrated import discrete, integrated

RULE = Rule(
    id="apu-memory-pool-misconfigured",
    severity=Severity.WARNING,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    layer=Layer.GPU,
    title="Carve-out or GTT settings limit the memory that ROCm gets on this APU.",
    needs=[{"gpus"}],
    facts_decide=False,
    explains=("gpu-memory-exhausted", "amdgpu-kernel-or-os-unsupported"),
    proven="synthetic",
    order=66,
    tags=("amd", "host"),
    doc="""
## What it finds
An APU whose pools (carve-out and GTT) are far below the machine's memory, or a program that ran out of memory on one.

## Why it matters
Models that fit into memory do not load.

## Not raised when
- A discrete GPU is there too: then its own memory counts.
- The pools or the machine's memory are not known, and nothing ran out of memory.

## How to confirm
`amd-ttm`, or ttm.pages_limit in /proc/cmdline.

## Fix
Raise ttm.pages_limit, keep the carve-out small.

## Fix safety
Root, reboot: every job on the node stops.

## References
https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/
""",
)
_RAN_OUT = ("cuda-out-of-memory", "hip-out-of-memory", "vllm-free-memory")
_OUT_OF_MEMORY = (*_RAN_OUT, "memory-pool-seen-small")
_SMALL_SHARE = 0.4
"""Of the machine's memory: Linux gives the GPU half of it by default (ttm.pages_limit)."""
_PAGE = 4096
_SHARE = 0.75
"""Of the machine's memory: what the system needs stays free."""


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """The share of the system's memory that the GPU may take, in pages of 4 KiB."""
    memory = machine.host.memory_bytes
    if memory is None:
        title = "Raise ttm.pages_limit (pages of 4 KiB that the GPU may use) on the kernel command line, then reboot."
        text = "For 96 GiB, add ttm.pages_limit=25165824."
        return (by_hand(title, Scope.HOST, text, undo="Remove the argument and reboot.", root=True, reboot=True,
                        vendor="amd"),)  # fmt: skip
    pages = int(memory * _SHARE) // _PAGE
    title = f"Let the GPU use {pages * _PAGE >> 30} GiB of the system's memory (ttm.pages_limit), then reboot."
    return (kernel_argument(machine, f"ttm.pages_limit={pages}", title).model_copy(update={"vendor": "amd"}),)


def _of_carve_out(shown: Symptom, apus: Sequence[Gpu]) -> bool:
    """Whether a line shows only the carve-out, beside which tools show a larger pool: so AMD advises to set it."""
    larger = bool(apus) and all((gpu.gtt_bytes or 0) > (gpu.memory_bytes or 0) for gpu in apus)
    return larger and _CARVE_OUT.search(shown.text) is not None


_CARVE_OUT = Lazy(r"\bUMA frame ?buffer size\b", re.IGNORECASE)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for the APU that a program has found too small, or whose pools are."""
    apus = integrated(machine)
    if not apus or discrete(machine) or machine.of_vendor("nvidia"):
        return
    gpu, out = apus[0], machine.symptom(*_OUT_OF_MEMORY)
    if out and _of_carve_out(out, apus):
        out = machine.symptom(*_RAN_OUT)
    pools, memory = (gpu.memory_bytes or 0) + (gpu.gtt_bytes or 0), machine.host.memory_bytes
    small = bool(gpu.memory_bytes and gpu.gtt_bytes and memory and pools < _SMALL_SHARE * memory)
    if not small and out is None:
        return
    names = [f"gpus[{gpu.key}].{n}" for n in ("arch", "memory_bytes", "gtt_bytes")] + ["host.memory_bytes"]
    yield Finding(
        severity=Severity.WARNING if out else Severity.INFO,
        basis="both" if out else "facts",
        summary=f"{(gpu.name or gpu.arch or 'The APU')[:60]} uses system memory, but settings limit how much.",
        subject=Subject(kind="gpu", id=gpu.key),
        evidence=evidence(machine, [*names, *([f"symptom:{out.key}"] if out else [])]),
        remedies=advice(machine, kb),
    )
