"""The IOMMU translates where the GPU stack wants pass-through."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules import presence

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="iommu-not-passthrough",
    severity=Severity.WARNING,
    title="The IOMMU translates where the GPU stack wants pass-through.",
    needs=[
        {"host.iommu"},
        {"kernel_log.events", "gpus"},
        {"kernel.cmdline", "gpus", "symptom:collective-hangs"},
        {"kernel.cmdline", "symptom:peer-copy-differs-told"},
    ],
    proven="synthetic",
    order=81,
    facts_decide=False,
    explains=("pcie-p2p-unusable",),
    tags=("host",),
    doc="""
## What it finds
An IOMMU that translates on a bare-metal machine with several GPUs, or one that refused a GPU's accesses (kernel log).

## Why it matters
Copies between GPUs hang, fault or are slow.

## Not raised when
One GPU only, a virtual machine, or the IOMMU is off or passes through, and the kernel log tells of no refused access.
RCCL prints its line about iommu=pt in a guest as well, whose host translates: there it raises nothing.

## How to confirm
`cat /proc/cmdline` and /sys/kernel/iommu_groups/0/type.

## Fix
Boot with iommu=pt.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
""",
)
FIXES = (
    Fix(text="Add iommu=pt to the kernel command line and reboot.", root=True, reboot=True),
    Fix(text="Update the kernel driver and the firmware of the board: the GPU asked for memory that is not its own."),
)


_COPIES_FAIL = ("collective-hangs", "output-garbage", "p2p-slow-told", "peer-copy-differs-told")


def excludes(machine: Snapshot) -> bool:
    """A guest's kernel command line is not where its GPU's accesses are translated: no line that asks for it counts."""
    return machine.host.virtual_machine is True or machine.symptom("gpu-of-virtual-guest-told") is not None


def unheard(machine: Snapshot) -> bool:
    """Where the kernel's command line or its log shows that devices pass through already, or its settings were tried in
    vain; where Omniverse has measured copies between the GPUs with the IOMMU on, and nobody tells of a hang, of garbage
    or of slow copies."""
    if machine.symptom("omniverse-measured-peer-copies-told") and machine.symptom(*_COPIES_FAIL) is None:
        return True
    asked = re.search(r"\biommu=pt\b|\biommu\.passthrough=1\b", machine.kernel.cmdline or "") is not None
    return (
        asked
        or machine.host.iommu in ("passthrough", "off")
        or machine.symptom("iommu-passes-through-told") is not None
        or (machine.symptom("iommu-settings-in-vain-told") is not None and not machine.symptom("iommu-change-helps"))
    )


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding where the IOMMU translates, or where it refused a GPU's accesses."""
    faults = [e for e in machine.kernel_log.events or () if e.code == "iommu-fault" and e.device]
    source = machine.source("kernel_log.events")
    log = tuple(Evidence(text=f"{presence.times(e)}{e.text}", source=source) for e in faults[:3])
    hangs = machine.symptom(*_COPIES_FAIL)
    many = len(machine.gpus or ()) > 1 or (hangs is not None and _several(machine))
    translates = machine.host.iommu == "translated" and many and not machine.host.virtual_machine
    if faults and machine.host.iommu != "off":
        yield Finding(
            severity=Severity.WARNING,
            summary=f"The IOMMU refused accesses of GPU {faults[0].device}"
            + (f" and {len(faults) - 1} more." if len(faults) > 1 else "."),
            subject=Subject(kind="host", id="-"),
            evidence=(*log, *evidence(machine, ["host.iommu", "kernel.cmdline"])),
            fixes=FIXES if machine.host.iommu != "passthrough" else FIXES[1:],
        )
    elif machine.host.iommu is None and (_told(machine) or _on_by_itself(machine)):
        yield Finding(
            severity=Severity.WARNING,
            basis="both",
            # CUDA's guide: no peer copies over PCIe on a bare machine whose IOMMU translates.
            explains=RULE.explains if _told(machine) or machine.symptom("peer-copy-differs-told") else (),
            summary="Work on several GPUs goes wrong, and the kernel was started without iommu=pt.",
            subject=Subject(kind="host", id="-"),
            evidence=evidence(machine, ["kernel.cmdline", "symptom:collective-hangs"]),
            fixes=FIXES[:1],
            source="https://github.com/ROCm/rccl/issues/1129",
        )
    elif translates:
        yield Finding(
            severity=Severity.WARNING,
            basis="both" if hangs else "facts",
            suspect=True,
            summary="The IOMMU translates; iommu=pt is what copies between GPUs want.",
            subject=Subject(kind="host", id="-"),
            evidence=evidence(machine, ["host.iommu", "kernel.cmdline"]),
            fixes=FIXES[:1],
        )


def _told(machine: Snapshot) -> bool:
    """On AMD's GPUs silence is enough: RCCL asks for iommu=pt; on others somebody turned the translation on."""
    cmdline = machine.kernel.cmdline or ""
    if not cmdline or machine.host.virtual_machine or not machine.symptom("collective-hangs"):
        return False
    turned_on = re.search(r"\b(?:amd|intel)_iommu=on\b", cmdline) is not None and "iommu=pt" not in cmdline
    return (turned_on and _several(machine)) or (bool(machine.of_vendor("amd")) and "iommu=" not in cmdline)


def _on_by_itself(machine: Snapshot) -> bool:
    """Linux turns AMD's IOMMU on where nobody says otherwise, and Intel's not: beside a hang it may be at fault, or the
    copies themselves."""
    cmdline = machine.kernel.cmdline or ""
    if not cmdline or "iommu=" in cmdline or machine.host.virtual_machine:
        return False
    if not machine.symptom("collective-hangs", "peer-copy-differs-told"):
        return False
    amd = _AMD_CPU.search(machine.host.cpu or "") is not None or machine.symptom("amd-iommu-listed") is not None
    return _several(machine) and amd


_AMD_CPU = Lazy(r"\bAMD\b|\bEPYC\b|\bRyzen\b|\bThreadripper\b", re.IGNORECASE)


def _several(machine: Snapshot) -> bool:
    return len(machine.gpus or ()) > 1 or machine.symptom("several-gpus-told") is not None
