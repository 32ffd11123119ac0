"""Whether a GPU's kernel module could not be built for, or is refused by, the running kernel: of both vendors."""

from __future__ import annotations

from typing import Literal

from doctor.facts import Snapshot
from doctor.facts.host import KernelEvent
from doctor.findings import Evidence, Finding, Severity, Subject
from doctor.rules.lib import commands, presence

_REFUSED = {
    "module-version-magic": "was built for another kernel",
    "module-unknown-symbol": "needs symbols that this kernel lacks",
}
_OF_ANOTHER_MODULE = "Unknown symbol amd_iommu_"
"""Of amd_iommu_v2: a module of the same kernel that is not installed (linux-modules-extra), not of a wrong kernel."""


def elsewhere(machine: Snapshot, vendor: Literal["nvidia", "amd"]) -> bool:
    """Whether it is known that no GPU of the vendor is here, or that the host's modules are not to be judged."""
    unseen = machine.gpus is not None and not presence.present(machine, vendor)
    return unseen or commands.in_container(machine) or commands.in_wsl(machine)


def refused(machine: Snapshot, vendor: Literal["nvidia", "amd"]) -> Finding | None:
    """A build of the module for the running kernel that failed (DKMS), or a module that this kernel refused."""
    stem = "nvidia" if vendor == "nvidia" else "amdgpu"
    driver = machine.nvidia_driver if vendor == "nvidia" else machine.amdgpu_driver
    running = machine.kernel.release
    if elsewhere(machine, vendor):
        return None
    if driver.loaded is True:  # CUDA's own module may be refused all the same
        uvm = (e for e in machine.kernel_log.events or () if e.code in _REFUSED and "nvidia_uvm" in e.text)
        event = next(uvm, None) if machine.nvidia_driver.uvm_loaded is not True else None
        return _refusal(machine, event, "nvidia_uvm") if event and vendor == "nvidia" else None
    failed = next((m for m in machine.kernel.dkms or () if m.key.startswith(stem) and m.failed_for == running), None)
    if failed and running:
        log = f"/var/lib/dkms/{failed.key}/build/make.log"
        return Finding(
            severity=Severity.ERROR,
            summary=f"DKMS could not build {failed.key[:60]} for the running kernel {running[:60]}.",
            subject=Subject(kind="driver", id=stem),
            evidence=(Evidence(text=f"the last build, for {running}, failed", source=f"file:{log}"),),
        )
    for event in machine.kernel_log.events or ():
        if _OF_ANOTHER_MODULE in event.text:
            continue
        if event.code in _REFUSED and stem in event.text:
            return _refusal(machine, event, stem)
    return None


def _refusal(machine: Snapshot, event: KernelEvent, module: str) -> Finding:
    return Finding(
        severity=Severity.ERROR,
        summary=f"The running kernel rejects the {module} module: it {_REFUSED[event.code or '']}.",
        subject=Subject(kind="driver", id=module),
        evidence=(Evidence(text=event.text, source=machine.source("kernel_log.events")),),
    )
