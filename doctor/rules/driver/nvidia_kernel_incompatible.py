from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity
from doctor.rules.lib import advice as ways
from doctor.rules.lib import commands
from doctor.rules.lib.amdgpu_release import known_faults as unbuilt
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.error_texts import BUILD_FAILED
from doctor.rules.lib.library_release import known_faults
from doctor.rules.lib.module_build import refused

RULE = Rule(
    id="nvidia-kernel-incompatible",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.REBOOT,
    layer=Layer.DRIVER,
    title="The NVIDIA driver does not build for this Linux kernel, or the kernel refuses it.",
    needs=[
        {"kernel.dkms", "kernel.release"},
        {"kernel_log.events"},
        {"kernel.release", "nvidia_driver.module_on_disk"},
        {"kernel.release", "symptom:kernel-suspended"},
    ],
    facts_decide=False,
    proven="synthetic",
    order=12,
    explains=("nvidia-driver-not-loaded", "torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
A driver module that does not build for, or does not load into, the running kernel. A module built only for other
kernels, and never tried for this one, is nvidia-driver-not-loaded: nothing shows that this kernel breaks it.

## Why it matters
After a kernel update, the GPU is gone until the module works again.

## Not raised when
The module is loaded, or DKMS built it for this kernel too.

## How to confirm
Read /var/lib/dkms/nvidia/VERSION/build/make.log, and dkms status.

## Fix
Install the headers of this kernel (`apt-get install linux-headers-RELEASE`, `dnf install kernel-devel-RELEASE`) and run
`dkms autoinstall`. If the driver does not support the kernel, upgrade the driver or boot the previous kernel.

## Fix safety
Building the module stops no job. Another kernel or driver needs a reboot.

## References
https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Build for this kernel, or go back to the one before. Of a build that failed, its log alone shows what helps."""
    if machine.of_vendor("amd") and not machine.of_vendor("nvidia"):
        return ()
    back = "Boot the previous kernel, for which the module is built."
    steps = (ways.step("List the kernels that have the module.", "dkms", "status"), ways.step("Choose one at boot."))
    undo = (ways.step("Choose the newer kernel at boot again."),)
    previous = ways.way(back, Scope.HOST, *steps, root=True, reboot=True, risk=commands.JOBS_STOP, undo=undo)
    if machine.symptom("nvidia-dkms-build-failed") is None:
        return () if machine.symptom(*BUILD_FAILED) else (commands.rebuild_modules(machine), previous)
    newer = "Install a newer driver of this branch, or a newer branch: https://www.nvidia.com/drivers"
    upgrade = ways.way("Upgrade the NVIDIA driver to a release that supports this kernel.", Scope.DRIVER,
                       ways.step(newer), root=True, vendor="nvidia")  # fmt: skip
    return (upgrade, previous)


_SEEN_BY = ("torch-sees-no-gpu", "framework-sees-no-gpu")
"""What a module of another kernel explains: that none is loaded is the same matter, and no other."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding where the module's build for the running kernel failed, or the kernel refused it; else where this
    driver is known not to build for this kernel. And what a kernel is known to break of a driver that runs."""
    known = next(unbuilt(machine, RULE.id), None)
    if refusal := refused(machine, "nvidia"):
        left = {"explains": _SEEN_BY} if machine.symptom("nvidia-module-version-magic") else {}
        remedies = (*(known.remedies if known else ()), *advice(machine, kb))
        yield refusal.model_copy(update={"remedies": remedies, **left})
    elif known:
        yield known
    yield from known_faults(machine, RULE.id)
