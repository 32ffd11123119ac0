"""A flag is set in the shell and not where the service starts, or the reverse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="env-not-seen-by-service",
    severity=Severity.WARNING,
    title="A flag is set in the shell and not where the service starts, or the reverse.",
    needs=(),
    proven="synthetic",
    order=50,
    tags=("flags",),
    doc="""## What it finds
A service (systemd unit, container, notebook server) starts with another environment than the shell it was tried in.

## Why it matters
The same command works by hand and fails as a service.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
`tr '\\0' '\\n' < /proc/PID/environ` of the service.

## Fix
Set it in the unit or the container's run line.

## Fix safety
The service must be started again.

## References
https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#Environment
""",
)

FIXES = (
    Fix(
        text="Set the variable in the unit with Environment=, then reload and restart it.",
        command=("systemctl", "edit", "SERVICE"),
        root=True,
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
