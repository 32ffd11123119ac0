"""The environment lies under a path with a space."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="install-path-has-space",
    severity=Severity.ERROR,
    title="The environment lies under a path with a space.",
    needs=({"interpreter.prefix", "torch.build"}, {"torch.location", "torch.build"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "torch-missing-gpu-arch"),
    order=39,
    facts_decide=False,
    tags=(
        "python",
        "amd",
    ),
    doc="""## What it finds
A ROCm build of torch under a path that holds a space.

## Why it matters
ROCm 6's loader of code objects does not find kernels under such a path: 'invalid device function'.

## Not raised when
torch is not a ROCm build and no error text was seen, or the path has no space.

## How to confirm
`python -c 'import torch; print(torch.__file__)'`

## Fix
Make the environment anew under a path without spaces: environments can't be moved.

## Fix safety
No reboot. Changes packages of this environment only.

## References
https://github.com/ROCm/clr/issues
""",
)

FIXES = (Fix(text="Make the environment anew under a path without spaces.", where="environment"),)


_SHOWN = (
    *("path-shown-with-space", "path-with-space", "path-told-to-hold-a-space", "include-path-cut-at-space"),
    *("input-path-cut", "no-such-include-part", "home-path-shown-with-space"),
)


def unheard(machine: Snapshot) -> bool:
    """Where a text neither shows a path with a space nor speaks of one."""
    return machine.symptom(*_SHOWN) is None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """ROCm builds alone are known to mind."""
    spaced = [p for p in (machine.interpreter.prefix, machine.torch.location) if p and " " in p.strip()]
    if spaced and machine.torch.build == "rocm":
        yield Finding(
            summary="torch for ROCm lies under a path with a space; its kernels may not be found.",
            severity=Severity.WARNING,
            subject=Subject(kind="path"),
            evidence=evidence(machine, ("torch.location", "interpreter.prefix", "torch.version")),
            fixes=FIXES,
        )
