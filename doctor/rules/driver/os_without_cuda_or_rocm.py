"""The operating system has neither CUDA nor ROCm: macOS."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.macos import HOLD, is_mac

if TYPE_CHECKING:
    from doctor.facts.snapshot import Symptom
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="os-without-cuda-or-rocm",
    severity=Severity.ERROR,
    title="This operating system has neither CUDA nor ROCm.",
    needs=({"os.id"},),
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    proven="synthetic",
    order=0,
    tags=("driver",),
    doc="""## What it finds
macOS. NVIDIA's last CUDA for it is 10.2 (2019), ROCm never was for it, and no build of torch for it has either.

## Why it matters
A program that asks for the device `cuda` ends with "Torch not compiled with CUDA enabled", and no other wheel, driver
or library cures that.

## Not raised when
The system is another or not known, or the text shows a GPU of AMD or NVIDIA, its driver or a ROCm: then another machine
is meant than the Mac at which somebody sits. It is a remark where nothing in the text asks for CUDA or ROCm (a warning
or a caught exception, after which the program goes on, asks for nothing), and a
warning where nothing but a sentence does, or the program was told to run on Metal.

## How to confirm
`uname -s` prints Darwin; `python3 -c "import torch; print(torch.backends.mps.is_available())"`

## Fix
On Apple silicon use the device `mps`, elsewhere `cpu`; for CUDA or ROCm run the program on a Linux machine with a GPU
of NVIDIA or AMD.

## Fix safety
Nothing is installed. What has no kernel for `mps` falls back to the CPU with PYTORCH_ENABLE_MPS_FALLBACK=1.

## References
https://docs.nvidia.com/cuda/archive/10.2/cuda-toolkit-release-notes/index.html
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
https://docs.pytorch.org/docs/stable/notes/mps.html
""",
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Loud where an error text asks for CUDA or ROCm."""
    if not is_mac(machine):
        return
    asks = [symptom.key for symptom in machine.symptoms if _asks(symptom)]
    yield Finding(
        summary="macOS has neither CUDA nor ROCm: torch runs there on the CPU and, on Apple silicon, on Metal (mps).",
        severity=_loud(asks, machine),
        subject=Subject(kind="os", id="macos"),
        evidence=evidence(machine, ("os.id", "os.name")),
        fixes=(
            Fix(
                text='Take the device "mps" on Apple silicon, else "cpu"; for CUDA or ROCm, run it on a Linux machine '
                "with a GPU of NVIDIA or AMD.",
                where="environment",
            ),
        ),
        verify=("python3", "-c", "import torch; print(torch.backends.mps.is_available())"),
    )


def _loud(asks: Sequence[str], machine: Snapshot) -> Severity:
    """An error where a program asks; that somebody has no NVIDIA GPU there may be no complaint. Where Metal was asked
    for, the machine is what it was taken for: a line of the program asks for CUDA all the same."""
    from doctor.knowledge.hearsay import is_told

    if not asks:
        return Severity.INFO
    metal = machine.symptom("metal-device-asked-told") is not None
    return Severity.WARNING if metal or all(is_told(key) for key in asks) else RULE.severity


_LISTED = (
    *("is cuda available:", "cuda available:", "cuda_available:", "cuda used to build pytorch:"),
    *("cuda runtime version:", "cudnn version:", "torch.cuda.is_available()", ">>> torch.cuda.is_available()"),
)
"""A row of a listing or a question, which says that of every Mac."""
_NOTICE = Lazy(
    r"\bwarning\b|\w(?<!Error)Warning\b|\bnotice\b|\bcaught\b|\binfo\b|proceeding without|disabl(?:ed|ing)",
    re.IGNORECASE,
)
"""The line reports what it goes on without, as programs do on every Mac."""
_EXCEPTION = Lazy(r"(?:Error|Exception|Failure)\b")
_OPTIONAL = ("bitsandbytes-", "triton-", "xformers-")
"""Signatures of packages that print what they lack and go on: only an exception of theirs ends the program."""
_NONE_THERE = "no-nvidia-gpu-told"
"""What somebody says of the machine, and no error."""


def _asks(symptom: Symptom) -> bool:
    """Whether the error is one of CUDA's or ROCm's stack."""
    from doctor.knowledge.symptoms import shared

    signature, text = shared().signatures.get(symptom.key), symptom.text.lower()
    if signature is None or symptom.key == _NONE_THERE or "mps" in text or text.lstrip("- ").startswith(_LISTED):
        return False
    if _NOTICE.search(symptom.text) or (symptom.key.startswith(_OPTIONAL) and not _EXCEPTION.search(symptom.text)):
        return False
    return any(cause.rule not in HOLD for cause in signature.points_to)
