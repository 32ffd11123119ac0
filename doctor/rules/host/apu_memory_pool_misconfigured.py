"""Carve-out or GTT settings limit what this APU gives ROCm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.facts.snapshot import Symptom
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.integrated import discrete, integrated

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="apu-memory-pool-misconfigured",
    severity=Severity.WARNING,
    title="Carve-out or GTT settings limit what this APU gives ROCm.",
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
A change of the host: plan it for when no job runs on the node.

## References
https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/
""",
)
_RAN_OUT = ("cuda-out-of-memory", "hsa-out-of-memory", "vllm-free-memory")
_OUT_OF_MEMORY = (*_RAN_OUT, "memory-pool-seen-small")
_SMALL_SHARE = 0.4
"""Of the machine's memory: Linux gives the GPU half of it by default (ttm.pages_limit)."""
FIXES = (Fix(text="Raise ttm.pages_limit on the kernel command line and reboot.", root=True, reboot=True),)


_MISSED = ("memory-ran-out-told", "gpu-out-of-memory-told", "apu-pool-told-small", "apu-carve-out-told")
_ABOVE_DEFAULT = 64 << 30
"""Half of the most memory that an APU takes."""


def unheard(machine: Snapshot) -> bool:
    """Where tools show a pool above what Linux gives by default, by the machine's memory or by any, and nothing ran out
    of it. Where torch has its GPU and only the carve-out is told to be small, beside a larger pool."""
    apus, memory = integrated(machine), machine.host.memory_bytes
    least = memory // 2 if memory else _ABOVE_DEFAULT
    whole = bool(apus) and all((gpu.memory_bytes or 0) + (gpu.gtt_bytes or 0) > least for gpu in apus)
    out = machine.symptom(*_OUT_OF_MEMORY)
    if machine.torch.available is True and out is not None and _of_carve_out(out, apus):
        return (
            machine.symptom(*_RAN_OUT, "memory-ran-out-told", "gpu-out-of-memory-told", "apu-pool-told-small") is None
        )
    return whole and machine.symptom(*_OUT_OF_MEMORY, *_MISSED) is None


def _of_carve_out(shown: Symptom, apus: Sequence[Gpu]) -> bool:
    """Whether a line tells of the carve-out alone, beside which tools show a larger pool: so AMD advises to set it."""
    larger = bool(apus) and all((gpu.gtt_bytes or 0) > (gpu.memory_bytes or 0) for gpu in apus)
    return larger and _CARVE_OUT.search(shown.text) is not None


def excludes(machine: Snapshot) -> bool:
    """Where the limit was raised to three quarters of the memory or more: the GPU has all that it can have."""
    found = _LIMIT.search(machine.kernel.cmdline or "")
    memory = machine.host.memory_bytes or _MOST_MEMORY
    return found is not None and int(found[1]) * _PAGE >= _LARGE_SHARE * memory


_CARVE_OUT = Lazy(r"\bUMA frame ?buffer size\b", re.IGNORECASE)
_LIMIT = Lazy(r"\b(?:amd)?ttm\.pages_limit=(\d{1,12})\b")
_PAGE = 4096
_LARGE_SHARE = 0.75
_MOST_MEMORY = 128 << 30
"""Of what a text does not tell: no board with such a processor has more."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for the APU that a program has found too small, or whose pools are."""
    apus = integrated(machine)
    if not apus or discrete(machine) or machine.of_vendor("nvidia") or excludes(machine):
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
        summary=f"{(gpu.name or gpu.arch or 'The APU')[:60]} takes the system's memory, by settings that limit it.",
        subject=Subject(kind="gpu", id=gpu.key),
        evidence=evidence(machine, [*names, *([f"symptom:{out.key}"] if out else [])]),
        fixes=FIXES,
    )
