from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Expect, Finding, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import presence
from doctor.rules.lib.advice import STOPS_NODE, by_hand
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.boot import kernel_argument

RULE = Rule(
    id="iommu-not-passthrough",
    severity=Severity.WARNING,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    title="The IOMMU is not in pass-through mode.",
    needs=[
        {"host.iommu"},
        {"kernel_log.events", "gpus"},
        {"kernel.cmdline", "gpus", "symptom:collective-hangs"},
    ],
    proven="synthetic",
    order=81,
    facts_decide=False,
    explains=("pcie-p2p-unusable",),
    tags=("host",),
    doc="""
## What it finds
An IOMMU that translates on a bare-metal machine with several GPUs, or one that blocked a GPU's accesses (kernel log).

## Why it matters
Copies between GPUs hang, fault or are slow.

## Not raised when
One GPU only, a virtual machine, or the IOMMU is off or passes through, and the kernel log shows no blocked access.
RCCL also prints its line about iommu=pt in a guest, where the host translates: that does not count.

## How to confirm
`cat /proc/cmdline` and /sys/kernel/iommu_groups/0/type.

## Fix
Boot with iommu=pt.

## Fix safety
Root, reboot: every job on the node stops. Undo: remove the argument and reboot.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
""",
)


def advice(machine: Snapshot, kb: Knowledge | None = None) -> tuple[Remedy, ...]:
    """Pass-through, which a virtual machine's guest cannot set for its host."""
    return (_pass_through(machine),)


def _pass_through(machine: Snapshot) -> Remedy:
    added = kernel_argument(machine, "iommu=pt", "Add iommu=pt to the kernel command line, then reboot.")
    needs = (Expect(fact="host.virtual_machine", equals=False),)
    return added.model_copy(update={"needs": needs, "effect": (Expect(fact="host.iommu", equals="passthrough"),)})


_UPDATE = by_hand(
    "Update the GPU's kernel driver and the board's firmware: the GPU used memory that is not its own.",
    Scope.FIRMWARE,
    "If the same GPU faults again after both, have it replaced.",
    undo="Install the old driver again; firmware often cannot be downgraded.",
    root=True,
    reboot=True,
    risk=STOPS_NODE,
)


_COPIES_FAIL = ("collective-hangs",)


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
            summary=f"The IOMMU blocked memory accesses of GPU {faults[0].device}"
            + (f" and {len(faults) - 1} more." if len(faults) > 1 else "."),
            subject=Subject(kind="host", id="-"),
            evidence=(*log, *evidence(machine, ["host.iommu", "kernel.cmdline"])),
            remedies=(_pass_through(machine), _UPDATE),
        )
    elif machine.host.iommu is None and (_told(machine) or _on_by_itself(machine)):
        yield Finding(
            severity=Severity.WARNING,
            basis="both",
            # CUDA's guide: no peer copies over PCIe on a bare machine whose IOMMU translates.
            explains=RULE.explains if _told(machine) else (),
            summary="Work on several GPUs fails, and the kernel was started without iommu=pt.",
            subject=Subject(kind="host", id="-"),
            evidence=evidence(machine, ["kernel.cmdline", "symptom:collective-hangs"]),
            remedies=advice(machine),
            source="https://github.com/ROCm/rccl/issues/1129",
        )
    elif translates:
        yield Finding(
            severity=Severity.WARNING,
            basis="both" if hangs else "facts",
            suspect=True,
            summary="The IOMMU is not in pass-through mode; copies between GPUs may fail or be slow.",
            subject=Subject(kind="host", id="-"),
            evidence=evidence(machine, ["host.iommu", "kernel.cmdline"]),
            remedies=advice(machine),
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
    if not machine.symptom("collective-hangs"):
        return False
    amd = _AMD_CPU.search(machine.host.cpu or "") is not None or machine.symptom("amd-iommu-listed") is not None
    return _several(machine) and amd


_AMD_CPU = Lazy(r"\bAMD\b|\bEPYC\b|\bRyzen\b|\bThreadripper\b", re.IGNORECASE)


def _several(machine: Snapshot) -> bool:
    return len(machine.gpus or ()) > 1
