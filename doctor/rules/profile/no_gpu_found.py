from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Rule, Scope, Severity
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import looks
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.hardware import vendors_there

RULE = Rule(
    id="no-gpu-found",
    severity=Severity.INFO,
    scope=Scope.HOST,
    action=Action.INFORM,
    layer=Layer.GPU,
    title="No GPU was found.",
    needs=({"gpus"},),
    proven="synthetic",
    order=70,
    tags=("profile",),
    doc="""## What it finds
A machine or container in which no AMD, NVIDIA or Intel GPU was found.

## Why it matters
Checks that need a GPU cannot run.

## Not raised when
A GPU is known, or the GPUs are not known.

## How to confirm
`lspci -nn | grep -iE 'vga|3d|display|accelerat'`

## Fix
Run `doctor check` on the GPU node, or on the container's host. `lspci -nn` shows whether the kernel sees the card at
all; if it does not, check slot, power and firmware settings.

## Fix safety
Changes nothing.

## References
docs/rules.md
""",
)


REMEDIES = (
    looks("Run doctor on the machine that has the GPU, outside of containers.", "doctor", "check", where="environment"),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The text says where doctor looked; a container proves nothing about its host."""
    if machine.gpus is None or any(g.vendor in ("nvidia", "amd", "intel") for g in machine.gpus):
        return
    # Logs of NCCL and RCCL show only a GPU's address.
    by_address = (g.key for g in machine.gpus if g.vendor is None)
    if vendors_there(machine) or any(run_line.from_text(machine, f"gpus[{key}].pci_address") for key in by_address):
        return
    looked = "PCI devices, /sys/class/kfd and device nodes"
    inside = " Its host may have some." if machine.container.inside else ""
    where = "this container" if machine.container.inside else "this machine"
    yield Finding(
        severity=RULE.severity,
        summary=f"No GPU found in {where} (looked at {looked}).{inside}",
        evidence=(Evidence(text="no AMD, NVIDIA or Intel GPU", source=machine.source("gpus")),),
        verify=("lspci", "-nn"),
    )
