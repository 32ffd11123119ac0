from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import command, set_to, step, way
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="mig-misconfigured",
    severity=Severity.ERROR,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    layer=Layer.GPU,
    title="MIG is on but has no usable instances.",
    needs=[
        {"gpus[].mig_mode"},
        {"environment"},
    ],
    proven="synthetic",
    order=56,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "visible-devices-conflict"),
    facts_decide=False,
    tags=("nvidia", "host"),
    doc="""
## What it finds
MIG enabled on a GPU that has no instance, a change of the mode that waits for a reset, several MIG devices for one
process, or texts about missing instances.

## Why it matters
CUDA sees no device although nvidia-smi shows the GPU.

## Not raised when
Instances exist, or are not known and nothing reports that no GPU is seen. A program that expects a number instead of
an instance's UUID does not count.

## How to confirm
`nvidia-smi -L` and `nvidia-smi mig -lgi`.

## Fix
Create instances, or disable MIG.

## Fix safety
Disabling MIG stops all work on the GPU.

## References
https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    return _create(None), _off(None)


def _create(address: str | None) -> Remedy:
    """Instances: which ones fit is the GPU's own list."""
    which = ("-i", address) if address else ()
    return way(
        "Create GPU instances for the programs.",
        Scope.HOST,
        step("List the profiles that fit.", "nvidia-smi", "mig", *which, "-lgip"),
        step("Create one with its compute instance (PROFILE: an ID of the list).",
             "nvidia-smi", "mig", *which, "-cgi", "PROFILE", "-C"),
        root=True,
        vendor="nvidia",
        undo=(step("Destroy the compute instances.", "nvidia-smi", "mig", *which, "-dci"),
              step("Destroy the GPU instances.", "nvidia-smi", "mig", *which, "-dgi")),
    )  # fmt: skip


def _reset(address: str | None) -> Remedy:
    title = "Stop the programs on the GPU and reset it."
    argv = ("nvidia-smi", "--gpu-reset", *(("-i", address) if address else ()))
    return command(title, Scope.HOST, *argv, root=True, vendor="nvidia", risk="stops every job on the GPU")


def _off(address: str | None) -> Remedy:
    which = ("-i", address) if address else ()
    return command(
        "Disable MIG, so that a program sees the whole GPU.",
        Scope.HOST,
        *("nvidia-smi", *which, "-mig", "0"),
        root=True,
        vendor="nvidia",
        risk="stops every job on the GPU; some GPUs need a reset or a reboot",
    )


def _one_each(machine: Snapshot) -> Remedy:
    uuid = next((p.uuid for g in machine.gpus or () for p in g.partitions or () if getattr(p, "uuid", None)), None)
    title = "Assign each process the UUID of one MIG device (`nvidia-smi -L` lists them)."
    return set_to(machine, title, CUDA_VISIBLE_DEVICES=uuid or "MIG-UUID").model_copy(update={"vendor": "nvidia"})


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    for gpu in machine.gpus or ():
        if gpu.mig_mode and gpu.mig_pending and gpu.mig_mode != gpu.mig_pending:
            yield Finding(
                severity=Severity.WARNING,
                summary=f"GPU {gpu.key}: MIG stays {gpu.mig_mode} until a reset ({gpu.mig_pending} is pending).",
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=evidence(machine, [f"gpus[{gpu.key}].mig_mode", f"gpus[{gpu.key}].mig_pending"]),
                remedies=(_reset(gpu.pci_address),),
            )
        elif gpu.mig_mode == "enabled" and gpu.partitions == ():
            yield Finding(
                summary=f"GPU {gpu.key}: MIG is on but has no instance, so CUDA sees no device there.",
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=evidence(machine, [f"gpus[{gpu.key}].mig_mode", f"gpus[{gpu.key}].partitions"]),
                remedies=(_create(gpu.pci_address), _off(gpu.pci_address)),
            )
        elif gpu.mig_mode == "enabled" and gpu.partitions is None and _unseen(machine):
            yield Finding(
                severity=Severity.WARNING,
                basis="both",
                summary=f"GPU {gpu.key}: MIG is on and no instance is shown, so CUDA sees no GPU.",
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=evidence(machine, [f"gpus[{gpu.key}].mig_mode"]),
                remedies=(_create(gpu.pci_address), _off(gpu.pci_address)),
            )
    yield from _several(machine)


def _unseen(machine: Snapshot) -> bool:
    """Whether a text says that no GPU is seen, and names no instance to a process nor a GPU without MIG."""
    asked = (machine.environment or {}).get("CUDA_VISIBLE_DEVICES", "")
    whole = any(gpu.mig_mode == "disabled" for gpu in machine.of_vendor("nvidia"))
    return run_line.sees_none(machine) and "MIG-" not in asked and not whole


def _several(machine: Snapshot) -> Iterator[Finding]:
    """A process enumerates one MIG device, whatever CUDA_VISIBLE_DEVICES lists."""
    asked = (machine.environment or {}).get("CUDA_VISIBLE_DEVICES", "")
    if asked.count("MIG-") > 1:
        yield Finding(
            severity=Severity.WARNING,
            summary="CUDA_VISIBLE_DEVICES lists several MIG devices, but a process sees only one.",
            subject=Subject(kind="variable", id="CUDA_VISIBLE_DEVICES"),
            evidence=evidence(machine, ["environment[CUDA_VISIBLE_DEVICES]"]),
            remedies=(_one_each(machine),),
            source="https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",
        )
