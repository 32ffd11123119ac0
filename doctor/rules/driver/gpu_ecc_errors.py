from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.facts.host import KernelEvent
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import advice as ways
from doctor.rules.lib import presence
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="gpu-ecc-errors",
    severity=Severity.ERROR,
    scope=Scope.HARDWARE,
    action=Action.DRAIN,
    layer=Layer.GPU,
    title="The GPU has uncorrectable memory errors.",
    needs=[
        {"gpus[].errors.uncorrected"},
        {"gpus[].errors.remap_failed"},
        {"gpus[].errors.retired_pending"},
        {"gpus[].errors.bad_pages"},
        {"kernel_log.events"},
    ],
    proven="replay",
    order=60,
    tags=("amd", "nvidia", "hardware"),
    doc="""
## What it finds
Uncorrected memory errors since the driver loaded, a failed row remap (NVIDIA), uncorrectable RAS errors (AMD): error.
A row remap or page retirement that needs a reset, or retired bad pages: warning. Only old errors in the lifetime
counter: info.

## Why it matters
Jobs on the GPU crash or compute wrong numbers.

## Not raised when
- Only corrected errors are counted: ECC works.
- The counters are unknown, or the GPU has no ECC.

## How to confirm
`nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT` or `amd-smi metric --ecc` and `amd-smi bad-pages`.

## Fix
Drain the GPU and reset it; the reset also does pending remaps. If a remap fails or errors return, contact the vendor.

## References
https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/ ; https://docs.kernel.org/gpu/amdgpu/ras.html
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    return tuple(_reset(vendor, None).model_copy(update={"vendor": vendor}) for vendor in ("nvidia", "amd"))


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    seen = set()
    for gpu in machine.gpus or ():
        severity, faults, fields = _judge(gpu)
        if not faults:
            continue
        seen.add(gpu.pci_address or gpu.key)
        yield Finding(
            severity=severity,
            summary=f"GPU {gpu.pci_address or gpu.key}: {', '.join(faults)}.",
            subject=presence.subject(gpu),
            evidence=(
                *evidence(machine, (f"gpus[{gpu.key}].errors.{field}" for field in fields)),
                *_board(machine, gpu),
            ),
            remedies=_remedies(gpu, severity),
        )
    yield from _xids(machine, seen)
    for event in machine.kernel_log.events or ():
        device = event.device or "-"
        if event.code not in ("amdgpu-ras-uncorrectable", "amdgpu-bad-pages") or device in seen:
            continue
        seen.add(device)
        uncorrectable = event.code == "amdgpu-ras-uncorrectable"
        what = "uncorrectable memory errors" if uncorrectable else "bad memory pages"
        yield Finding(
            severity=Severity.ERROR if uncorrectable else Severity.WARNING,
            summary=f"GPU {device}: {what} in the kernel log.",
            subject=Subject(kind="gpu", id=device),
            evidence=(Evidence(text=event.text, source=machine.source("kernel_log.events")),),
            remedies=(_reset(next((g.vendor for g in machine.gpus or ()), None), None),),
        )


_MEMORY_XIDS = {
    "xid-48": Severity.ERROR,
    "xid-64": Severity.ERROR,
    "xid-95": Severity.ERROR,
    "xid-140": Severity.ERROR,
    "xid-171": Severity.ERROR,
    "xid-172": Severity.ERROR,
    "xid-63": Severity.WARNING,
    "xid-94": Severity.WARNING,
}
"""Xids of memory: uncorrectable errors, and row remaps that wait or failed (docs.nvidia.com/deploy/xid-errors)."""


def _xids(machine: Snapshot, seen: set[str]) -> Iterator[Finding]:
    """One finding a GPU; where no other Xid is as grave, it explains what the rule on fatal Xids says."""
    events = machine.kernel_log.events or ()
    others = [e for e in events if e.code.startswith("xid-") and e.code not in _MEMORY_XIDS and e.code in _GRAVE]
    by_device: dict[str, list[KernelEvent]] = {}
    for event in events:
        if event.code in _MEMORY_XIDS and (event.device or "-") not in seen:
            by_device.setdefault(event.device or "-", []).append(event)
    for device, found in by_device.items():
        seen.add(device)
        codes = ", ".join(dict.fromkeys(e.code.replace("xid-", "Xid ") for e in found))
        yield Finding(
            severity=min((_MEMORY_XIDS[e.code] for e in found), key=lambda s: s.rank),
            summary=f"{'GPU ' + device if device != '-' else 'A GPU'}: memory errors in the kernel log ({codes}).",
            subject=Subject(kind="gpu", id=device),
            evidence=tuple(Evidence(text=e.text, source=machine.source("kernel_log.events")) for e in found[:3]),
            remedies=(_reset(next((g.vendor for g in machine.gpus or ()), None), None),),
            explains=() if others else ("nvidia-xid-fatal",),
            source="https://docs.nvidia.com/deploy/xid-errors/",
        )


_GRAVE = ("xid-62", "xid-74", "xid-79", "xid-119", "xid-120", "xid-136", "xid-143", "xid-145", "xid-149", "xid-150")
"""Xids of the link, the bus or the firmware, which memory errors do not explain."""


def _board(machine: Snapshot, gpu: Gpu) -> tuple[Evidence, ...]:
    """Serial number and slot, for whoever replaces it."""
    board = presence.board(machine, gpu.pci_address or gpu.key)
    return (Evidence(text=board, source=machine.source(f"gpus[{gpu.key}].serial")),) if board else ()


def _judge(gpu: Gpu) -> tuple[Severity, list[str], list[str]]:
    """The worst of what the counters say, in words, and the counters."""
    errors = gpu.errors
    rows = (
        (Severity.ERROR, "remap_failed", errors.remap_failed, "a memory row remap failed"),
        (Severity.ERROR, "uncorrected", errors.uncorrected, f"{errors.uncorrected} uncorrected memory errors"),
        (Severity.WARNING, "remap_pending", errors.remap_pending, "a memory row remap needs a GPU reset"),
        (Severity.WARNING, "retired_pending", errors.retired_pending, "a page retirement needs a GPU reset"),
        (Severity.WARNING, "bad_pages", errors.bad_pages, f"{errors.bad_pages} bad memory pages"),
    )
    hit = [row for row in rows if row[2]]
    if not hit and errors.uncorrected_lifetime:
        text = f"{errors.uncorrected_lifetime} uncorrected memory errors in its lifetime, none now"
        return Severity.INFO, [text], ["uncorrected_lifetime"]
    severity = min((row[0] for row in hit), key=lambda s: s.rank, default=Severity.INFO)
    return severity, [row[3] for row in hit], [row[1] for row in hit]


def _remedies(gpu: Gpu, severity: Severity) -> tuple[Remedy, ...]:
    if severity is Severity.INFO:
        return ()
    if gpu.errors.remap_failed:
        out = ways.step("Take the GPU out of service and ask the vendor for a replacement.")
        return (ways.drain("Replace the GPU: a memory row remap failed.", out, risk="stops every job on the GPU"),)
    return (_reset(gpu.vendor, gpu.pci_address),)


def _reset(vendor: str | None, device: str | None) -> Remedy:
    """Which GPU an error message means is often not known; then it is a placeholder, or there is no command."""
    where, named = device or "GPU_INDEX", "" if device else " (GPU_INDEX: its number in the vendor's tool)"
    argv: tuple[str, ...] = ()
    if vendor == "nvidia":
        argv = ("nvidia-smi", "--gpu-reset", "-i", where)
    elif vendor == "amd":
        argv = ("amd-smi", "reset", "--gpureset", "--gpu", where)
    return ways.drain(
        "Drain the GPU and reset it; replace it if errors return.",
        ways.step("Stop every program that uses the GPU."),
        ways.step(f"Reset it{named if argv else ''}.", *argv),
        ways.step("If errors return after the reset, ask the vendor for a replacement."),
        risk="stops every job on the GPU",
    )
