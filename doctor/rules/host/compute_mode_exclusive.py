from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.run_line import from_text

RULE = Rule(
    id="compute-mode-exclusive",
    severity=Severity.ERROR,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    layer=Layer.GPU,
    title="The GPU's compute mode blocks another process.",
    needs=[{"gpus[].compute_mode"}],
    proven="synthetic",
    order=57,
    facts_decide=False,
    tags=("nvidia", "host"),
    doc="""
## What it finds
Compute mode Prohibited, or Exclusive_Process with a running process or the error message of a busy GPU.

## Why it matters
CUDA programs fail with 'all CUDA-capable devices are busy or unavailable'.

## Not raised when
The mode is Default, or no process holds the GPU. In a pasted text without an error about a busy GPU,
Exclusive_Process is information: schedulers set it, and MPS needs it.

## How to confirm
`nvidia-smi -q -d COMPUTE`.

## Fix
Set the mode to Default, or run one process per GPU.

## Fix safety
A cluster's scheduler may have set it on purpose.

## References
https://docs.nvidia.com/deploy/nvml-api/
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    return (_default(),)


def _default(address: str | None = None) -> Remedy:
    which = ("-i", address) if address else ()
    argv = ("nvidia-smi", *which, "-c", "0")
    title = f"Set the compute mode{f' of GPU {address}' if address else ''} to Default: processes share the GPU."
    keep = "It lasts until the next boot; a cluster's prolog or a service may set it again."
    return way(title, Scope.HOST, step("Set it.", *argv), step(keep), root=True, vendor="nvidia")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each such GPU. Clusters set the exclusive mode on purpose: in a pasted text it is information
    beside a process at work, until an error message shows one that was rejected."""
    refused = machine.symptom("cuda-devices-busy", "invalid-device-ordinal")
    for gpu in machine.gpus or ():
        prohibited = re.search("prohibit", gpu.compute_mode or "", re.IGNORECASE)
        exclusive = re.search(r"(?i)exclusive|E\. ?(?:Process|Thread)", gpu.compute_mode or "")
        if gpu.compute_mode and (prohibited or ((gpu.processes or refused) and exclusive)):
            blocked = "every CUDA program" if prohibited else "a second process"
            chosen = not prohibited and not refused and from_text(machine, f"gpus[{gpu.key}].compute_mode")
            yield Finding(
                severity=Severity.INFO if chosen else Severity.ERROR,
                summary=f"GPU {gpu.key}: compute mode {gpu.compute_mode.split(' (')[0][:40]} blocks {blocked}.",
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=evidence(machine, [f"gpus[{gpu.key}].compute_mode", f"gpus[{gpu.key}].processes"]),
                remedies=(_default(gpu.pci_address),),
            )
