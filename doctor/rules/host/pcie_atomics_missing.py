"""The slot or bridge gives the GPU no PCIe atomics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject
from doctor.rules import presence

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="pcie-atomics-missing",
    severity=Severity.ERROR,
    title="The slot or bridge gives the GPU no PCIe atomics.",
    needs=[{"kernel_log.events"}],
    proven="synthetic",
    order=61,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    facts_decide=False,
    tags=("amd", "host"),
    doc="""
## What it finds
A GPU that the compute driver left out because its slot or bridge has no PCIe atomics, by the kernel log or an error
text.

## Why it matters
rocminfo shows no agent for it.

## Not raised when
The kernel log can't be read, or tells of no such GPU and no error text was seen.

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
    """One finding for each GPU that the compute driver left out for it."""
    source = machine.source("kernel_log.events")
    for event in machine.kernel_log.events or ():
        if event.code == "kfd-no-atomics":
            device = event.device or "-"
            yield Finding(
                summary=f"KFD left out {'GPU ' + device if event.device else 'a GPU'}: its slot gives no PCIe atomics.",
                subject=Subject(kind="gpu", id=device),
                evidence=(Evidence(text=f"{presence.times(event)}{event.text}", source=source),),
                fixes=FIXES,
            )
