from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.facts.host import KernelEvent
from doctor.findings import Action, Evidence, Finding, Remedy, Rule, Scope, Severity, Subject
from doctor.rules.lib import presence
from doctor.rules.lib.advice import by_hand, step, way
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="host-memory-exhausted",
    severity=Severity.WARNING,
    scope=Scope.JOB,
    action=Action.INFORM,
    title="The kernel killed a process because the host or its control group ran out of memory.",
    needs=[{"kernel_log.events"}],
    proven="synthetic",
    order=68,
    tags=("host",),
    doc="""
## What it finds
Kills by the kernel's OOM killer: of the whole machine, or of a control group (a container's or a job's limit).

## Why it matters
A rank or a data loader worker stops with "Killed" or exit code 137, and the others hang in a collective. It is host
memory: the GPU may have plenty.

## Not raised when
The kernel log can't be read. A kill of more than a day ago is information.

## How to confirm
`journalctl -k --grep 'Killed process'`; in a container `cat /sys/fs/cgroup/memory.events`.

## Fix
For a control group: raise the memory limit of the container or job. For the machine: fewer workers, smaller caches,
more memory.

## References
https://docs.kernel.org/admin-guide/cgroup-v2.html#memory
https://docs.docker.com/engine/containers/resource_constraints/
""",
)
_GROUP = way(
    "Raise the memory limit of the container or job.",
    Scope.CONTAINER,
    step("Docker or Podman, for a container that runs (CONTAINER: its name; SIZE: as 64g).",
         "docker", "update", "--memory", "SIZE", "--memory-swap", "SIZE", "CONTAINER"),
    step("Kubernetes: resources.limits.memory. Slurm: --mem. systemd: MemoryMax."),
    undo=(step("Set the old limit again."),),
)  # fmt: skip
_MACHINE = by_hand(
    "Use less of the host's memory.",
    Scope.JOB,
    "Start fewer data loader workers (num_workers) or fewer ranks on the node.",
    "Delete what is left in /dev/shm; `df -h /dev/shm` shows how full it is.",
    undo="Set the old numbers again.",
)
REMEDIES = (_GROUP, _MACHINE)
_OLD_S = 86400


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    for event in machine.kernel_log.events or ():
        if event.code == "oom-kill":
            yield _finding(machine, event, "The host", _MACHINE)
        elif event.code == "oom-kill-cgroup":
            yield _finding(machine, event, "A container or job", _GROUP)


def _finding(machine: Snapshot, event: KernelEvent, whose: str, fix: Remedy) -> Finding:
    old = event.age_s is not None and event.age_s > _OLD_S
    when = f" ({presence.ago(event.age_s)})" if event.age_s is not None else ""
    killed = f"the kernel killed {event.programs[-1]}" if event.programs else "the kernel killed a process"
    return Finding(
        severity=Severity.INFO if old else Severity.WARNING,
        summary=f"{whose} ran out of memory: {killed}{when}.",
        subject=Subject(kind="host", id="memory" if event.code == "oom-kill" else "control-group"),
        evidence=(Evidence(text=f"{presence.times(event)}{event.text}", source=machine.source("kernel_log.events")),),
        remedies=(fix,),
        verify=("journalctl", "-k", "-b", "--grep", "Killed process"),
    )
