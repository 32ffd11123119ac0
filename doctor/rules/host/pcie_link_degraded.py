"""A GPU's PCIe link has fewer lanes than the GPU can use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="pcie-link-degraded",
    severity=Severity.WARNING,
    title="A GPU's PCIe link has fewer lanes than the GPU can use.",
    needs=[{"gpus[].link.width"}],
    proven="synthetic",
    order=63,
    facts_decide=False,
    tags=("host",),
    doc="""
## What it finds
A link with fewer lanes than the GPU and slot can do, or bus errors of the link.

## Why it matters
Copies are slower, and a bad link can drop the GPU off the bus.

## Not raised when
Lanes are as many as can be; a lower speed alone is power saving.

## How to confirm
`lspci -vv`: LnkSta against LnkCap.

## Fix
Seat the card anew, change the riser or cable, or use another slot.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://docs.kernel.org/PCI/index.html
""",
)
FIXES = (
    Fix(text="Show the link's state.", command=("lspci", "-vv")),
    Fix(text="Seat the card anew, change the riser or cable, or use another slot."),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each such GPU."""
    for gpu in machine.gpus or ():
        if (
            gpu.link.width
            and gpu.link.max_width
            and gpu.link.width < gpu.link.max_width
            and not gpu.integrated
            and gpu.link.width < 8
        ):
            yield Finding(
                summary=f"{gpu.key}: x{gpu.link.width} of x{gpu.link.max_width} PCIe lanes.",
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=evidence(machine, [f"gpus[{gpu.key}].link.width", f"gpus[{gpu.key}].link.max_width"]),
                fixes=FIXES,
            )
