"""This kernel release breaks the NVIDIA stack; another kernel works."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity
from doctor.rules import commands, run_line, work_done
from doctor.rules.amdgpu_release import known_faults as unbuilt
from doctor.rules.library_release import known_faults
from doctor.rules.module_build import refused

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="nvidia-kernel-incompatible",
    severity=Severity.ERROR,
    title="This kernel release breaks the NVIDIA stack; another kernel works.",
    needs=[
        {"kernel.dkms", "kernel.release"},
        {"kernel_log.events"},
        {"kernel.release", "nvidia_driver.module_on_disk"},
        {"kernel.release", "symptom:pinned-memory-refused"},
        {"kernel.release", "symptom:suspend-resume-told"},
        {"kernel.release", "symptom:kernel-suspended"},
        {"kernel.release", "nvidia_driver.version", "symptom:hang-word-told"},
    ],
    facts_decide=False,
    proven="synthetic",
    order=12,
    explains=("nvidia-driver-not-loaded", "torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
A driver module that does not build for, or does not load into, the running kernel. One that was built for other
kernels alone, without a try for this one, is nvidia-driver-not-loaded: nothing says that this kernel breaks it.

## Why it matters
After a kernel update the GPU is gone until the module fits again.

## Not raised when
The module is loaded, or DKMS built it for this kernel too.

## How to confirm
Read /var/lib/dkms/nvidia/VERSION/build/make.log, and dkms status.

## Fix
Install the headers of this kernel and a driver release that supports it, or boot the kernel before it.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
""",
)
FIXES = (
    Fix(text="Show for which kernels the module is built.", command=("dkms", "status")),
    Fix(
        text="Install the kernel's headers and a driver that supports it; or boot the previous kernel.",
        root=True,
        reboot=True,
    ),
)


_SEEN_BY = ("torch-sees-no-gpu", "framework-sees-no-gpu")
"""What a module of another kernel explains: that none is loaded is the same matter, and no other."""

_OF_THE_HOST = (
    "gpu-work-goes-wrong", "program-crashed", "stands-still-told", "said-slow", "build-command-failed",
    "nvidia-installer-told", "nvidia-smi-fails-told", "kernel-headers-missing-told", "amdgpu-dkms-said-to-fail",
    "other-kernel-works", "kernel-regression-told", "another-version-works-told", "worked-in-older-release-told",
    *sorted(run_line.NO_GPU_SEEN),
)  # fmt: skip


def unheard(machine: Snapshot) -> bool:
    """Where kernels ran, nvidia-smi works or a library is in use of which nothing tells that it sees no GPU. Where the
    module is loaded or nvidia-smi lists a GPU by its UUID, and nothing is told of the host but packages: it loaded. On
    Windows no module is built for a kernel."""
    if machine.os.id == "windows":
        return True
    if work_done.ran(machine) or machine.symptom("nvidia-smi-works-told"):
        return True
    loaded = machine.nvidia_driver.loaded is True or any(gpu.uuid for gpu in machine.of_vendor("nvidia"))
    if loaded and machine.symptom(*(key for key in _OF_THE_HOST if key != "nvidia-installer-told")) is None:
        return True
    torch = machine.torch.version is not None or machine.torch.cuda is not None
    used = torch or machine.symptom("tensorflow-named") is not None
    return used and machine.symptom(*_OF_THE_HOST) is None


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding where the module's build for the running kernel failed, or the kernel refused it; else where this
    driver is known not to build for this kernel. And what a kernel is known to break of a driver that runs."""
    known = next(unbuilt(machine, RULE.id), None)
    if told := refused(machine, "nvidia"):
        left = {"explains": _SEEN_BY} if machine.symptom("nvidia-module-of-other-kernel") else {}
        fixes = (*(known.fixes if known else ()), commands.rebuild_modules(machine), *FIXES)
        yield told.model_copy(update={"fixes": fixes, **left})
    elif known:
        yield known
    yield from known_faults(machine, RULE.id)
