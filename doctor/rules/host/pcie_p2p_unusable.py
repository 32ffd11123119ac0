from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.advice import set_to
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="pcie-p2p-unusable",
    severity=Severity.WARNING,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    title="GPU-to-GPU copies over PCIe hang or corrupt data.",
    needs=[{"gpus", "symptom:collective-hangs"}],
    facts_decide=False,
    proven="synthetic",
    order=62,
    tags=("host",),
    doc="""
## What it finds
Texts of hanging, refused or corrupt copies between GPUs.

## Why it matters
On several GPUs, collectives hang and models give wrong output; on one GPU the output is right.

## Not raised when
- One GPU only, or GPUs that NVLink or xGMI joins.
- Nothing hangs or gives wrong values.
- Collectives went through before one hangs: after an epoch, at saving, at a high sequence number. Another stage of
  ZeRO works.
- The line about wrong values is about compiled code, and the text does not say that it works without peer copies.

## How to confirm
Run once with NCCL_P2P_DISABLE=1.

## Fix
Disable peer copies, or fix the IOMMU and ACS settings.

## Fix safety
Slower, but safe.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
""",
)
_JOINED = Lazy(r"SXM|NVL\d|HBM3|\b[BH][123]00\b|MI250|MI3\d\d", re.IGNORECASE)
"""Products whose boards join them by NVLink or xGMI."""
_COMPILED = Lazy(
    r"\binductor\b|\btorch\.compile\b|\bcompiled (?:with|by|model|code|function)\b|\bjit(?:ted)?\b|\btriton\b|\bptxas\b"
    r"|\bautotun\w*|\beager\b|\bkernel (?:produces?|gives?|returns?|computes?|writes?|outputs?)\b",
    re.IGNORECASE,
)
"""Wrong values from compiled code or from one kernel: the compiler or the kernel makes them."""


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Slower, and proves the cause."""
    return (set_to(machine, "Run without peer-to-peer copies; they then go through the host, which is slower.",
                   NCCL_P2P_DISABLE="1"),)  # fmt: skip


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding where several GPUs of one vendor have no link but PCIe, and work on them hangs or answers wrongly."""
    gpus = next((g for g in (machine.of_vendor("nvidia"), machine.of_vendor("amd")) if len(g) > 1), ())
    shown = machine.symptom("collective-hangs")
    if not gpus or shown is None or any(g.links for g in gpus) or _JOINED.search(gpus[0].name or ""):
        return
    if _COMPILED.search(shown.text):
        return
    yield Finding(
        severity=Severity.INFO,
        suspect=1,
        basis="both",
        summary=f"Work on {len(gpus)} GPUs joined by PCIe hangs; copies between them may be the cause.",
        subject=Subject(kind="gpu", id="-"),
        evidence=evidence(machine, (f"symptom:{shown.key}", f"gpus[{gpus[0].key}].name", "gpus")),
        remedies=advice(machine, kb),
    )
