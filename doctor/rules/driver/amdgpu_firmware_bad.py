from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity
from doctor.rules.lib import commands
from doctor.rules.lib.amdgpu_release import known_faults
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="amdgpu-firmware-bad",
    severity=Severity.ERROR,
    scope=Scope.FIRMWARE,
    action=Action.REBOOT,
    layer=Layer.DRIVER,
    title="This GPU's firmware release has a known bug.",
    needs=[{"gpus[].firmware"}],
    facts_decide=False,
    proven="synthetic",
    order=16,
    tags=("amd", "driver"),
    doc="""
## What it finds
A GPU firmware release with a known bug, such as MES 0x83 on gfx1151.

## Why it matters
Hangs and memory faults under load that look like an application's.

## Not raised when
The firmware's release is not known, or is outside the rows of doctor/knowledge/data/faults.

## How to confirm
`cat /sys/kernel/debug/dri/0/amdgpu_firmware_info` as root.

## Fix
Install another release of the firmware package and rebuild the initial RAM disk.

## References
https://github.com/ROCm/ROCm/issues/5724
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Newer firmware by the distribution's package, with the initramfs that carries it."""
    return (commands.amdgpu_firmware(machine),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    yield from known_faults(machine, RULE.id)
