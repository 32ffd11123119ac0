"""The kernel killed a process: the host, or the control group of a container or job, ran out of memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.facts.host import KernelEvent
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject
from doctor.rules import presence

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="host-memory-exhausted",
    severity=Severity.WARNING,
    title="The kernel killed a process because memory of the host or of its control group ran out.",
    needs=[{"kernel_log.events"}],
    proven="synthetic",
    order=68,
    tags=("host",),
    doc="""
## What it finds
Kills by the kernel's OOM killer: of the whole machine, or of a control group (a container's or a job's limit).

## Why it matters
A rank or a data loader worker ends with "Killed" or exit code 137, and the others hang in a collective. It is host
memory: the GPU may have plenty.

## Not raised when
The kernel log can't be read. A kill of more than a day ago is information.

## How to confirm
`journalctl -k --grep 'Killed process'`; in a container `cat /sys/fs/cgroup/memory.events`.

## Fix
Of a control group: give the container or job more memory. Of the machine: fewer workers, smaller caches, more memory.

## Fix safety
The container or job must be started again.

## References
https://docs.kernel.org/admin-guide/cgroup-v2.html#memory
https://docs.docker.com/engine/containers/resource_constraints/
""",
)
_GROUP = Fix(
    text="Give the container or job more memory (Kubernetes: resources.limits.memory; Slurm: --mem).",
    command=("docker", "run", "--memory", "SIZE", "IMAGE"),
)
_MACHINE = Fix(text="Start fewer data loader workers or ranks, keep less in /dev/shm and caches, or add memory.")
FIXES = (_GROUP, _MACHINE)
_OLD_S = 86400


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for the machine and one for control groups."""
    for event in machine.kernel_log.events or ():
        if event.code == "oom-kill":
            yield _finding(machine, event, "The host", _MACHINE)
        elif event.code == "oom-kill-cgroup":
            yield _finding(machine, event, "A container or job", _GROUP)


def _finding(machine: Snapshot, event: KernelEvent, whose: str, fix: Fix) -> Finding:
    old = event.age_s is not None and event.age_s > _OLD_S
    when = f" ({presence.ago(event.age_s)})" if event.age_s is not None else ""
    killed = f"the kernel killed {event.programs[-1]}" if event.programs else "the kernel killed a process"
    return Finding(
        severity=Severity.INFO if old else Severity.WARNING,
        summary=f"{whose} ran out of memory: {killed}{when}.",
        subject=Subject(kind="host", id="memory" if event.code == "oom-kill" else "control-group"),
        evidence=(Evidence(text=f"{presence.times(event)}{event.text}", source=machine.source("kernel_log.events")),),
        fixes=(fix,),
        verify=("journalctl", "-k", "-b", "--grep", "Killed process"),
    )
