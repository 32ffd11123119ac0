from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Rule, Scope, Severity
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.flags_read import evaluated, unset_named

RULE = Rule(
    id="env-flags-conflict",
    severity=Severity.WARNING,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.FLAGS,
    title="Environment variables conflict with each other or with the installed versions and GPUs.",
    needs=({"environment"},),
    proven="synthetic",
    order=51,
    tags=("tools", "flags"),
    doc="""## What it finds
Variables of the GPU stack that, together or on this GPU and version, do not do what they are set for: the condition
of a rule between flags is true. The evidence shows its id.

## Why it matters
One of them is ignored, the job stops, or it is slow.

## Not raised when
The condition is false, or a part of it is not known. A rule not checked against the component's code is a warning at
most.

## How to confirm
`doctor env` lists all of them with their variables.

## Fix
Try the program without one of them: `env -u NAME COMMAND`. Then remove the line that sets it, or set the missing one,
as the message says. For a file, `doctor env FILE --diff` prints a patch where the fix is certain.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
https://rocm.docs.amd.com/en/latest/reference/env-variables.html
""",
)
advice = unset_named


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding a variable; none from a pasted text, which doctor env reads with its lines."""
    return evaluated(machine, RULE.id)
