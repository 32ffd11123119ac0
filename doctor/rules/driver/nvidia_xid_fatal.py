from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject
from doctor.rules.lib import presence
from doctor.rules.lib.arguments import Knowledge, Profile

if TYPE_CHECKING:
    from doctor.rules.lib.xid_actions import Asked

RULE = Rule(
    id="nvidia-xid-fatal",
    severity=Severity.ERROR,
    scope=Scope.HARDWARE,
    action=Action.DRAIN,
    layer=Layer.GPU,
    title="The kernel log shows a fatal NVIDIA GPU error (Xid).",
    needs=[{"kernel_log.events"}, {"gpus[].lost"}],
    proven="replay",
    order=60,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "gpu-fabric-degraded"),
    tags=("nvidia", "hardware"),
    doc="""
## What it finds
Xids for which NVIDIA's catalogue says to reset the GPU, restart the node, check the hardware or call support (48, 64,
74, 79, 95, 119, 120 …), and contained memory errors (94); a recovery that the driver itself asks for (154); a GPU
that has fallen off the bus; NVSwitch errors that are always fatal. One finding per GPU, the newest code first, with
the board's serial number and slot. Faults older than a day on a GPU that works since then are a warning.

## Why it matters
The GPU has stopped working or gives wrong results until it is reset, or the hardware is failing.

## Not raised when
- The application caused the Xid (13, 31, 43, 45 …), or it needs no action (63: a row was retired as designed):
  nvidia-xid-nonfatal reports those.
- The kernel log can't be read.

## How to confirm
`journalctl -k --grep 'NVRM: Xid'`

## Fix
Do what the catalogue says for the code: drain and reset the GPU, or restart the node. If the error returns, contact
the vendor with the output of `nvidia-bug-report.sh`.

## Fix safety
A reset stops every job on the GPU; with NVLink, reset all GPUs of the node together.

## References
https://docs.nvidia.com/deploy/xid-errors/
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Where only an error message says it: the message does not say which GPU."""
    from doctor.rules.lib.xid_actions import reset

    return (reset("-"),)


_CONTAINED = "xid-94"
_OLD_S = 86400
"""A fault that is older, on a GPU that answers since, is not today's cause."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    lost = {gpu.pci_address or gpu.key: gpu for gpu in machine.of_vendor("nvidia") if gpu.lost}
    if not (machine.kernel_log.events or lost):
        return
    from doctor.rules.lib import xid_actions

    by_device: dict[str, list[Asked]] = {}
    for event in reversed(machine.kernel_log.events or ()):
        asked = xid_actions.asked(event, kb)
        if asked and asked.fatal:
            by_device.setdefault(event.device or "-", []).append(asked)
    for device, rows in by_device.items():
        yield _finding(machine, device, rows, device in lost)
    for place, gpu in lost.items():
        if place not in by_device:
            yield Finding(
                severity=Severity.ERROR,
                summary=f"GPU {place} is lost: the driver lists it, but it does not answer.",
                subject=Subject(kind="gpu", id=place),
                evidence=(Evidence(text="the GPU is lost", source=machine.source(f"gpus[{gpu.key}].lost")),),
                remedies=xid_actions.remedies(presence.board(machine, place), "-", ["RESTART_BM"]),
            )


def _finding(machine: Snapshot, device: str, rows: list[Asked], lost: bool) -> Finding:
    from doctor.rules.lib import xid_actions

    source = machine.source("kernel_log.events")
    codes = ", ".join(dict.fromkeys(row.title for row in rows))
    over = not lost and all((row.event.age_s or 0) > _OLD_S for row in rows) and _answers(machine, device)
    mild = over or all(row.event.code == _CONTAINED for row in rows)
    board = presence.board(machine, device)
    shown = tuple(Evidence(text=f"{presence.times(row.event)}{row.event.text}", source=source) for row in rows[:5])
    return Finding(
        severity=Severity.WARNING if mild else Severity.ERROR,
        summary=f"{'GPU ' + device if device != '-' else 'A GPU'}: {codes}"
        + (f", {presence.ago(min(row.event.age_s or 0 for row in rows))} and not since." if over else "."),
        subject=Subject(kind="gpu", id=device),
        evidence=(*shown, *((Evidence(text=board, source=machine.source("gpus")),) if board else ())),
        remedies=xid_actions.remedies(board, device, [row.action for row in rows]),
        verify=("journalctl", "-k", "-b", "--grep", "NVRM: Xid"),
        source=xid_actions.SOURCE,
        explains=() if over else RULE.explains,
    )


def _answers(machine: Snapshot, device: str) -> bool:
    """Whether the driver still got an answer from that GPU (its memory is known), or can't be queried by address."""
    gpu = next((g for g in machine.of_vendor("nvidia") if g.pci_address == device), None)
    return gpu is not None and gpu.memory_bytes is not None
