"""vLLM was built for another torch, CUDA, ROCm or GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules.python_packages import package, pip_install, release, shown
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="vllm-build-mismatch",
    severity=Severity.ERROR,
    title="vLLM was built for another torch, CUDA, ROCm or GPU.",
    needs=({"packages", "torch.version"},),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A vLLM whose compiled part does not fit the installed torch: the release pins another torch, or its extension can't be
loaded.

## Why it matters
vLLM stops at import, or takes the machine for one without GPUs.

## Not raised when
vLLM was built from source, its pin is not known, or torch is the pinned one.

## How to confirm
`python -c 'import vllm._C'` and `python -m pip check`

## Fix
Install vLLM and torch together, from the index of this CUDA or ROCm.

## Fix safety
No reboot. Changes packages of this environment only.

## References
https://docs.vllm.ai/en/latest/getting_started/installation/
""",
)

FIXES = (
    Fix(
        text="Install vLLM into a fresh environment, with the torch that it pins and for this CUDA or ROCm.",
        where="environment",
    ),
)

_PINS = (("0.33.0", "0.33.0", "2.14.0"), ("0.27.1", "0.32.0", "2.13.0"), ("0.20.2", "0.26.0", "2.11.0"))
"""First and last release -> the torch that each pins (published metadata of vLLM, 2026-11-20)."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Plain releases whose pin is known."""
    vllm, torch = package(machine, "vllm"), release(machine.torch.version)
    held = release(vllm.version) if vllm else None
    pin = next((p for low, high, p in _PINS if held and Dotted(held) >= low and Dotted(held) <= high), None)
    if vllm is None or torch is None or pin is None or machine.torch.build != "cuda":
        return
    if Dotted(torch).series() != Dotted(pin).series():
        yield Finding(
            summary=f"vLLM {held} is built for torch {pin}; torch {torch} is installed.",
            severity=Severity.WARNING,
            subject=Subject(kind="package", id="vllm"),
            evidence=(*evidence(machine, ("torch.version",)), *shown(machine, vllm)),
            fixes=(pip_install(machine, "Install both together.", f"vllm=={held}", f"torch=={pin}"),),
        )
