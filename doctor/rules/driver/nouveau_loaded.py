"""nouveau owns an NVIDIA GPU, so that NVIDIA's driver can't."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, evidence
from doctor.knowledge import Knowledge
from doctor.redaction.lazy import Lazy
from doctor.rules import commands, presence, run_line

if TYPE_CHECKING:
    from doctor.profiles import Profile

RULE = Rule(
    id="nouveau-loaded",
    severity=Severity.ERROR,
    title="nouveau owns the GPU.",
    needs=[{"gpus[].driver"}, {"pci"}],
    proven="synthetic",
    order=9,
    explains=("nvidia-driver-not-loaded", "torch-sees-no-gpu", "framework-sees-no-gpu"),
    tags=("nvidia", "driver"),
    doc="""
## What it finds
An NVIDIA GPU that the kernel's nouveau driver owns.

## Why it matters
nouveau has no CUDA, and NVIDIA's module can't take the GPU while nouveau has it.

## Not raised when
- nouveau is loaded and owns no GPU.
- The bound driver is unknown.

It is a remark where the stack is AMD's and amdgpu has its GPU: the NVIDIA card then shows the desktop.

## How to confirm
`lspci -nnk -d 10de:` shows `Kernel driver in use: nouveau`.

## Fix
Install NVIDIA's driver on the host (its packages blacklist nouveau), make the initramfs anew, and reboot.

## Fix safety
The display of a desktop changes driver; wants a reboot.

## References
https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (disabling nouveau)
""",
)
FIXES = (Fix(text="Install NVIDIA's driver on the host, which blacklists nouveau, then reboot.", reboot=True),)


def unheard(machine: Snapshot) -> bool:
    """Where the kernel's command line keeps nouveau out, or X looks for it among its modules and has none; NVIDIA's
    driver answers, and nothing else speaks of nouveau. X's part alone does not show that the kernel's is not loaded. On
    Windows, which does not have it."""
    if machine.os.id == "windows":
        return True
    kept_out = _KEPT_OUT.search(machine.kernel.cmdline or "") is not None
    absent = (kept_out or machine.symptom(_MISSING) is not None) and machine.nvidia_driver.version is not None
    others = any(s.key.startswith("nouveau-") and s.key != _MISSING for s in machine.symptoms)
    return absent and not others and bool(machine.of_vendor("nvidia")) and not run_line.sees_none(machine)


_KEPT_OUT = Lazy(r"\bblacklist=(?:[\w-]+,){0,8}nouveau\b")
_NVIDIA_WANTED = (
    "nvidia-smi-cannot-communicate",
    "nvidia-smi-no-devices",
    "nvidia-smi-not-found",
    "torch-no-nvidia-driver",
)
"""Somebody asks NVIDIA's driver there."""
_MISSING = "nouveau-of-x-missing-told"


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    gpus = presence.present(machine, "nvidia")
    others = presence.bound(gpus, "nvidia")
    display = presence.work_is_of(machine, "amd") and not machine.symptom(*_NVIDIA_WANTED)
    for gpu in gpus:
        if gpu.driver != "nouveau":
            continue
        takes = kb.open_module(gpu.pci_id or gpu.arch) or kb.open_module(gpu.arch)
        flavour: Literal["open", "proprietary"] | None = (
            "proprietary" if takes == "unsupported" else "open" if takes else None
        )
        name = "gpus" if machine.of_vendor("nvidia") else "pci"
        yield Finding(
            severity=Severity.INFO if display else Severity.WARNING if others else Severity.ERROR,
            summary=f"nouveau owns {presence.label(gpu)}; CUDA needs NVIDIA's driver.",
            subject=presence.subject(gpu),
            evidence=evidence(machine, (f"{name}[{gpu.key}].driver", "nvidia_driver.loaded")),
            fixes=commands.nvidia_driver(machine, flavour),
            verify=("nvidia-smi", "-L"),
        )
