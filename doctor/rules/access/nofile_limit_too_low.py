"""The limit of open files is reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules import run_line
from doctor.rules.hardware import compute_gpus

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="nofile-limit-too-low",
    severity=Severity.WARNING,
    title="The limit of open files is reached.",
    needs=({"host.nofile"},),
    proven="synthetic",
    order=22,
    facts_decide=False,
    tags=("access", "container"),
    doc="""## What it finds
RLIMIT_NOFILE is too low for what the job opens: data loader workers, many ranks, sharded checkpoints.

## Why it matters
'Too many open files', or 'received 0 items of ancdata' from data loader workers.

## Not raised when
The limit is above 1024, or 1024 without an error text and without several GPUs in a container. Without an error text
it is information, except where a program on several GPUs could not load a file of kernels.

## How to confirm
`ulimit -n` in the shell or container that starts the job.

## Fix
Raise the soft limit, in the container with --ulimit.

## Fix safety
Applies to processes started afterwards.

## References
https://docs.pytorch.org/docs/stable/multiprocessing.html#sharing-strategies
""",
)

FIXES = (
    Fix(text="Raise it for the container.", command=("docker", "run", "--ulimit", "nofile=65536:65536", "IMAGE")),
    Fix(
        text="Raise the soft limit of the user's sessions in /etc/security/limits.d, or LimitNOFILE of the unit.",
        root=True,
    ),
)


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
    told = (Evidence(text=unopened.text[:200], source=unopened.source),) if unopened else ()
    yield Finding(
        summary=f"A process may open {limit} files."
        + (" With this many GPUs that is few, and a file could not be loaded." if unopened else ""),
        severity=Severity.WARNING if unopened else Severity.INFO,
        basis="both" if unopened else "facts",
        suspect=0 if unopened or not text else 2,
        subject=Subject(kind="limit", id="nofile"),
        evidence=(*evidence(machine, ("host.nofile",)), *told),
        fixes=FIXES,
    )


_NOT_OPENED = ("hipblaslt-tensile-missing", "rocblas-tensile-missing")


_DEFAULT = 1024
