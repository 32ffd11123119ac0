"""Whether anything in a text accuses: shared by rules that what works excludes."""

from __future__ import annotations

from doctor.facts import Snapshot


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
