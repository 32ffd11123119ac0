"""The slot or bridge gives the GPU no PCIe atomics."""

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
    id="pcie-atomics-missing",
    severity=Severity.ERROR,
    title="The slot or bridge gives the GPU no PCIe atomics.",
    needs=[{"kernel_log.events"}, {"host.cpu", "gpus[].arch"}],
    proven="synthetic",
    order=61,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "amdgpu-gpu-hang"),
    facts_decide=False,
    tags=("amd", "host"),
    doc="""
## What it finds
A GPU that the compute driver left out because its slot or bridge has no PCIe atomics, by the kernel log or an error
text. A gfx7 or gfx8 GPU, which needs them, in a machine whose CPU has none.

## Why it matters
rocminfo shows no agent for it.

## Not raised when
The kernel log can't be read, or tells of no such GPU and no error text was seen; the CPU is not known, or one with
atomics (Intel from Haswell on, AMD from Zen on). The graphics of a processor was left out and another GPU added. Where
ROCm lists the GPU, it has what it needs.

## How to confirm
Look for 'PCI rejects atomics' in the kernel log.

## Fix
Use a slot of the CPU itself; gfx9 and later work without atomics in most cases.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://github.com/ROCm/ROCm/issues/1214
https://rocm.docs.amd.com/en/latest/conceptual/pcie-atomics.html
""",
)
FIXES = (Fix(text="Move the GPU to a slot that is wired to the CPU."),)


_BEFORE_ATOMICS = Lazy(
    r"i[357][- ](?:[23]\d{3}|[5-9]\d\d)[A-Z]{0,2}\b|\bE[357]-\d{4}[A-Z]?(?: ?v2)?(?! ?v\d)\b"
    r"|\b[XELW][35]\d{3}\b|\bCore\W{1,4}(?:TM\W{1,3})?2\b|\bFX.{0,8}-\d{4}\b|\bPhenom\b|\bAthlon.{0,6} II\b|\bOpteron\b"
    r"|\bA(?:4|6|8|10|12)-\d{4}",
    re.IGNORECASE,
)
"""CPUs whose root ports complete no AtomicOps: Intel before Haswell, AMD before Zen."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each GPU that the compute driver left out for it."""
    yield from _by_cpu(machine)
    source = machine.source("kernel_log.events")
    # The GPUs that compute are NVIDIA's: an AMD card beside them drives monitors, which needs no KFD.
    display = presence.work_is_of(machine, "nvidia")
    for event in machine.kernel_log.events or ():
        if event.code == "kfd-no-atomics" and not _beside_a_card(machine, event.text):
            device = event.device or "-"
            yield Finding(
                summary=f"KFD left out {'GPU ' + device if event.device else 'a GPU'}: its slot gives no PCIe atomics.",
                severity=Severity.INFO if display else RULE.severity,
                subject=Subject(kind="gpu", id=device),
                evidence=(Evidence(text=f"{presence.times(event)}{event.text}", source=source),),
                fixes=FIXES,
            )


_IN_PROCESSOR = Lazy(r"skipped device 1002:1[0-9a-f]{3}\b", re.IGNORECASE)
"""AMD numbers the graphics of its processors from 1000 to 1fff, and no card (pci.ids, vendor 1002)."""


def _beside_a_card(machine: Snapshot, line: str) -> bool:
    """Whether what was left out is in the processor, and the driver took another GPU: no slot is at fault."""
    return bool(_IN_PROCESSOR.search(line)) and machine.symptom("kfd-takes-gpu-told") is not None


def _by_cpu(machine: Snapshot) -> Iterator[Finding]:
    """Suspected where the kernel log does not say it: a GPU that needs atomics, and a CPU that has none."""
    cpu = machine.host.cpu or ""
    needing = [g for g in machine.of_vendor("amd") if re.match(r"gfx[78]", g.arch or "")]
    listed = {n.gfx for n in machine.kfd.nodes or () if n.simd_count}
    if not needing or listed & {g.arch for g in needing} or not _BEFORE_ATOMICS.search(cpu):
        return
    if any(event.code == "kfd-no-atomics" for event in machine.kernel_log.events or ()):
        return
    unseen = machine.symptom("rocm-no-agent-told", "rocminfo-shows-no-gpu", "hip-no-device", "gpu-not-seen-said")
    yield Finding(
        summary=f"{needing[0].arch} needs PCIe atomics for ROCm, and {cpu[:60]} has none.",
        severity=Severity.WARNING if unseen else Severity.INFO,
        suspect=0 if unseen else 3,
        subject=Subject(kind="gpu", id=needing[0].key),
        evidence=evidence(machine, ("host.cpu", f"gpus[{needing[0].key}].arch")),
        fixes=FIXES,
        ask="`dmesg | grep kfd`",
    )
