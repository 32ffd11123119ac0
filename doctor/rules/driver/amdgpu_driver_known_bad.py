from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity
from doctor.rules.lib import commands, library_release
from doctor.rules.lib.amdgpu_release import known_faults
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="amdgpu-driver-known-bad",
    severity=Severity.WARNING,
    scope=Scope.DRIVER,
    action=Action.REBOOT,
    layer=Layer.DRIVER,
    title="This amdgpu release has a known bug on this GPU.",
    needs=[{"amdgpu_driver.version"}, {"amdgpu_driver.release"}, {"kernel.release", "gpus"}],
    facts_decide=False,
    proven="synthetic",
    order=16,
    tags=("amd", "driver"),
    doc="""
## What it finds
An amdgpu release, or a kernel's own amdgpu, with a bug on this GPU in release notes or solved reports.

## Why it matters
Hangs, resets or wrong counters that no setting fixes.

## Not raised when
- The release, the kernel or the GPU is not known, or is outside the rows of doctor/knowledge/data/faults.
- A bug that affects only some uses is information, unless a pasted text shows no better cause.

## How to confirm
Compare `modinfo amdgpu` with the release notes.

## Fix
Install the release that the notes name.

## References
https://instinct.docs.amd.com/projects/amdgpu-docs/en/latest/
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Another release of the driver: the fault is one of this release."""
    return commands.amdgpu_driver(machine)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    yield from known_faults(machine, RULE.id)
    yield from library_release.known_faults(machine, RULE.id)
