"""The host's processors or memory reported hardware errors that they could not correct."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject
from doctor.rules import presence

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="host-machine-check",
    severity=Severity.WARNING,
    title="The host's CPU or memory reported uncorrected hardware errors.",
    needs=[{"kernel_log.events"}],
    proven="synthetic",
    order=63,
    tags=("host", "hardware"),
    doc="""
## What it finds
Machine checks (MCE) and EDAC reports in the kernel log that say that an error was not corrected.

## Why it matters
A program dies by SIGBUS, or the node stops; on an APU such as MI300A the GPU's memory is the host's.

## Not raised when
All errors were corrected, the kernel log can't be read, or the last one is more than a day old (then information).

## How to confirm
`journalctl -k --grep 'Hardware Error|EDAC'`, `ras-mc-ctl --summary`

## Fix
Find the module or processor that the lines name, drain the node and have it replaced.

## Fix safety
Replacing it needs the node off.

## References
https://docs.kernel.org/admin-guide/ras.html
""",
)
FIXES = (
    Fix(
        text="Drain the node; find the memory module or processor that the lines name and have it replaced.",
        command=("ras-mc-ctl", "--summary"),
        root=True,
        risk="replacing it needs the node off",
    ),
)
_OLD_S = 86400


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding of all such lines."""
    events = [e for e in machine.kernel_log.events or () if e.code == "mce-uncorrectable"]
    if not events:
        return
    source = machine.source("kernel_log.events")
    last = min((e.age_s for e in events if e.age_s is not None), default=None)
    old = last is not None and last > _OLD_S
    when = f", {presence.ago(last)}" if last is not None else ""
    yield Finding(
        severity=Severity.INFO if old else Severity.WARNING,
        summary=f"The host's CPU or memory reported uncorrected hardware errors{when}.",
        subject=Subject(kind="host", id="machine-check"),
        evidence=tuple(Evidence(text=f"{presence.times(e)}{e.text}", source=source) for e in events[:5]),
        fixes=FIXES,
        verify=("journalctl", "-k", "-b", "--grep", "Hardware Error|EDAC"),
    )
