from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="gpu-not-in-knowledge",
    severity=Severity.INFO,
    scope=Scope.HOST,
    action=Action.INFORM,
    layer=Layer.GPU,
    title="This GPU is not in the knowledge base.",
    needs=({"gpus"},),
    proven="synthetic",
    order=80,
    tags=("profile",),
    doc="""## What it finds
A GPU whose PCI id is not in this version's knowledge base.

## Why it matters
Checks that need its facts could not run; the others did.

## Not raised when
The id is known (whatever the revision: cards that share an id are of one architecture), or the GPU has no known id.

## How to confirm
`lspci -nn`

## Fix
Install a newer release of doctor, or of its knowledge base (`doctor knowledge install FILE`). If there is none, report
the id that `lspci -nn` shows.

## Fix safety
Changes nothing.

## References
docs/rules.md
""",
)


REMEDIES = (
    way(
        "Install a newer knowledge base, or report this GPU's id.",
        Scope.ENVIRONMENT,
        step(
            "Install it (FILE: from a newer release of doctor).",
            "doctor",
            "knowledge",
            "install",
            "FILE",
            where="environment",
        ),
        step("If that does not know the GPU either, report the id that this shows.", "lspci", "-nn"),
        undo=(step("Use the shipped one again.", "doctor", "knowledge", "remove", where="environment"),),
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    seen = set()
    for gpu in machine.gpus or ():
        if not gpu.pci_id or gpu.vendor not in ("nvidia", "amd") or gpu.pci_id in seen:
            continue
        seen.add(gpu.pci_id)
        # Several products may share an id and a revision may be new: the id alone decides what is known of the GPU.
        known = bool(kb.amd_gpus(gpu.pci_id)) if gpu.vendor == "amd" else kb.nvidia_gpu(gpu.pci_id) is not None
        if not known:
            yield Finding(
                severity=RULE.severity,
                summary=f"GPU {gpu.pci_id[:20]} is not in the knowledge base, so only generic checks ran.",
                subject=Subject(kind="gpu", id=gpu.pci_id),
                evidence=evidence(machine, (f"gpus[{gpu.key}].pci_id", f"gpus[{gpu.key}].name")),
                remedies=REMEDIES,
            )
