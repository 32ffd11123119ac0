"""The slot or bridge gives the GPU no PCIe atomics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="pcie-atomics-missing",
    severity=Severity.ERROR,
    title="The slot or bridge gives the GPU no PCIe atomics.",
    needs=(),
    proven="synthetic",
    order=61,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("amd", "host"),
    doc="""
## What it finds
A GPU that the compute driver left out because its slot or bridge has no PCIe atomics.

## Why it matters
rocminfo shows no agent for it.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
Look for 'PCI rejects atomics' in the kernel log.

## Fix
Use a slot of the CPU itself; gfx9 and later work without atomics in most cases.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://github.com/ROCm/ROCm/issues/1214
""",
)
FIXES = (Fix(text="Move the GPU to a slot that is wired to the CPU."),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
