"""The GPU's slot or bridge does not support PCIe atomics."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Rule, Scope, Severity, Subject
from doctor.rules.lib import presence
from doctor.rules.lib.advice import by_hand
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="pcie-atomics-missing",
    severity=Severity.ERROR,
    scope=Scope.HARDWARE,
    action=Action.INFORM,
    layer=Layer.GPU,
    title="The GPU's slot or bridge does not support PCIe atomics.",
    needs=[{"kernel_log.events"}],
    proven="synthetic",
    order=61,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "amdgpu-gpu-hang"),
    facts_decide=False,
    tags=("amd", "host"),
    doc="""
## What it finds
A GPU that the compute driver skipped because its slot or bridge lacks PCIe atomics, by the kernel log or an error
message.

## Why it matters
rocminfo shows no agent for it.

## Not raised when
The kernel log is unreadable or shows no such GPU and no error message shows it. An integrated GPU was skipped and
another GPU added. Where ROCm lists the GPU, it has what it needs.

## How to confirm
Look for 'PCI rejects atomics' in the kernel log.

## Fix
Use a slot of the CPU itself; gfx9 and later work without atomics in most cases.

## Fix safety
Changes the host: do it when no job runs on the node.

## References
https://github.com/ROCm/ROCm/issues/1214
https://rocm.docs.amd.com/en/latest/conceptual/pcie-atomics.html
""",
)
REMEDIES = (
    by_hand(
        "Move the GPU to a PCIe slot that is wired to the CPU, not to the chipset.",
        Scope.HARDWARE,
        "The board's manual names these slots; the first x16 slot is nearly always one.",
        "Avoid risers and external enclosures: their bridges may not pass atomics on.",
        undo="Move it back.",
        vendor="amd",
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each GPU that the compute driver left out for it."""
    source = machine.source("kernel_log.events")
    for event in machine.kernel_log.events or ():
        if event.code == "kfd-no-atomics":
            # The GPUs that compute are NVIDIA's: an AMD card beside them drives monitors, which needs no KFD.
            display = presence.work_is_of(machine, "nvidia")
            device = event.device or "-"
            yield Finding(
                summary=f"ROCm cannot use {'GPU ' + device if event.device else 'a GPU'}: its slot lacks PCIe atomics.",
                severity=Severity.INFO if display else RULE.severity,
                subject=Subject(kind="gpu", id=device),
                evidence=(Evidence(text=f"{presence.times(event)}{event.text}", source=source),),
                remedies=REMEDIES,
            )
