"""Whether anything in a text accuses: shared by rules that what works excludes."""

from __future__ import annotations

from doctor.facts import Snapshot
from doctor.rules.hardware import vendors_there


def works_alone(machine: Snapshot, key: str) -> bool:
    """Whether a text shows the symptom of what works, and none that points to a cause here."""
    if machine.symptom(key) is None:
        return False
    from doctor.knowledge.symptoms import shared

    return not any(
        cause.sure != "possible" for symptom in machine.symptoms for cause in shared().causes(symptom.key, machine)
    )


def leaves_gpu_alone(machine: Snapshot) -> bool:
    """Whether a program on TensorFlow is told to leave the GPU alone: CUDA's libraries are tried all the same."""
    return machine.symptom("gpu-use-off-told") is not None and machine.symptom("tensorflow-named") is not None


def has_no_card(machine: Snapshot) -> bool:
    """Whether a text tells that the processor's own graphics of Intel is all that there is, and names no other GPU: a
    program that tries CUDA's libraries there is not meant to find them."""
    named = machine.symptom("nvidia-gpu-told", "amd-gpu-told", "amd-gpu-by-name-told")
    if machine.symptom("only-integrated-gpu-told") is None or named is not None:
        return False
    return not vendors_there(machine) and machine.nvidia_driver.version is None and not machine.rocm
