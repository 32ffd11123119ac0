"""Whether the flavour of NVIDIA's kernel modules fits the GPUs: shared by the rules on the open modules."""

from __future__ import annotations

import re
from typing import Literal

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.findings import Evidence, Finding, Severity, Subject, evidence
from doctor.knowledge import Knowledge
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import commands, presence

Flavour = Literal["open", "proprietary"]
Verdict = Literal["required", "unsupported", "either"]

_REQUIRED = Lazy(r"\bG[HB]\d{2,3}\b|\bB[123]00\b|\bRTX 50\d\d\b|\bBlackwell\b", re.IGNORECASE)
_UNSUPPORTED = Lazy(
    r"\bQuadro (?:[KMP]\d|GP|GV)|\bTesla [KMPV]\d|\bV100|\bP100|\bGTX (?:[6-9]\d\d|10\d\d)\b|\bTITAN (?:X|V)",
    re.IGNORECASE,
)
"""Product lines by the flavour that they take, for names that no table has.
Source: github.com/NVIDIA/open-gpu-kernel-modules README.md; docs.nvidia.com/datacenter/tesla (installation guide)."""


def takes(gpu: Gpu, kb: Knowledge) -> Verdict | None:
    """Which flavour a GPU takes; None if id, architecture and name don't show it."""
    known = kb.open_module(gpu.pci_id)
    by_arch = known or kb.open_module(gpu.arch)
    if by_arch in ("required", "unsupported") or known:
        return by_arch
    name = gpu.name or ""
    return "required" if _REQUIRED.search(name) else "unsupported" if _UNSUPPORTED.search(name) else by_arch


def wanted(machine: Snapshot, kb: Knowledge) -> Flavour | None:
    """The flavour to install: the open one where no GPU refuses it. None where the catalogue knows none of the GPUs."""
    verdicts = {takes(gpu, kb) for gpu in presence.present(machine, "nvidia")}
    return "proprietary" if "unsupported" in verdicts else None if verdicts == {None} else "open"


def misfit(
    machine: Snapshot, kb: Knowledge, verdict: Literal["required", "unsupported"], loaded: Flavour, event: str
) -> str | None:
    """The GPU that does not take the flavour `loaded`, by name: the knowledge's `verdict` on its open modules says so,
    or the kernel log does (`event`). None where the other flavour is loaded, or nothing is known to be wrong."""
    flavour = machine.nvidia_driver.flavour
    if flavour is not None and flavour != loaded:
        return None
    verdicts = {takes(gpu, kb) for gpu in machine.of_vendor("nvidia")}
    if verdicts and verdicts <= ({"required", "either"} if verdict == "unsupported" else {"unsupported"}):
        return None  # the driver says so too where it cannot read the GPU's registers
    # A GPU that nvidia-smi lists is driven: its modules fit, whatever somebody calls them.
    unfit = [g for g in machine.of_vendor("nvidia") if takes(g, kb) == verdict and not presence.listed(machine, g)]
    if not unfit and presence.answers(machine, "nvidia"):
        return None
    logged = [e for e in machine.kernel_log.events or () if e.code == event]
    if not logged and not (flavour == loaded and unfit):
        return None
    if unfit:
        return presence.label(unfit[0])
    return f"GPU {logged[0].device}" if logged[0].device else "The GPU"


def finding(machine: Snapshot, summary: str, wants: Flavour, event: str) -> Finding:
    """An error of the NVIDIA driver, fixed by installing the flavour that it `wants`."""
    events = [e for e in machine.kernel_log.events or () if e.code == event]
    log = tuple(Evidence(text=e.text, source=machine.source("kernel_log.events")) for e in events[:1])
    return Finding(
        # Beside a GPU that works with these modules the other one is left alone, which may be meant (a display's).
        severity=Severity.INFO if presence.answers(machine, "nvidia") else Severity.ERROR,
        summary=summary,
        subject=Subject(kind="driver", id="nvidia"),
        evidence=evidence(machine, ("nvidia_driver.flavour", "nvidia_driver.version")) + log,
        remedies=commands.nvidia_driver(machine, wants),
        verify=("nvidia-smi", "-L"),
        source="https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
    )
