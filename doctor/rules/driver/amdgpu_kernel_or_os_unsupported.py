"""The OS release or kernel is not supported by this ROCm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.knowledge import hearsay
from doctor.rules import commands, run_line, work_done
from doctor.rules.amdgpu_release import known_faults, told_of
from doctor.rules.module_build import refused
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="amdgpu-kernel-or-os-unsupported",
    severity=Severity.ERROR,
    title="The OS release or kernel is not supported by this ROCm.",
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
The driver of ROCm is not there after a kernel or system update.

## Not raised when
- The kernel's own amdgpu runs, which needs no build.
- A system that AMD does not list is information: most such systems work. In a pasted text that shows nothing surer it
  is a warning.

## How to confirm
Read /var/lib/dkms/amdgpu/VERSION/build/make.log and AMD's list of systems.

## Fix
Boot a supported kernel, or install a driver release that supports this one.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
""",
)
FIXES = (
    Fix(text="Show for which kernels the module is built.", command=("dkms", "status")),
    Fix(
        text="Boot a kernel of AMD's list, or install an amdgpu release that supports this kernel.",
        root=True,
        reboot=True,
    ),
)


def unheard(machine: Snapshot) -> bool:
    """The names of a system and a kernel alone: nobody says that a GPU is not seen, that work on it goes wrong or that
    something does not build or install, and nothing is told of the driver. Where rocminfo lists a GPU, or apt only
    notes of what its lists lack, and nothing fails: that DKMS holds no module is so with the kernel's own driver."""
    shown = machine.symptom("rocminfo-agent-shown-told", "apt-notes-of-lists-told") is not None
    if shown and machine.symptom(*_AMISS) is None and not hearsay.trouble(machine, "dkms-status-without-build"):
        return True
    built = any(s.key.startswith(("dkms-", "rocm-")) for s in machine.symptoms)
    return machine.symptom(*_AMISS) is None and not built and not told_of(machine)


_AMISS = (
    "gpu-not-seen-said",
    "gpu-module-not-loading-told",
    "build-command-failed",
    "gpu-work-goes-wrong",
    "stands-still-told",
    "program-crashed",
    *run_line.NO_GPU_SEEN,
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Known failures of this driver's build, a kernel that it was not built for, a system that ROCm does not list."""
    yield from known_faults(machine, RULE.id)
    if told := refused(machine, "amd"):
        yield told.model_copy(update={"fixes": (commands.rebuild_modules(machine), *FIXES)})
        return
    built, running = machine.amdgpu_driver.built_for, machine.kernel.release
    if built and running and running not in built and machine.amdgpu_driver.loaded is not True:
        yield Finding(
            severity=Severity.WARNING,
            summary=f"DKMS built amdgpu for kernel {built[0][:40]}, and {running[:40]} runs.",
            subject=Subject(kind="driver", id="amdgpu"),
            evidence=evidence(machine, ("amdgpu_driver.built_for", "kernel.release")),
            fixes=FIXES,
        )
    yield from _unlisted(machine, kb)


def _not_built(machine: Snapshot) -> bool:
    """Whether amdgpu is not loaded and nothing says of a container or of another reason: on a system that the release
    does not list DKMS is what failed, more often than not."""
    absent = machine.amdgpu_driver.loaded is False and machine.symptom("rocm-module-not-loaded") is not None
    if machine.kernel.secure_boot is True:  # another reason, and the nearer one
        return False
    return absent and machine.container.inside is not True and machine.symptom("amdgpu-kept-away") is None


def _may_matter(machine: Snapshot) -> bool:
    """Whether something fails, and no GPU was taken and no kernel ran: both are on a system that the driver is for.
    Values that are not finite were computed."""
    worked = work_done.ran(machine) or work_done.took_gpu(machine, *work_done.GPU_LISTED, "values-are-nan")
    return not worked and not work_done.nothing_fails(machine, "rocm")


def _served_all_the_same(machine: Snapshot, kb: Knowledge, version: str | None) -> bool:
    """Whether rocminfo lists a GPU on a point release of a system of which the release lists another: 22.04.5 beside
    22.04.3 has a newer kernel at most, which the driver was built for then."""
    from doctor.knowledge.windows import os_serves_rocm

    listed = os_serves_rocm(kb, version, machine.os.id, Dotted(machine.os.version or "").series()).verdict == "yes"
    return listed and work_done.took_gpu(machine, "rocminfo-agent-shown-told")


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
                summary=f"ROCm {(install.version or '')[:20]} does not list {(machine.os.name or '')[:40]}.",
                subject=Subject(kind="os", id=machine.os.id or "-"),
                evidence=evidence(machine, ("os.name", f"rocm[{install.key}].version")),
                fixes=(Fix(text="Use a system of AMD's list for this ROCm, or a ROCm release that lists this one."),),
                source=f"{answer.source} ({answer.as_of})",
            )
            return
