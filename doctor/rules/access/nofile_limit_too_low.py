"""The limit of open files is reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="nofile-limit-too-low",
    severity=Severity.WARNING,
    title="The limit of open files is reached.",
    needs=(),
    proven="synthetic",
    order=22,
    tags=("access", "container"),
    doc="""## What it finds
RLIMIT_NOFILE is too low for what the job opens: data loader workers, many ranks, sharded checkpoints.

## Why it matters
'Too many open files', or 'received 0 items of ancdata' from data loader workers.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

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
    """Raised from error texts only."""
    yield from ()
