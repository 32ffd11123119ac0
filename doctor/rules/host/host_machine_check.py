from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Rule, Scope, Severity, Subject
from doctor.rules.lib import presence
from doctor.rules.lib.advice import drain, step
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="host-machine-check",
    severity=Severity.WARNING,
    scope=Scope.HARDWARE,
    action=Action.DRAIN,
    layer=Layer.GPU,
    title="The host's CPU or memory reported uncorrected hardware errors.",
    needs=[{"kernel_log.events"}],
    proven="synthetic",
    order=63,
    tags=("host", "hardware"),
    doc="""
## What it finds
Machine checks (MCE) and EDAC reports of uncorrected errors in the kernel log.

## Why it matters
A program stops with SIGBUS, or the node stops; on an APU such as MI300A the GPU's memory is the host's.

## Not raised when
All errors were corrected, the kernel log can't be read, or the last one is more than a day old (then information).

## How to confirm
`journalctl -k --grep 'Hardware Error|EDAC'`, `ras-mc-ctl --summary`

## Fix
Find the module or CPU that the lines name, drain the node and replace it.

## References
https://docs.kernel.org/admin-guide/ras.html
""",
)
REMEDIES = (
    drain(
        "Drain the node, then replace the memory module or CPU that the log lines name.",
        step("Show which part counts errors (rasdaemon; else the BMC's log).", "ras-mc-ctl", "--summary"),
        risk="the node must be powered off",
    ),
)
_OLD_S = 86400


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
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
        remedies=REMEDIES,
        verify=("journalctl", "-k", "-b", "--grep", "Hardware Error|EDAC"),
    )
