"""The kernel log holds an Xid that the catalogue calls for more than restarting the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.facts.host import KernelEvent
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject
from doctor.knowledge import Knowledge

if TYPE_CHECKING:
    from doctor.profiles import Profile

RULE = Rule(
    id="nvidia-xid-fatal",
    severity=Severity.ERROR,
    title="The kernel log holds a fatal Xid of an NVIDIA GPU.",
    needs=[{"kernel_log.events"}, {"gpus[].lost"}],
    proven="replay",
    order=60,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "hardware"),
    doc="""
## What it finds
Xids whose action in NVIDIA's catalogue is to reset the GPU, restart the node, check the hardware or
call support (48, 64, 74,
79, 95, 119, 120 …), and contained memory errors (94); a GPU that has fallen off the bus; NVSwitch
errors that are always
fatal. One finding a GPU, the newest code first.

## Why it matters
The GPU has stopped working or gives wrong results until it is reset, or the hardware is failing.

## Not raised when
- The Xid is of the application's making (13, 31, 43, 45 …) or needs no action (63: a row was retired as designed).
- The kernel log can't be read.

## How to confirm
`journalctl -k --grep 'NVRM: Xid'`

## Fix
What the catalogue says for the code: drain and reset the GPU, or restart the node; if it comes back,
hand the GPU to the
vendor with `nvidia-bug-report.sh`.

## Fix safety
A reset ends every job on the GPU; with NVLink, reset all GPUs of the node together.

## References
https://docs.nvidia.com/deploy/xid-errors/
""",
)
FIXES = (
    Fix(
        text="Drain the node, then reset the GPU or restart the node as the Xid's entry says.",
        risk="ends every job on the GPU",
    ),
)
_CONTAINED = 94
_RESTART_NODE = ("RESTART_BM", "CHECK_MECHANICALS", "CONTACT_SUPPORT")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    source = machine.source("kernel_log.events")
    by_device: dict[str, list[tuple[KernelEvent, str, str | None]]] = {}
    for event in reversed(machine.kernel_log.events or ()):
        said = _fatal(event, kb)
        if said:
            by_device.setdefault(event.device or "-", []).append((event, *said))
    for device, rows in by_device.items():
        codes = ", ".join(dict.fromkeys(name for _, name, _ in rows))
        only_contained = all(event.code == f"xid-{_CONTAINED}" for event, _, _ in rows)
        yield Finding(
            severity=Severity.WARNING if only_contained else Severity.ERROR,
            summary=f"{'GPU ' + device if device != '-' else 'A GPU'}: {codes}.",
            subject=Subject(kind="gpu", id=device),
            evidence=tuple(Evidence(text=e.text, source=source) for e, _, _ in rows[:5]),
            fixes=_fixes(device, [action for _, _, action in rows]),
            verify=("journalctl", "-k", "-b", "--grep", "NVRM: Xid"),
            source="https://docs.nvidia.com/deploy/xid-errors/",
        )
    for gpu in machine.of_vendor("nvidia"):
        if gpu.lost and (gpu.pci_address or gpu.key) not in by_device:
            yield Finding(
                severity=Severity.ERROR,
                summary=f"GPU {gpu.pci_address or gpu.key} is lost: the driver lists it and it does not answer.",
                subject=Subject(kind="gpu", id=gpu.pci_address or gpu.key),
                evidence=(Evidence(text="the GPU is lost", source=machine.source(f"gpus[{gpu.key}].lost")),),
                fixes=_fixes("-", ["RESTART_BM"]),
            )


def _fatal(event: KernelEvent, kb: Knowledge) -> tuple[str, str | None] | None:
    """Name of a fatal event and the catalogue's action; None for any other."""
    kind, _, number = event.code.rpartition("-")
    if event.code == "gpu-fell-off-bus":
        return "fell off the bus", "RESTART_BM"
    if kind == "xid" and number.isdigit():
        entry = kb.xid(int(number))
        if entry and (entry.severity == "error" or entry.code == _CONTAINED):
            return f"Xid {number} ({entry.meaning.partition(';')[0]})", entry.action
    if kind == "sxid" and number.isdigit():
        switch = kb.sxid(int(number))
        if switch and switch.fatal == "always":
            return f"SXid {number} ({switch.name})", "RESTART_BM"
    return None


def _fixes(device: str, actions: list[str | None]) -> tuple[Fix, ...]:
    report = Fix(
        text="If it comes back: collect a report for the vendor.", command=("nvidia-bug-report.sh",), root=True
    )
    if any(action in _RESTART_NODE for action in actions):
        restart = Fix(
            text="Drain and restart the node; check power cable and seating if the GPU stays away.",
            command=("systemctl", "reboot"),
            root=True,
            reboot=True,
            risk="ends every job on the node",
        )
        return (restart, report)
    if set(actions) <= {"RESTART_APP"}:
        return (Fix(text="Restart the program that was hit; reset the GPU when the node is next idle."), report)
    reset = Fix(
        text="Drain the GPU and reset it.",
        command=("nvidia-smi", "--gpu-reset", "-i", device) if device != "-" else None,
        root=True,
        risk="ends every job on the GPU; with NVLink all GPUs of the node are reset together",
    )
    return (reset, report)
