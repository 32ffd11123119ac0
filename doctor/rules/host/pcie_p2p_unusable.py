"""GPU-to-GPU copies over PCIe hang or corrupt data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="pcie-p2p-unusable",
    severity=Severity.WARNING,
    title="GPU-to-GPU copies over PCIe hang or corrupt data.",
    needs=[{"gpus", "symptom:output-garbage"}, {"gpus", "symptom:collective-hangs"}],
    facts_decide=False,
    proven="synthetic",
    order=62,
    tags=("host",),
    doc="""
## What it finds
Texts of hanging, refused or corrupt copies between GPUs.

## Why it matters
Collectives hang and models give wrong output on several GPUs, and right output on one.

## Not raised when
- One GPU only, or GPUs that NVLink or xGMI joins.
- Nothing hangs or answers wrongly.
- Collectives went through before one hangs: after an epoch, at saving, at a high sequence number. Another stage of
  ZeRO works.
- The line that tells of wrong values tells of compiled code, and nobody found that it works without peer copies.

## How to confirm
Run once with NCCL_P2P_DISABLE=1.

## Fix
Turn peer copies off, or mend the IOMMU and ACS settings under them.

## Fix safety
Slower, and safe.

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
"""Wrong values told of compiled code, or of one kernel: the compiler or the kernel makes them."""
FIXES = (Fix(text="Try without peer-to-peer copies.", command=("env", "NCCL_P2P_DISABLE=1", "python3")),)


_ASKS = "GGML_CUDA_P2P"
"""llama.cpp copies between GPUs directly where it is set, to whatever (ggml/src/ggml-cuda/ggml-cuda.cu, getenv)."""
_NOT_ASKED = Fix(
    text=f"Start without {_ASKS}: 0 turns peer copies on as well.",
    command=("env", "-u", _ASKS, "COMMAND"),
    where="environment",
)
_OFF_HELPS = ("p2p-off-works", "peer-copies-off-helps")
_NONE_TO_USE = ("hip-peer-access-refused",)
_WENT_ON = ("collectives-went-on-told", "other-zero-stage-works-told")
_FELT = (
    *("collective-hangs", "stands-still-told", "hang-word-told"),
    *("output-garbage", "results-not-right-told", "values-wrong-said", "values-are-nan"),
)


def unheard(machine: Snapshot) -> bool:
    """Where collectives went through first, or another stage of ZeRO works on the same GPUs; where peer copies are
    turned off already, and nothing hangs or answers wrongly. Where all GPUs are GeForce cards, the driver says that
    they have none, and nothing hangs: so NVIDIA made them."""
    if machine.symptom(*_OFF_HELPS) is not None:
        return False
    cards = machine.of_vendor("nvidia")
    without = bool(cards) and all("GeForce" in (gpu.name or "") for gpu in cards) and machine.symptom(*_NONE_TO_USE)
    if without and machine.symptom(*_FELT) is None:
        return True
    off = (machine.environment or {}).get("NCCL_P2P_DISABLE") == "1"
    return machine.symptom(*_WENT_ON) is not None or (off and machine.symptom(*_FELT) is None)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding where several GPUs of one vendor have no link but PCIe, and work on them hangs or answers wrongly."""
    gpus = next((g for g in (machine.of_vendor("nvidia"), machine.of_vendor("amd")) if len(g) > 1), ())
    shown = machine.symptom("output-garbage", "collective-hangs")
    if not gpus or shown is None or any(g.links for g in gpus) or _JOINED.search(gpus[0].name or ""):
        return
    garbage = shown.key == "output-garbage"
    without = machine.symptom(*_OFF_HELPS)  # who tried says that the copies are at fault
    asked = garbage and _ASKS in (machine.environment or {})
    went_on = not garbage and machine.symptom(*_WENT_ON) is not None
    if without is None and (went_on or _COMPILED.search(shown.text)):
        return
    yield Finding(
        severity=Severity.WARNING if garbage or without else Severity.INFO,
        suspect=without is None and not asked,
        basis="both",
        summary=f"Work on {len(gpus)} GPUs joined by PCIe {'answers wrongly' if garbage else 'hangs'}: copies between"
        " them may be at fault.",
        subject=Subject(kind="gpu", id="-"),
        evidence=evidence(
            machine, (f"symptom:{shown.key}", f"gpus[{gpus[0].key}].name", f"environment[{_ASKS}]" if asked else "gpus")
        ),
        fixes=(_NOT_ASKED, *FIXES) if asked else FIXES,
    )
