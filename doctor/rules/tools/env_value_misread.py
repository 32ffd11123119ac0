"""A variable holds a value that its component reads as something else, ignores or dies on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Rule, Severity
from doctor.rules import run_line
from doctor.rules.flags_read import evaluated

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="env-value-misread",
    severity=Severity.WARNING,
    title="A variable holds a value that its component reads as something else, ignores or dies on.",
    needs=({"environment"},),
    proven="synthetic",
    order=51,
    tags=("tools", "flags"),
    doc="""## What it finds
A value of a variable that its reader takes for something else than it says, ignores, or stops at: each component has
its own parser (`true` is 0 to NCCL, `True` is off to HIP, `on` ends the making of a process group).

## Why it matters
What was meant to be switched on is off, without a word; or the program ends at start.

## Not raised when
The value is read as it says, the variable is not described, or the environment comes from a pasted text.

## How to confirm
`doctor env -v` shows each variable with what is read of it.

## Fix
Write the value as the message says, or unset the variable.

## Fix safety
Applies to programs started afterwards.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
https://rocm.docs.amd.com/en/latest/reference/env-variables.html
""",
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding a variable; none from a pasted text, which doctor env reads with its lines."""
    if not run_line.from_text(machine, "environment"):
        yield from evaluated(machine, RULE.id)
