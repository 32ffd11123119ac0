"""An integrated GPU beside the discrete one breaks it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="integrated-gpu-conflict",
    severity=Severity.WARNING,
    title="An integrated GPU beside the discrete one breaks it.",
    needs=(),
    proven="synthetic",
    order=55,
    tags=("amd", "host"),
    doc="""
## What it finds
Texts that tie a failure to an integrated GPU that is used, or counted, beside the discrete one.

## Why it matters
Libraries without kernels for the integrated GPU crash, or the wrong GPU runs the work.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
Hide the integrated GPU with HIP_VISIBLE_DEVICES and try again.

## Fix
Hide it, or turn it off in the firmware.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
""",
)
FIXES = (
    Fix(
        text="Show only the discrete GPU, whose index rocminfo tells.",
        command=("env", "HIP_VISIBLE_DEVICES=0", "python3"),
    ),
    Fix(text="Or turn the integrated GPU off in the firmware settings.", reboot=True),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
