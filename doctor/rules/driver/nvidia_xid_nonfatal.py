from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject
from doctor.rules.lib import presence
from doctor.rules.lib.advice import drain, step, way
from doctor.rules.lib.arguments import Knowledge, Profile

if TYPE_CHECKING:
    from doctor.rules.lib.xid_actions import Asked

RULE = Rule(
    id="nvidia-xid-nonfatal",
    severity=Severity.INFO,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.GPU,
    title="The kernel log shows a GPU error (Xid) that a program caused or that needs no action.",
    needs=[{"kernel_log.events"}],
    proven="synthetic",
    order=66,
    tags=("nvidia", "hardware"),
    doc="""
## What it finds
Every Xid that needs no reset (13, 31, 43, 45, 63, 68, 92, 94 …) and every NVSwitch error (SXid) that is not always
fatal, with NVIDIA's description. One finding per GPU or switch. It is a warning if three or more runs of different
programs had the same code on one GPU only: then the board may be faulty. It is also a warning if NVIDIA calls a
switch error potentially fatal.

## Why it matters
The affected program stopped or gives wrong results: "illegal memory access", "unspecified launch failure". The GPU
itself still works.

## Not raised when
- The GPU has a fatal Xid too, which explains the others (nvidia-xid-fatal), or the code is a memory error that
  gpu-ecc-errors reports.
- The kernel log can't be read.

## How to confirm
`journalctl -k --grep 'NVRM: Xid'`; the program alone under `compute-sanitizer`.

## Fix
Restart the program and look for its bug. If only one board is affected, run field diagnostics.

## Fix safety
Restarting one program does not affect others; diagnostics need an idle GPU.

## References
https://docs.nvidia.com/deploy/xid-errors/
https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/ (SXid errors)
""",
)
_PROGRAM = way(
    "Restart the program that failed, and look for its bug.",
    Scope.JOB,
    step("Run the program (PROGRAM) under NVIDIA's memory checker; it is slow.", "compute-sanitizer", "PROGRAM"),
    vendor="nvidia",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    return (_PROGRAM,)


_OF_MEMORY = ("xid-63", "xid-94")
"""gpu-ecc-errors reports these."""
_FOLLOWS_BOARD = 3
"""Programs on one GPU alone: the catalogue's entries of 13 and 31 say "failing hardware if it follows the board"."""
_OF_PROGRAM = ("RESTART_APP", "CHECK_UVM")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    if not machine.kernel_log.events:
        return
    from doctor.rules.lib import xid_actions

    rows = [a for event in machine.kernel_log.events or () if (a := xid_actions.asked(event, kb))]
    fatal = {row.event.device for row in rows if row.fatal}
    by_device: dict[str, list[Asked]] = {}
    for row in rows:
        if row.event.device not in fatal and row.event.code not in _OF_MEMORY:
            by_device.setdefault(row.event.device or "-", []).append(row)
    for device, found in by_device.items():
        several = len(machine.of_vendor("nvidia")) > 1
        yield _finding(machine, device, found, several and _alone(device, found, by_device))


def _alone(device: str, found: list[Asked], by_device: dict[str, list[Asked]]) -> bool:
    """Whether several programs met one code here and nowhere else. One program that is started again and again is
    none of several."""
    if device == "-":
        return False
    others = {row.event.code for key, rows in by_device.items() if key != device for row in rows}
    return any(
        row.action in _OF_PROGRAM
        and row.event.code not in others
        and len(row.event.programs or ()) >= _FOLLOWS_BOARD
        and len({name.partition(" (")[0] for name in row.event.programs or ()}) > 1
        for row in found
    )


def _finding(machine: Snapshot, device: str, rows: list[Asked], alone: bool) -> Finding:
    from doctor.rules.lib.xid_actions import SOURCE

    source = machine.source("kernel_log.events")
    of_program = [row for row in rows if row.action in _OF_PROGRAM]
    switch = all(row.event.code.startswith("sxid-") for row in rows)
    where = f"{'NVSwitch' if switch else 'GPU'} {device}" if device != "-" else "A switch" if switch else "A GPU"
    codes = ", ".join(dict.fromkeys(row.name for row in of_program or rows))
    board = presence.board(machine, device)
    evidence = [Evidence(text=f"{row.title}: {row.words}"[:300], source=SOURCE) for row in rows[:8]]
    evidence += [
        Evidence(text=f"{presence.times(row.event)}{row.event.text}", source=source) for row in (of_program or rows)[:4]
    ]
    if board:
        evidence.append(Evidence(text=board, source=machine.source("gpus")))
    return Finding(
        severity=Severity.WARNING if alone or any(row.kind == "potentially fatal" for row in rows) else Severity.INFO,
        summary=f"{where}: {codes}, {_said(of_program or rows, bool(of_program), alone)}.",
        subject=Subject(kind="switch" if switch else "gpu", id=device),
        evidence=tuple(evidence),
        remedies=_remedies(device, rows, bool(of_program), alone),
        verify=("journalctl", "-k", "-b", "--grep", "NVRM: Xid" if not switch else "SXid"),
        source=SOURCE,
    )


def _said(rows: list[Asked], of_program: bool, alone: bool) -> str:
    last = min((row.event.age_s for row in rows if row.event.age_s is not None), default=None)
    when = f" ({presence.ago(last)})" if last is not None else ""
    names = list(dict.fromkeys(name for row in rows for name in row.event.programs or ()))
    if alone:
        return f"in {len(names)} programs, only on this GPU: the board may be faulty{when}"
    if of_program:
        whose = f" {names[-1]}" if names else ""
        return f"caused by the program{whose}: restart and debug it{when}"
    return f"{rows[0].words}{when}"


def _remedies(device: str, rows: list[Asked], of_program: bool, alone: bool) -> tuple[Remedy, ...]:
    if alone:
        end = step("Stop every program that uses the GPU.")
        diagnose = step(
            "Run field diagnostics; if they fail, the vendor must replace the board.", "dcgmi", "diag", "-r", "3"
        )
        title = "Drain the GPU and run field diagnostics."
        return (drain(title, end, diagnose, risk="stops every job on the GPU", vendor="nvidia"), _PROGRAM)
    if of_program:
        return (_PROGRAM,)
    if any(row.action == "LOOK_AT_SWITCH" for row in rows):
        title = "Read the fabric manager's log and check the link that it names."
        argv = ("journalctl", "-u", "nvidia-fabricmanager", "-b")
        return (drain(title, step("Read the log.", *argv), vendor="nvidia"),)
    return ()
