from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.labels import label
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import looks
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="smi-tool-contradicts-kernel",
    severity=Severity.INFO,
    scope=Scope.HOST,
    action=Action.INFORM,
    layer=Layer.DRIVER,
    title="A vendor tool and the kernel's files disagree.",
    needs=({"gpus"},),
    proven="synthetic",
    order=80,
    tags=("tools",),
    doc="""## What it finds
A fact that nvidia-smi, NVML, amd-smi or rocm-smi reports differently from the kernel's own files.

## Why it matters
One of them is stale or wrong. doctor uses the kernel's value.

## Not raised when
They agree, only one of them answered, or the fact changes from moment to moment.

## How to confirm
Compare the two sources in the evidence.

## Fix
Read both again in the same minute. If they still differ, install the tool in the driver's release: nvidia-smi comes
with NVIDIA's driver packages, amd-smi with ROCm (`amd-smi-lib`).

## References
https://github.com/ROCm/amdsmi/issues
""",
)

REMEDIES = tuple(
    looks(
        f"Read it again with {argv[0]}; if the two still differ, restart the tool's service or report it.",
        *argv,
        vendor=vendor,
    )
    for vendor, argv in (("nvidia", ("nvidia-smi", "-q")), ("amd", ("amd-smi", "static")))
)
_TOOLS = ("nvidia-smi", "amd-smi", "rocm-smi", "nvml")
_FIELDS = (
    ".vendor",
    ".arch",
    ".pci_id",
    ".pci_address",
    ".numa_node",
    ".compute_partition",
    ".memory_partition",
    ".version",
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Facts of GPUs and drivers with one source in the kernel's files and another value from a tool."""
    for name, origin in machine.origins.items():
        if not name.startswith(("gpus[", "nvidia_driver.version", "amdgpu_driver.version")) or not name.endswith(
            _FIELDS
        ):
            continue
        other = next((o for o in origin.others if any(tool in o.source for tool in _TOOLS)), None)
        if other is None or not origin.source.startswith("file:"):
            continue
        yield Finding(
            severity=RULE.severity,
            summary=f"{label(name)}: {other.source} says {other.value[:30]}, the kernel {str(machine.get(name))[:30]}.",
            subject=Subject(kind="fact", id=name),
            evidence=(*evidence(machine, (name,)), Evidence(text=f"{label(name)}: {other.value}", source=other.source)),
            remedies=REMEDIES,
            ask="the output of both, taken in the same minute",
        )
