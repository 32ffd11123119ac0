from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import firmware, step, way
from doctor.rules.lib.arguments import Knowledge, Profile

if TYPE_CHECKING:
    from doctor.facts.snapshot import Symptom

RULE = Rule(
    id="pcie-acs-enabled",
    severity=Severity.WARNING,
    scope=Scope.FIRMWARE,
    action=Action.RECONFIGURE,
    title="PCIe ACS sends GPU-to-GPU copies through the root complex.",
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
Disable ACS in the firmware, or clear it on the bridges at boot.

## Fix safety
Root, or a reboot. Without ACS, GPUs of virtual machines are not kept apart.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
""",
)
REMEDIES = (
    firmware(
        "Disable ACS (PCIe Access Control Services) in the firmware settings.",
        "Look under PCIe or virtualization; keep it on where GPUs are passed to virtual machines.",
        undo="Enable ACS again.",
    ),
    way(
        "Clear ACS on the PCIe bridges until the next boot.",
        Scope.HOST,
        step(
            "For each bridge that `lspci -vvv` shows with ACSCtl SrcValid+ (BRIDGE: its address).",
            "setpci",
            "-v",
            "-s",
            "BRIDGE",
            "ECAP_ACS+0x6.w=0000",
        ),
        root=True,
        undo=(step("Reboot."),),
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    if machine.gpus is not None and len(machine.gpus) < 2:
        return
    bridges = [d for d in machine.pci or () if d.acs_redirect]
    if bridges and machine.gpus and not machine.host.virtual_machine:
        yield Finding(
            summary=f"GPU-to-GPU copies go through the root complex: ACS redirects on {len(bridges)} PCIe bridge(s).",
            subject=Subject(kind="pci", id=bridges[0].key),
            evidence=evidence(machine, [f"pci[{d.key}].acs_redirect" for d in bridges[:8]]),
            remedies=REMEDIES,
        )


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """Nothing if the bridges above the GPUs are known: one that redirects above a disk or a switch is not the cause."""
    if any(d.acs_redirect is not None for d in machine.pci or ()):
        return
    yield Finding(
        summary=RULE.title,
        subject=Subject(kind="pci"),
        evidence=(Evidence(text=symptom.text, source=symptom.source),),
        remedies=REMEDIES,
    )
