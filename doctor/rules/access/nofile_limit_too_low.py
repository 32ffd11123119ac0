from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import step, way, writes
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.container_advice import recreate
from doctor.rules.lib.hardware import compute_gpus

RULE = Rule(
    id="nofile-limit-too-low",
    severity=Severity.WARNING,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    title="The open-files limit is too low.",
    needs=({"host.nofile"},),
    proven="synthetic",
    order=22,
    facts_decide=False,
    tags=("access", "container"),
    doc="""## What it finds
RLIMIT_NOFILE is too low for what the job opens: data loader workers, many ranks, sharded checkpoints.

## Why it matters
Programs stop with 'Too many open files', data loader workers with 'received 0 items of ancdata'.

## Not raised when
The limit is above 1024, or 1024 without an error message and without several GPUs in a container. Without an error
message it is information, except where a program on several GPUs could not load a file of kernels.

## How to confirm
`ulimit -n` in the shell or container that starts the job.

## Fix
Raise the soft limit, in the container with --ulimit.

## References
https://docs.pytorch.org/docs/stable/multiprocessing.html#sharing-strategies
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """In a container its own limit; on the host that of login sessions and services."""
    new = recreate(machine, "Recreate the container with a higher open-files limit.", "--ulimit", "nofile=65536:65536")
    sessions = way(
        "Raise the open-files limit of login sessions.",
        Scope.HOST,
        writes("/etc/security/limits.d/nofile.conf", "* soft nofile 65536", "* hard nofile 65536"),
        step("Log in again. For a systemd service, set LimitNOFILE=65536 in its unit and restart it."),
        root=True,
        undo=(step("Remove the file.", "rm", "/etc/security/limits.d/nofile.conf"),),
    )
    inside = machine.container.inside
    return (new,) if inside else (sessions,) if inside is False else (sessions, new)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Information: 1024 is most systems' default, and enough for many jobs. A warning where a program on several GPUs
    could not load a file that its packages bring: the runtime does not say why an open failed."""
    limit = machine.host.nofile
    text = run_line.from_text(machine, "host.nofile")
    several = len(compute_gpus(machine)) > 1
    unopened = machine.symptom(*_NOT_OPENED) if several else None
    crowded = machine.container.inside and several
    if limit is None or limit <= 0 or limit > _DEFAULT or (limit == _DEFAULT and not (text or crowded)):
        return
    error = (Evidence(text=unopened.text[:200], source=unopened.source),) if unopened else ()
    yield Finding(
        summary=f"The open-files limit ({limit}) is low."
        + (" A file could not be loaded; several GPUs need more open files." if unopened else ""),
        severity=Severity.WARNING if unopened else Severity.INFO,
        basis="both" if unopened else "facts",
        suspect=0 if unopened or not text else 2,
        subject=Subject(kind="limit", id="nofile"),
        evidence=(*evidence(machine, ("host.nofile",)), *error),
        remedies=advice(machine, kb),
    )


_NOT_OPENED = ("hipblaslt-tensile-missing", "rocblas-tensile-missing")


_DEFAULT = 1024
