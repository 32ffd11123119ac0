from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import advice as ways
from doctor.rules.lib import commands, packages, work_done
from doctor.rules.lib.amdgpu_release import known_faults
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.module_build import refused
from doctor.versions import Dotted

RULE = Rule(
    id="amdgpu-kernel-or-os-unsupported",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.INFORM,
    layer=Layer.DRIVER,
    title="This ROCm does not support the OS release or kernel.",
    needs=[
        {"kernel.release", "amdgpu_driver.version"},
        {"kernel.release", "amdgpu_driver.release"},
        {"kernel.release", "amdgpu_driver.built_for"},
        {"kernel.release", "kernel.dkms"},
        {"kernel_log.events"},
        {"kernel.release", "gpus"},
        {"os.id", "os.version", "rocm"},
    ],
    facts_decide=False,
    proven="synthetic",
    order=12,
    explains=("amdgpu-driver-not-loaded", "torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("amd", "driver"),
    doc="""
## What it finds
A DKMS build of amdgpu that fails or is known not to work for this kernel, a kernel that DKMS has not built it for, or
a system that the ROCm release does not list.

## Why it matters
The amdgpu driver may not build or load there, or GPU programs hang and fault.

## Not raised when
- The kernel's own amdgpu runs, which needs no build.
- A system that AMD does not list is information: most such systems work. In a pasted text that shows no better cause
  it is a warning.

## How to confirm
Read /var/lib/dkms/amdgpu/VERSION/build/make.log and AMD's list of systems.

## Fix
Install the kernel's headers and run `dkms autoinstall`. If this driver does not support the kernel, boot a kernel of
AMD's list, or install the `amdgpu-dkms` of a release that lists it. Each needs root and a reboot.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
""",
)
_LIST = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html"


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Another kernel, another driver release, or the kernel's own amdgpu."""
    if machine.of_vendor("nvidia") and not machine.of_vendor("amd"):
        return ()
    list_them = ways.step("List the kernels that have the module.", "dkms", "status")
    choose = ways.step(f"Install and boot a kernel of AMD's list ({_LIST}).")
    upgrade = ways.step(f"Add AMD's repository of a release that lists this kernel ({_LIST}).")
    family = packages.host_family(machine)
    amd_has = None if family == "pacman" else packages.install(family, "amdgpu-dkms")
    install = ways.step("Install its amdgpu-dkms.", *(amd_has or ()))
    common: dict[str, Any] = {"root": True, "reboot": True, "risk": commands.JOBS_STOP, "vendor": "amd"}
    return (
        ways.way(
            "Boot a kernel that this amdgpu driver supports.",
            *(Scope.HOST, list_them, choose),
            **common,
            undo=(ways.step("Boot the old kernel again."),),
        ),
        ways.way(
            "Upgrade the amdgpu driver.",
            *(Scope.DRIVER, upgrade, install, commands.REBOOT),
            **common,
            undo=(ways.step("Install the old release of amdgpu-dkms again, then reboot."),),
        ),
    )


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Known failures of this driver's build, a kernel that it was not built for, a system that ROCm does not list."""
    yield from known_faults(machine, RULE.id)
    if refusal := refused(machine, "amd"):
        yield refusal.model_copy(update={"remedies": (commands.rebuild_modules(machine), *advice(machine, kb))})
        return
    built, running = machine.amdgpu_driver.built_for, machine.kernel.release
    if built and running and running not in built and machine.amdgpu_driver.loaded is not True:
        yield Finding(
            severity=Severity.WARNING,
            summary=f"DKMS built amdgpu for kernel {built[0][:40]}, but {running[:40]} is running.",
            subject=Subject(kind="driver", id="amdgpu"),
            evidence=evidence(machine, ("amdgpu_driver.built_for", "kernel.release")),
            remedies=(commands.rebuild_modules(machine), *advice(machine, kb)),
        )
    yield from _unlisted(machine, kb)


def _not_built(machine: Snapshot) -> bool:
    """Whether amdgpu is not loaded and nothing says of a container or of another reason: on a system that the release
    does not list DKMS is what failed, more often than not."""
    absent = machine.amdgpu_driver.loaded is False and machine.symptom("rocm-module-not-loaded") is not None
    if machine.kernel.secure_boot is True:  # another reason, and the nearer one
        return False
    return absent and machine.container.inside is not True


def _may_matter(machine: Snapshot) -> bool:
    """Whether something fails, and no GPU was taken and no kernel ran: both are on a system that the driver is for.
    Values that are not finite were computed."""
    worked = work_done.ran(machine) or work_done.took_gpu(machine, *work_done.GPU_LISTED)
    return not worked


def _served_all_the_same(machine: Snapshot, kb: Knowledge, version: str | None) -> bool:
    """Whether rocminfo lists a GPU on a point release of a system of which the release lists another: 22.04.5 beside
    22.04.3 has a newer kernel at most, which the driver was built for then."""
    from doctor.knowledge.windows import os_serves_rocm

    listed = os_serves_rocm(kb, version, machine.os.id, Dotted(machine.os.version or "").series()).verdict == "yes"
    return listed and work_done.took_gpu(machine)


def _unlisted(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    from doctor.knowledge.windows import os_serves_rocm

    if commands.in_container(machine) or commands.in_wsl(machine) or machine.torch.available:
        return
    for install in machine.rocm or ():
        if install.kind == "distribution":  # built by the distribution for itself
            continue
        answer = os_serves_rocm(kb, install.version, machine.os.id, machine.os.version)
        if answer.no:
            yield Finding(
                severity=Severity.WARNING if _not_built(machine) else Severity.INFO,
                suspect=_may_matter(machine) and not _served_all_the_same(machine, kb, install.version),
                summary=f"ROCm {(install.version or '')[:20]} does not support {(machine.os.name or '')[:40]}.",
                subject=Subject(kind="os", id=machine.os.id or "-"),
                evidence=evidence(machine, ("os.name", f"rocm[{install.key}].version")),
                remedies=(
                    ways.way(f"Use a ROCm release that lists this system ({_LIST}).", Scope.HOST, root=True),
                    ways.way("Run ROCm in a container with a supported system (rocm/pytorch).", Scope.CONTAINER),
                ),
                source=f"{answer.source} ({answer.as_of})",
            )
            return
