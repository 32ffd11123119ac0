"""nvidia_uvm is loaded but unusable; CUDA says unknown error (999)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="nvidia-uvm-stale-after-suspend",
    severity=Severity.ERROR,
    title="nvidia_uvm is loaded but unusable; CUDA says unknown error (999).",
    needs=(),
    proven="synthetic",
    order=14,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
CUDA's unknown error 999 where the driver itself answers; the usual reason is a suspend that nvidia_uvm did not survive.

## Why it matters
CUDA fails until the module is loaded anew; nvidia-smi shows nothing wrong.

## Not raised when
No error text of it was seen: facts of a running machine do not decide this one yet.

## How to confirm
Reload nvidia_uvm and try again.

## Fix
End all CUDA programs and reload nvidia_uvm; keep video memory over a suspend with
 NVreg_PreserveVideoMemoryAllocations=1.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://wiki.archlinux.org/title/NVIDIA/Tips_and_tricks
""",
)
FIXES = (
    Fix(
        text="End all CUDA programs, then unload nvidia_uvm.", command=("modprobe", "--remove", "nvidia_uvm"), root=True
    ),
    Fix(text="Load it again.", command=("modprobe", "nvidia_uvm"), root=True),
)


def excludes(machine: Snapshot) -> bool:
    """Where the module is not loaded: nothing of it can be stale (nvidia-uvm-missing). Nor where another container on
    the same kernel has its GPU."""
    return machine.nvidia_driver.uvm_loaded is False or machine.symptom("new-container-works-told") is not None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Raised from error texts only."""
    yield from ()
