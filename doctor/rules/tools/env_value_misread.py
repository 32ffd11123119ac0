from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Rule, Scope, Severity, Subject
from doctor.rules.lib.advice import set_to, unset
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
`True` is off for HIP, `on` stops the creation of a process group). A variable that names a file, folder or compiler
that is not there (CUDA_HOME, TRITON_PTXAS_PATH, CC), or a folder for caches that this account may not write to.

## Why it matters
What you enabled is off, without a message; or the program stops at start.

## Not raised when
The component reads the value correctly, the variable is not described, or the environment comes from a pasted text.

## How to confirm
`doctor env -v` shows each variable and how it is read.

## Fix
Set the value that the message names: `env NAME=VALUE COMMAND` for a try, then the line in the file. `doctor env FILE
--diff` prints the patch.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
https://rocm.docs.amd.com/en/latest/reference/env-variables.html
""",
)
advice = unset_named


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding a variable; none from a pasted text, which doctor env reads with its lines."""
    return evaluated(machine, RULE.id, _dead(machine))


def _dead(machine: Snapshot) -> Iterator[Finding]:
    """A variable that leads nowhere; those of any program count only where torch is installed."""
    for name, why in (machine.dead_paths or {}).items():
        if name in ("HOME", "CC", "CXX") and not machine.torch.installed:
            continue
        home = set_to(machine, "Set HOME to a folder that this account can write to (FOLDER).", HOME="FOLDER")
        yield Finding(
            summary=f"{name} {why[:140]}{', so Triton cannot store kernels' if name == 'HOME' else ''}.",
            subject=Subject(kind="variable", id=name),
            evidence=(Evidence(text=f"{name} {why}"[:380], source=machine.source("dead_paths")),),
            remedies=(home if name == "HOME" else unset(machine, name, because=": the program then uses its default"),),
        )
