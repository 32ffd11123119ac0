from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import firmware, set_to
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.integrated import discrete, integrated, is_integrated

if TYPE_CHECKING:
    from doctor.facts.snapshot import Symptom

RULE = Rule(
    id="integrated-gpu-conflict",
    severity=Severity.WARNING,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.GPU,
    title="The integrated GPU interferes with the discrete one.",
    needs=[{"gpus"}],
    facts_decide=False,
    proven="synthetic",
    order=55,
    tags=("amd", "host"),
    doc="""
## What it finds
Texts that link a failure to an integrated GPU that is used, or counted, beside the discrete one.

## Why it matters
Libraries without kernels for the integrated GPU crash, or the wrong GPU runs the work.

## Not raised when
- Only one kind is there, or HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES already chooses.
- Nothing crashes: then it is information.

## How to confirm
Hide the integrated GPU with HIP_VISIBLE_DEVICES and try again.

## Fix
Hide it, or disable it in the firmware.

## Fix safety
The variable affects one job. The firmware setting needs a reboot, and a display on the card.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
""",
)
_CRASHES = (
    "program-crashed",
    "hip-invalid-device-function",
    "amd-memory-access-fault",
    "hip-launch-failure",
    "hip-no-binary-for-gpu",
    "hsa-incompatible-kernel-object",
    "rocclr-no-compatible-code-objects",
    "collective-hangs",
    "hip-shared-object-init-failed",
    "kernel-image-invalid",
    "hip-invalid-handle",
)
"""Error texts of programs that have no code for one of the GPUs that they are shown."""
_CHOOSE = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
_FIRMWARE = firmware(
    "Disable the integrated GPU in the firmware settings.",
    "Set Integrated Graphics (or UMA Frame Buffer) to disabled; the display must then be on the card.",
    undo="Enable it again.",
    vendor="amd",
)


def advice(machine: Snapshot, kb: Knowledge | None = None) -> tuple[Remedy, ...]:
    """Only the card, by its number where it is known."""
    return _show_card(machine, "HIP_VISIBLE_DEVICES"), _FIRMWARE


def _show_card(machine: Snapshot, name: str) -> Remedy:
    number = next((gpu.index.hip for gpu in discrete(machine) if gpu.index.hip is not None), None)
    how = "" if number is not None else " (0 where it is the first GPU of `rocminfo`)"
    title = f"Show programs the card only, with {name}{how}."
    return set_to(machine, title, **{name: str(number or 0)}).model_copy(update={"vendor": "amd"})


_NO_CODE = ("torch-missing-gpu-arch", "library-missing-gpu-arch")
"""What programs say of the integrated GPU, where ROCm lists the card."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    small, cards = integrated(machine), discrete(machine)
    if not small or not cards or any((machine.environment or {}).get(name) for name in _CHOOSE):
        return
    crash = machine.symptom(*_CRASHES)
    lacks = machine.symptom("rocblas-tensile-missing")
    for_it = lacks is not None and small[0].arch is not None and small[0].arch in lacks.text
    crash = crash or (lacks if for_it else None)
    names = (f"gpus[{small[0].key}].arch", f"gpus[{cards[0].key}].arch", *([f"symptom:{crash.key}"] if crash else []))
    yield Finding(
        severity=Severity.WARNING if crash else Severity.INFO,
        basis="both" if crash else "facts",
        suspect=bool(machine.symptoms),
        explains=(
            *(("blas-kernels-missing", "library-missing-gpu-arch") if for_it else ()),
            *(_NO_CODE if crash and all(kb.rocm_range(g.arch) for g in cards) else ()),
        ),
        summary=f"Programs see the integrated {small[0].arch} GPU beside the {cards[0].arch} card.",
        subject=Subject(kind="gpu", id=small[0].key),
        evidence=evidence(machine, names),
        remedies=advice(machine),
    )


_SHOWN_FIRST = {
    "rocblas-lacks-gpu-of-cpu": ("blas-kernels-missing", "amd-gpu-unsupported-by-rocm", *_NO_CODE),
}


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """Kernels that are missing for the GPU inside the CPU are not what is wrong: it should not be asked."""
    of_the_cpu = symptom.key == "rocblas-lacks-gpu-of-cpu"
    if of_the_cpu and integrated(machine) and all(map(is_integrated, machine.of_vendor("amd"))):
        return  # there is no other GPU that could be asked
    summary = "A library looked for kernels for the small GPU inside the CPU."
    yield Finding(
        summary=summary if of_the_cpu else RULE.title,
        explains=_SHOWN_FIRST.get(symptom.key, ()),
        subject=Subject(kind="gpu", id="integrated"),
        evidence=(Evidence(text=symptom.text, source=symptom.source),),
        remedies=advice(machine),
    )
