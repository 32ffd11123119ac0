"""torch reports no usable GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules.hardware import vendors_there
from doctor.rules.torch_build_at_hand import cpu_on_purpose, of_another_environment

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="torch-sees-no-gpu",
    severity=Severity.ERROR,
    title="torch reports no usable GPU.",
    needs=({"torch.available", "gpus"},),
    proven="synthetic",
    order=90,
    tags=("consequences",),
    doc="""## What it finds
torch.cuda.is_available() answered False, or torch said that it found no GPU, on a machine with one.

## Why it matters
Work runs on the CPU or stops. It is a consequence: its cause stands above it where one is known.

## Not raised when
torch sees a GPU, or no GPU is known to be there. A build for Intel's GPUs (+xpu) asks for no CUDA. Only a warning where
the text speaks of a login node.

## How to confirm
`python -c 'import torch; print(torch.cuda.is_available())'`

## Fix
Mend the cause.

## Fix safety
None: nothing is changed.

## References
https://docs.pytorch.org/docs/stable/generated/torch.cuda.is_available.html
""",
)

FIXES = (
    Fix(
        text="Mend the finding above; where there is none, run `doctor check` on that machine.",
        command=("doctor", "check"),
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Only where a GPU is known to be there."""
    seen = of_another_environment(machine, "torch.available") or machine.torch.build == "xpu"
    if machine.torch.available is False and vendors_there(machine) and not seen:
        # Asked on a login node it is no surprise, and says nothing of the nodes that have the GPUs.
        severity = Severity.WARNING if machine.symptom("login-node-said") else RULE.severity
        if cpu_on_purpose(machine):
            severity = Severity.INFO
        yield Finding(
            summary="torch.cuda.is_available() is False on a machine with a GPU.",
            severity=severity,
            subject=Subject(kind="package", id="torch"),
            evidence=evidence(machine, ("torch.available", "torch.version", "gpus")),
            fixes=FIXES,
        )
