from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
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
    needs=[{"kernel_log.events"}, {"host.cpu", "gpus[].arch"}],
    proven="synthetic",
    order=61,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "amdgpu-gpu-hang"),
    facts_decide=False,
    tags=("amd", "host"),
    doc="""
## What it finds
A GPU that the compute driver skipped because its slot or bridge lacks PCIe atomics, by the kernel log or an error
message. A gfx7 or gfx8 GPU, which needs them, in a machine whose CPU has none.

## Why it matters
rocminfo shows no agent for it.

## Not raised when
The kernel log is unreadable or shows no such GPU and no error message shows it; the CPU is not known, or one with
atomics (Intel from Haswell on, AMD from Zen on). An integrated GPU was skipped and another GPU added. Where ROCm
lists the GPU, it has what it needs.

## How to confirm
Look for 'PCI rejects atomics' in the kernel log.

## Fix
Use a slot of the CPU itself; gfx9 and later work without atomics in most cases.

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


_BEFORE_ATOMICS = Lazy(
    r"i[357][- ](?:[23]\d{3}|[5-9]\d\d)[A-Z]{0,2}\b|\bE[357]-\d{4}[A-Z]?(?: ?v2)?(?! ?v\d)\b"
    r"|\b[XELW][35]\d{3}\b|\bCore\W{1,4}(?:TM\W{1,3})?2\b|\bFX.{0,8}-\d{4}\b|\bPhenom\b|\bAthlon.{0,6} II\b|\bOpteron\b"
    r"|\bA(?:4|6|8|10|12)-\d{4}",
    re.IGNORECASE,
)
"""CPUs whose root ports complete no AtomicOps: Intel before Haswell, AMD before Zen."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    yield from _by_cpu(machine)
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


def _by_cpu(machine: Snapshot) -> Iterator[Finding]:
    """Suspected where the kernel log does not say it: a GPU that needs atomics, and a CPU that has none."""
    cpu = machine.host.cpu or ""
    needing = [g for g in machine.of_vendor("amd") if re.match(r"gfx[78]", g.arch or "")]
    listed = {n.gfx for n in machine.kfd.nodes or () if n.simd_count}
    if not needing or listed & {g.arch for g in needing} or not _BEFORE_ATOMICS.search(cpu):
        return
    if any(event.code == "kfd-no-atomics" for event in machine.kernel_log.events or ()):
        return
    unseen = machine.symptom("hip-no-device", "hip-no-device-code")
    yield Finding(
        summary=f"{needing[0].arch} needs PCIe atomics for ROCm, but {cpu[:60]} has none.",
        severity=Severity.WARNING if unseen else Severity.INFO,
        suspect=0 if unseen else 3,
        subject=Subject(kind="gpu", id=needing[0].key),
        evidence=evidence(machine, ("host.cpu", f"gpus[{needing[0].key}].arch")),
        remedies=REMEDIES,
        ask="`dmesg | grep kfd`",
    )
