"""The kernel log holds an Xid or SXid that asks for a restarted program, a look, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject
from doctor.knowledge import Knowledge
from doctor.rules import presence

if TYPE_CHECKING:
    from doctor.profiles import Profile
    from doctor.rules.xid_actions import Asked

RULE = Rule(
    id="nvidia-xid-nonfatal",
    severity=Severity.INFO,
    title="The kernel log holds an Xid of a program's own making, or one that needs no action.",
    needs=[{"kernel_log.events"}],
    proven="synthetic",
    order=66,
    tags=("nvidia", "hardware"),
    doc="""
## What it finds
Every Xid that is no case for a reset (13, 31, 43, 45, 63, 68, 92, 94 …) and every NVSwitch error (SXid) that is not
always fatal, with what NVIDIA's catalogue says of it. One finding a GPU or switch. It is a warning where three or more
runs of different programs met the same code on one GPU and no other GPU of the machine had it: then the fault follows
the board; and where NVIDIA calls a switch's error potentially fatal.

## Why it matters
The program that was hit has ended or gives wrong results: "illegal memory access", "unspecified launch failure".
The GPU itself goes on.

## Not raised when
- The GPU has a fatal Xid too, which explains what came with it (nvidia-xid-fatal), or the code is one of its memory
  that gpu-ecc-errors tells.
- The kernel log can't be read.

## How to confirm
`journalctl -k --grep 'NVRM: Xid'`; the program alone under `compute-sanitizer`.

## Fix
Restart the program and look for the fault in it. Where it follows the board, run field diagnostics.

## Fix safety
Restarting one program touches no other; diagnostics need an idle GPU.

## References
https://docs.nvidia.com/deploy/xid-errors/
https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/ (SXid errors)
""",
)
FIXES = (Fix(text="Restart the program that was hit, look for its fault.", command=("compute-sanitizer", "PROGRAM")),)
_OF_MEMORY = ("xid-63", "xid-94")
"""gpu-ecc-errors tells these."""
_FOLLOWS_BOARD = 3
"""Programs on one GPU alone: the catalogue's entries of 13 and 31 say "failing hardware if it follows the board"."""
_OF_PROGRAM = ("RESTART_APP", "CHECK_UVM")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each device that has no fatal Xid."""
    if not machine.kernel_log.events:
        return
    from doctor.rules import xid_actions

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
    from doctor.rules.xid_actions import SOURCE

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
        fixes=_fixes(device, rows, bool(of_program), alone),
        verify=("journalctl", "-k", "-b", "--grep", "NVRM: Xid" if not switch else "SXid"),
        source=SOURCE,
    )


def _said(rows: list[Asked], of_program: bool, alone: bool) -> str:
    last = min((row.event.age_s for row in rows if row.event.age_s is not None), default=None)
    when = f" ({presence.ago(last)})" if last is not None else ""
    names = list(dict.fromkeys(name for row in rows for name in row.event.programs or ()))
    if alone:
        return f"in {len(names)} programs and on no other GPU: the fault may be the board's{when}"
    if of_program:
        whose = f" of {names[-1]}" if names else ""
        return f"a program's own fault{whose}: restart it and look at it{when}"
    return f"{rows[0].words}{when}"


def _fixes(device: str, rows: list[Asked], of_program: bool, alone: bool) -> tuple[Fix, ...]:
    if alone:
        diagnose = Fix(
            text="Drain the GPU and run field diagnostics; if they fail, the board is for the vendor to replace (RMA).",
            command=("dcgmi", "diag", "-r", "3"),
            root=True,
            risk="needs an idle GPU",
        )
        return (*FIXES, diagnose)
    if of_program:
        return FIXES
    if any(row.action == "LOOK_AT_SWITCH" for row in rows):
        return (Fix(text="Look at the fabric manager's log and at the link that it names; keep the record."),)
    return ()
