"""MIG is on without usable instances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules import run_line
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="mig-misconfigured",
    severity=Severity.ERROR,
    title="MIG is on without usable instances.",
    needs=[{"gpus[].mig_mode"}, {"environment"}, {"nvidia_driver.version", "symptom:mig-mentioned"}],
    proven="synthetic",
    order=56,
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "visible-devices-conflict"),
    facts_decide=False,
    tags=("nvidia", "host"),
    doc="""
## What it finds
MIG enabled on a GPU that has no instance, several MIG devices asked for by one process, or texts of instances that are
not there.

## Why it matters
CUDA sees no device although nvidia-smi shows the GPU.

## Not raised when
Instances exist, or are not known and nothing says that no GPU is seen. A program that reads a number
where an instance's UUID stands says nothing of them.

## How to confirm
`nvidia-smi -L` and `nvidia-smi mig -lgi`.

## Fix
Create instances, or turn MIG off.

## Fix safety
Turning MIG off ends all work on the GPU.

## References
https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
""",
)
FIXES = (
    Fix(text="List the GPU instances.", command=("nvidia-smi", "mig", "-lgi"), root=True),
    Fix(text="Turn MIG off.", command=("nvidia-smi", "-mig", "0"), root=True),
)


def unheard(machine: Snapshot) -> bool:
    """Where every GPU at hand is of a kind that has no MIG: all GeForce cards, and chips between the large ones. Where
    torch has a GPU, or nothing tells that none is seen, and the one instance that is asked for is among those that are
    listed; people shorten its number. Where instances are listed, none is asked for and nobody says that a process sees
    none. In a Space of ZeroGPU, whose slices are the operator's. Where nvidia-smi shows every GPU with MIG off, or
    Kubernetes' labels say that there is none to turn on. Where a value is no number for what reads it."""
    if machine.symptom("zerogpu-told", "mig-not-capable-told") is not None:
        return True
    if machine.symptom("metric-not-parsed-told") and not run_line.sees_none(machine) and not machine.symptom(*_FAILS):
        return True
    gpus = machine.of_vendor("nvidia")
    if gpus and all(gpu.mig_mode == "disabled" for gpu in gpus) and machine.symptom("mig-mentioned", *_FAILS) is None:
        return True
    asked = (machine.environment or {}).get("CUDA_VISIBLE_DEVICES", "").strip()
    listed = any(part.uuid and asked.startswith(part.uuid) for gpu in gpus for part in gpu.partitions or ())
    if listed and (machine.torch.available or not (run_line.sees_none(machine) or machine.symptom(*_FAILS))):
        return True
    if any(gpu.partitions for gpu in gpus) and not asked and not run_line.sees_none(machine):
        return machine.symptom("invalid-device-ordinal", "nccl-duplicate-gpu", "program-crashed") is None
    return bool(gpus) and all(g.arch and (g.arch not in _HAS_MIG or "GeForce" in (g.name or "")) for g in gpus)


_FAILS = ("invalid-device-ordinal", "program-crashed", "cuda-unknown-999", "unknown-error-999")
_HAS_MIG = ("sm_80", "sm_90", "sm_100", "sm_103", "sm_107", "sm_110", "sm_120")
"""A100 and A30, Hopper, data-centre Blackwell and later, RTX PRO Blackwell. Source: docs.nvidia.com MIG User Guide,
Supported GPUs."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each such GPU."""
    for gpu in machine.gpus or ():
        if gpu.mig_mode == "enabled" and gpu.partitions == ():
            yield Finding(
                summary=f"{gpu.key}: MIG is on and no instance exists, so CUDA sees no device there.",
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=evidence(machine, [f"gpus[{gpu.key}].mig_mode", f"gpus[{gpu.key}].partitions"]),
                fixes=FIXES,
            )
        elif gpu.mig_mode == "enabled" and gpu.partitions is None and _unseen(machine):
            yield Finding(
                severity=Severity.WARNING,
                basis="both",
                summary=f"{gpu.key}: MIG is on, no instance is shown and no GPU is seen: CUDA sees instances only.",
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=evidence(machine, [f"gpus[{gpu.key}].mig_mode"]),
                fixes=FIXES,
            )
    yield from _several(machine)
    yield from _counted(machine)
    yield from _known_bad(machine)


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
            summary="CUDA_VISIBLE_DEVICES lists several MIG devices; a process sees one only.",
            subject=Subject(kind="variable", id="CUDA_VISIBLE_DEVICES"),
            evidence=evidence(machine, ["environment[CUDA_VISIBLE_DEVICES]"]),
            fixes=(Fix(text="Give each process the UUID of one MIG device.", where="environment"),),
            source="https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",
        )


def _counted(machine: Snapshot) -> Iterator[Finding]:
    """A process that asks for a second device is refused where the GPU is cut up: it has one of the instances."""
    cut = [gpu for gpu in machine.gpus or () if gpu.mig_mode == "enabled" and gpu.partitions]
    whole = [gpu for gpu in machine.gpus or () if gpu.vendor == "nvidia" and gpu.mig_mode != "enabled"]
    asked = (machine.environment or {}).get("CUDA_VISIBLE_DEVICES", "")
    if cut and not whole and machine.symptom("invalid-device-ordinal") and asked.count("MIG-") < 2:
        yield Finding(
            severity=Severity.WARNING,
            summary=f"{cut[0].key}: MIG is on, so a process has one instance as device 0; a second ordinal is invalid.",
            subject=Subject(kind="gpu", id=cut[0].key),
            evidence=evidence(machine, (f"gpus[{cut[0].key}].partitions", "symptom:invalid-device-ordinal")),
            fixes=(
                Fix(text="Give each process the UUID of one MIG device.", where="environment"),
                FIXES[1].model_copy(update={"text": "Or turn MIG off, if one process is to use the whole GPU."}),
            ),
            source="https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",
        )


_MIXED_BAD = ("570.124.06", "570.158.01")
"""Drivers whose mixed MIG the device plugin cannot list. Source: github.com/NVIDIA/gpu-operator/issues/1361."""


def _known_bad(machine: Snapshot) -> Iterator[Finding]:
    version = machine.nvidia_driver.version
    if machine.symptom("mig-mentioned") and version and Dotted(_MIXED_BAD[0]) <= version <= Dotted(_MIXED_BAD[1]):
        yield Finding(
            severity=Severity.INFO,
            suspect=True,
            summary=f"Driver {version[:20]} handles mixed MIG badly under the device plugin.",
            subject=Subject(kind="driver", id="nvidia"),
            evidence=evidence(machine, ("nvidia_driver.version", "symptom:mig-mentioned")),
            fixes=(Fix(text="Update to driver 570.172.08 or newer, or another branch.", root=True, reboot=True),),
            source="https://github.com/NVIDIA/gpu-operator/issues/1361",
        )
