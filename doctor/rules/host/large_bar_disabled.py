from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import firmware
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.integrated import is_integrated

RULE = Rule(
    id="large-bar-disabled",
    severity=Severity.ERROR,
    scope=Scope.FIRMWARE,
    action=Action.RECONFIGURE,
    layer=Layer.GPU,
    title="Above 4G Decoding or resizable BAR is disabled in the firmware.",
    needs=[{"gpus[].visible_memory_bytes", "gpus[].memory_bytes"}, {"kernel_log.events"}],
    facts_decide=False,
    proven="synthetic",
    order=60,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "amdgpu-driver-not-loaded", "nvidia-driver-not-loaded"),
    tags=("host",),
    doc="""
## What it finds
Texts that show that the GPU's memory window could not be placed.

## Why it matters
The driver cannot start the GPU, or it is not seen at all.

## Not raised when
- The GPU is integrated, or the CPU reaches all of its memory.
- A small window on a consumer card is information: it works, and only copies between cards need more.

## How to confirm
`lspci -vv`: the size of the prefetchable region; the kernel log's BAR lines.

## Fix
Enable Above 4G Decoding and resizable BAR, or update the firmware.

## References
https://github.com/NVIDIA/open-gpu-kernel-modules/issues/862
""",
)
_NO_ROOM = "failed with error -12"
"""ENOMEM of the kernel's probe: the GPU's memory found no place among the addresses."""
REMEDIES = (
    firmware(
        "Enable Above 4G Decoding and resizable BAR in the firmware settings.",
        "Enable both; on servers the second is often called `Re-Size BAR` or `MMIO High Size`.",
        "If they are missing, update the board's firmware first.",
        undo="Disable both again.",
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """A GPU that found no room for its memory, or of whose memory the CPU reaches a part only."""
    for event in machine.kernel_log.events or ():
        if event.code == "nvidia-bar-invalid" or (event.code == "amdgpu-probe-failed" and _NO_ROOM in event.text):
            yield Finding(
                severity=Severity.ERROR,
                summary=f"GPU {event.device or ''} got no address space for its memory.".replace("  ", " "),
                subject=Subject(kind="gpu", id=event.device or "-"),
                evidence=(Evidence(text=event.text, source=machine.source("kernel_log.events")),),
                remedies=REMEDIES,
            )
            return
    for gpu in machine.gpus or ():
        seen, whole = gpu.visible_memory_bytes, gpu.memory_bytes
        if not seen or not whole or 2 * seen > whole or is_integrated(gpu):
            continue
        instinct = "instinct" in (gpu.name or "").lower()
        yield Finding(
            severity=Severity.WARNING if instinct else Severity.INFO,
            suspect=True,
            summary=f"GPU {gpu.key}: resizable BAR is off; the CPU reaches {seen >> 20} MiB of {whole >> 20} MiB.",
            subject=Subject(kind="gpu", id=gpu.key),
            evidence=evidence(machine, [f"gpus[{gpu.key}].{n}" for n in ("visible_memory_bytes", "memory_bytes")]),
            remedies=REMEDIES,
        )
