"""ACS sends copies between GPUs through the root complex."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence

if TYPE_CHECKING:
    from doctor.facts.snapshot import Symptom
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="pcie-acs-enabled",
    severity=Severity.WARNING,
    title="ACS sends copies between GPUs through the root complex.",
    needs=[{"pci", "gpus"}],
    proven="synthetic",
    order=81,
    facts_decide=False,
    explains=("pcie-p2p-unusable",),
    tags=("host",),
    doc="""
## What it finds
PCIe bridges above a GPU with ACS redirection on, on bare metal.

## Why it matters
GPU-to-GPU copies lose bandwidth or hang.

## Not raised when
A virtual machine, one GPU only, or no bridge redirects (SrcValid+ alone sends nothing elsewhere).

## How to confirm
`lspci -vvv`: ReqRedir+ in ACSCtl of the bridges.

## Fix
Turn ACS off in the firmware, or clear it on the bridges at boot.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
""",
)
FIXES = (
    Fix(text="Turn ACS off in the firmware settings, or clear ACSCtl of the bridges with setpci at boot.", root=True),
)


def unheard(machine: Snapshot) -> bool:
    """Where every ACSCtl of a text sends requests and answers straight on."""
    return machine.symptom("acs-redirects-nothing-told") is not None and machine.symptom("acs-enabled") is None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for the bridges that redirect."""
    bridges = [d for d in machine.pci or () if d.acs_redirect]
    if bridges and len(machine.gpus or ()) > 1 and not machine.host.virtual_machine:
        yield Finding(
            summary=f"ACS redirects on {len(bridges)} PCIe bridge(s): GPU-to-GPU copies go through the root complex.",
            subject=Subject(kind="pci", id=bridges[0].key),
            evidence=evidence(machine, [f"pci[{d.key}].acs_redirect" for d in bridges[:8]]),
            fixes=FIXES,
        )


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """Nothing where the bridges above the GPUs are told: one that redirects above a disk or a switch is no cause."""
    if any(d.acs_redirect is not None for d in machine.pci or ()):
        return
    yield Finding(
        summary=RULE.title,
        subject=Subject(kind="pci"),
        evidence=(Evidence(text=symptom.text, source=symptom.source),),
        fixes=FIXES,
    )
