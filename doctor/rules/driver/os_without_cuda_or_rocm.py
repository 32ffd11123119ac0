from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import by_hand
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.error_texts import failing

RULE = Rule(
    id="os-without-cuda-or-rocm",
    severity=Severity.ERROR,
    scope=Scope.HOST,
    action=Action.INFORM,
    layer=Layer.DRIVER,
    title="This operating system does not support CUDA or ROCm.",
    needs=({"os.id"},),
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    proven="synthetic",
    order=0,
    tags=("driver",),
    doc="""## What it finds
macOS. NVIDIA's last CUDA for macOS is 10.2 (2019), ROCm never supported it, and torch for macOS has neither.

## Why it matters
A program that uses the device `cuda` fails with "Torch not compiled with CUDA enabled". Another wheel, driver or
library does not fix that.

## Not raised when
The system is another or not known. Or the text shows an AMD or NVIDIA GPU, its driver or ROCm: then it is about
another machine than the user's Mac. It is information if nothing in the text needs CUDA or ROCm; a warning or a
caught exception, after which the program continues, does not. It is a warning if only a sentence mentions CUDA or
ROCm, or the program runs on Metal.

## How to confirm
`uname -s` prints Darwin; `python3 -c "import torch; print(torch.backends.mps.is_available())"`

## Fix
On Apple silicon, use the device `mps`, elsewhere `cpu`. For CUDA or ROCm, run the program on a Linux machine with an
NVIDIA or AMD GPU.

## Fix safety
Installs nothing. Operations without a kernel for `mps` fall back to the CPU with PYTORCH_ENABLE_MPS_FALLBACK=1.

## References
https://docs.nvidia.com/cuda/archive/10.2/cuda-toolkit-release-notes/index.html
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
https://docs.pytorch.org/docs/stable/notes/mps.html
""",
)


REMEDIES = (
    by_hand(
        'Use the device "mps" on Apple silicon and "cpu" on other Macs.',
        Scope.JOB,
        'Replace `.to("cuda")` with `.to("mps")` in the program, or pass its option for the device.',
        "CUDA and ROCm need a Linux machine with an NVIDIA or AMD GPU.",
        undo="Restore the old device.",
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Loud where an error text asks for CUDA or ROCm."""
    if machine.os.id != "macos":
        return
    yield Finding(
        summary="macOS does not support CUDA or ROCm; torch runs on the CPU or, on Apple silicon, Metal (mps).",
        severity=RULE.severity if failing(machine) else Severity.INFO,
        subject=Subject(kind="os", id="macos"),
        evidence=evidence(machine, ("os.id", "os.name")),
        remedies=REMEDIES,
        verify=("python3", "-c", "import torch; print(torch.backends.mps.is_available())"),
    )
