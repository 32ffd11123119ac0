"""Whether the flavour of NVIDIA's kernel modules fits the GPUs: shared by the rules on the open modules."""

from __future__ import annotations

from typing import Literal

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Severity, Subject, evidence
from doctor.knowledge import Knowledge
from doctor.rules import commands, presence

Flavour = Literal["open", "proprietary"]


def misfit(
    machine: Snapshot, kb: Knowledge, verdict: Literal["required", "unsupported"], loaded: Flavour, event: str
) -> str | None:
    """The GPU that does not take the flavour `loaded`, by name: the knowledge's `verdict` on its open modules says so,
    or the kernel log does (`event`). None where the other flavour is loaded, or nothing is known to be wrong."""
    flavour = machine.nvidia_driver.flavour
    if flavour is not None and flavour != loaded:
        return None
    unfit = [g for g in machine.of_vendor("nvidia") if kb.open_module(g.pci_id or g.arch) == verdict]
    logged = [e for e in machine.kernel_log.events or () if e.code == event]
    if not logged and not (flavour == loaded and unfit):
        return None
    if unfit:
        return presence.label(unfit[0])
    return f"GPU {logged[0].device}" if logged[0].device else "The GPU"


def finding(machine: Snapshot, summary: str, wants: Flavour, event: str) -> Finding:
    """An error of the NVIDIA driver, mended by installing the flavour that it `wants`."""
    events = [e for e in machine.kernel_log.events or () if e.code == event]
    log = tuple(Evidence(text=e.text, source=machine.source("kernel_log.events")) for e in events[:1])
    return Finding(
        severity=Severity.ERROR,
        summary=summary,
        subject=Subject(kind="driver", id="nvidia"),
        evidence=evidence(machine, ("nvidia_driver.flavour", "nvidia_driver.version")) + log,
        fixes=commands.nvidia_driver(machine, wants),
        verify=("nvidia-smi", "-L"),
        source="https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
    )
