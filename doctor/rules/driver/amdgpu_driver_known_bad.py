"""This amdgpu release has a known fault for this GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity
from doctor.rules import library_release
from doctor.rules.amdgpu_release import known_faults, told_of

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="amdgpu-driver-known-bad",
    severity=Severity.WARNING,
    title="This amdgpu release has a known fault for this GPU.",
    needs=[{"amdgpu_driver.version"}, {"amdgpu_driver.release"}, {"kernel.release", "gpus"}],
    facts_decide=False,
    proven="synthetic",
    order=16,
    tags=("amd", "driver"),
    doc="""
## What it finds
An amdgpu release, or a kernel's own amdgpu, of which release notes or solved reports name a fault on this GPU.

## Why it matters
Hangs, resets or wrong counters that no setting cures.

## Not raised when
- The release, the kernel or the GPU is not known, or is outside the rows of doctor/knowledge/data/faults.
- A fault that shows only in some uses is information, unless a pasted text shows nothing surer.

## How to confirm
Compare `modinfo amdgpu` with the release notes.

## Fix
Install the release that the notes name.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://instinct.docs.amd.com/projects/amdgpu-docs/en/latest/
""",
)
FIXES = (Fix(text="Show the driver's release.", command=("modinfo", "amdgpu")),)


def unheard(machine: Snapshot) -> bool:
    """The number of a kernel alone: nobody says that work on the GPU goes wrong, and nothing is told of the driver."""
    return machine.symptom(*_GOES_WRONG) is None and not told_of(machine)


_GOES_WRONG = (
    *("gpu-work-goes-wrong", "stands-still-told", "hang-word-told", "program-crashed", "gpu-not-seen-said"),
    *("kernel-regression-told", "kernel-suspended"),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each known fault of this driver on a GPU that is here."""
    yield from known_faults(machine, RULE.id)
    yield from library_release.known_faults(machine, RULE.id)
