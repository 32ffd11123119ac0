"""Above-4G decoding or resizable BAR is off in the firmware."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="large-bar-disabled",
    severity=Severity.ERROR,
    title="Above-4G decoding or resizable BAR is off in the firmware.",
    needs=(),
    proven="synthetic",
    order=60,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("host",),
    doc="""
## What it finds
Texts that say that the GPU's memory window could not be placed.

## Why it matters
The driver cannot start the GPU, or it is not seen at all.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
`lspci -vv`: the size of the prefetchable region; the kernel log's BAR lines.

## Fix
Turn Above 4G decoding and resizable BAR on, update the firmware.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://github.com/NVIDIA/open-gpu-kernel-modules/issues/862
""",
)
FIXES = (
    Fix(
        text="Turn Above 4G Decoding and resizable BAR on in the firmware settings; update it where they are missing.",
        reboot=True,
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
