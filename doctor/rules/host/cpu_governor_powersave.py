"""The CPU frequency governor is set to save power."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="cpu-governor-powersave",
    severity=Severity.INFO,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    title="The CPU frequency governor is set to save power.",
    needs=[{"host.cpu_governor", "gpus"}],
    proven="synthetic",
    order=83,
    tags=("host", "tuning"),
    doc="""
## What it finds
The governor powersave on a GPU machine.

## Why it matters
Kernel launches and collectives wait for a slow CPU.

## Not raised when
Another governor is chosen, or no GPU is known.

## How to confirm
`cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor`.

## Fix
Choose performance.

## Fix safety
Draws more power.

## References
https://docs.kernel.org/admin-guide/pm/cpufreq.html
""",
)
REMEDIES = (
    way(
        "Set the CPU governor to performance.",
        Scope.HOST,
        step("Set it until the next boot.", "cpupower", "frequency-set", "--governor", "performance"),
        step("To keep it: tuned-adm profile throughput-performance (RHEL, SLES), or the service of cpupower."),
        root=True,
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    if machine.host.cpu_governor == "powersave" and machine.gpus:
        yield Finding(
            severity=Severity.INFO,
            suspect=True,
            summary="The CPU frequency governor is powersave.",
            subject=Subject(kind="host", id="-"),
            evidence=evidence(machine, ["host.cpu_governor"]),
            remedies=REMEDIES,
        )
