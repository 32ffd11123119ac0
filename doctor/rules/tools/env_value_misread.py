from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Rule, Scope, Severity
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.flags_read import evaluated, unset_named

RULE = Rule(
    id="env-value-misread",
    severity=Severity.WARNING,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.FLAGS,
    title="A component misreads the value of a variable, ignores it or crashes on it.",
    needs=({"environment"},),
    proven="synthetic",
    order=51,
    tags=("tools", "flags"),
    doc="""## What it finds
A value that a component misreads, ignores or fails on: each component has its own parser (`true` is 0 for NCCL,
`True` is off for HIP, `on` stops the creation of a process group).

## Why it matters
What you enabled is off, without a message; or the program stops at start.

## Not raised when
The component reads the value correctly, the variable is not described, or the environment comes from a pasted text.

## How to confirm
`doctor env -v` shows each variable and how it is read.

## Fix
Set the value that the message names: `env NAME=VALUE COMMAND` for a try, then the line in the file. `doctor env FILE
--diff` prints the patch.

## Fix safety
This job only; no root, no reboot. Applies to programs started afterwards. Undo: set the old value again.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
https://rocm.docs.amd.com/en/latest/reference/env-variables.html
""",
)
advice = unset_named


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding a variable; none from a pasted text, which doctor env reads with its lines."""
    return evaluated(machine, RULE.id)
