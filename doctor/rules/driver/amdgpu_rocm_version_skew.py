"""Kernel driver and ROCm are outside each other's support window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules.amdgpu_release import release_of
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="amdgpu-rocm-version-skew",
    severity=Severity.ERROR,
    title="Kernel driver and ROCm are outside each other's support window.",
    needs=[
        {"amdgpu_driver.version", "rocm"},
        {"amdgpu_driver.release", "rocm"},
        {"amdgpu_driver.version", "torch.rocm"},
        {"amdgpu_driver.release", "torch.rocm"},
    ],
    facts_decide=False,
    proven="synthetic",
    order=17,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("amd", "driver"),
    doc="""
## What it finds
amdgpu and ROCm releases that AMD does not support together.

## Why it matters
The runtime asks for kernel interfaces that are not there: GPUs vanish or calls fail with an invalid argument.

## Not raised when
- The kernel's own driver runs: it has no release number, and its kernel tells what it supports.
- The release of either is not known, or AMD's tables do not speak of it.
- ROCm is older than the driver and the driver's release is only estimated from its module number.

## How to confirm
Compare `modinfo amdgpu` and the ROCm release with AMD's matrix.

## Fix
Bring one of the two into the window of the other.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/user-kernel-space-compat-matrix.html
""",
)
FIXES = (
    Fix(text="Show the driver's release.", command=("modinfo", "amdgpu")),
    Fix(
        text="Install the amdgpu driver of the ROCm release, or a ROCm that supports this driver.",
        root=True,
        reboot=True,
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for the first ROCm that the driver's release is not listed with."""
    from doctor.knowledge.windows import kmd_serves_rocm

    driver = release_of(machine)
    if driver is None:
        return
    spoken = [(f"rocm[{r.key}].version", r.version) for r in machine.rocm or ()] + [("torch.rocm", machine.torch.rocm)]
    for name, rocm in spoken:
        answer = kmd_serves_rocm(kb, driver.text, rocm)
        newer = Dotted(rocm or "").numbers[:2] > Dotted(driver.text).numbers[:2] or driver.text.startswith("3")
        if not answer.no or not (driver.exact or newer):
            continue
        yield Finding(
            severity=Severity.WARNING,
            summary=f"amdgpu {driver.text[:20]} and ROCm {(rocm or '')[:20]} are not supported together.",
            subject=Subject(kind="driver", id="amdgpu"),
            evidence=(
                *evidence(machine, ("amdgpu_driver.version", "amdgpu_driver.release", name)),
                Evidence(text=answer.reason, source=f"{answer.source[:200]} ({answer.as_of})"),
            ),
            fixes=FIXES,
            source=f"{answer.source} ({answer.as_of})",
        )
        return
