"""A firmware release of this GPU has a known fault."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity
from doctor.knowledge import hearsay
from doctor.rules.amdgpu_release import known_faults

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="amdgpu-firmware-bad",
    severity=Severity.ERROR,
    title="A firmware release of this GPU has a known fault.",
    needs=[{"gpus[].firmware"}],
    facts_decide=False,
    proven="synthetic",
    order=16,
    tags=("amd", "driver"),
    doc="""
## What it finds
A GPU firmware release with a known fault, such as MES 0x83 on gfx1151.

## Why it matters
Hangs and memory faults under load that look like an application's.

## Not raised when
The firmware's release is not known, or is outside the rows of doctor/knowledge/data/faults.

## How to confirm
`cat /sys/kernel/debug/dri/0/amdgpu_firmware_info` as root.

## Fix
Install another release of the firmware package and rebuild the initial RAM disk.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://github.com/ROCm/ROCm/issues/5724
""",
)
FIXES = (
    Fix(
        text="Install a linux-firmware release before or after the faulty one, rebuild the initramfs and reboot.",
        root=True,
        reboot=True,
    ),
)


def unheard(machine: Snapshot) -> bool:
    """Where an installer names the firmware of every GPU that the driver could drive. Where the kernel misses firmware
    that it does without, and nothing else fails."""
    if machine.symptom("firmware-of-other-gpus-noted"):
        return True
    others = tuple(symptom for symptom in machine.symptoms if symptom.key not in _NOTED)
    alone = not hearsay.trouble(machine.model_copy(update={"symptoms": others}), "")
    return machine.symptom(_OPTIONAL) is not None and alone


_OPTIONAL = "firmware-optional-missed-told"
_NOTED = (_OPTIONAL, "pcie-atomics")
"""Boot lines of cards that work. What the bus can't do is no fault of firmware."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each known fault of the firmware that a GPU runs."""
    yield from known_faults(machine, RULE.id)
