"""An integrated GPU beside the discrete one breaks it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.integrated import APU_TARGETS, discrete, integrated, is_integrated, processor_has_gpu

if TYPE_CHECKING:
    from doctor.facts.gpu import Gpu
    from doctor.facts.snapshot import Symptom
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="integrated-gpu-conflict",
    severity=Severity.WARNING,
    title="An integrated GPU beside the discrete one breaks it.",
    needs=[{"gpus"}],
    facts_decide=False,
    proven="synthetic",
    order=55,
    tags=("amd", "host"),
    doc="""
## What it finds
Texts that tie a failure to an integrated GPU that is used, or counted, beside the discrete one. Also a card and a
processor whose name tells of a GPU in it, where programs crash as they do when both are shown to them.

## Why it matters
Libraries without kernels for the integrated GPU crash, or the wrong GPU runs the work.

## Not raised when
- Only one kind is there, or HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES already chooses.
- Nothing is seen to crash: then the pair is information.

## How to confirm
Hide the integrated GPU with HIP_VISIBLE_DEVICES and try again.

## Fix
Hide it, or turn it off in the firmware.

## Fix safety
A change of the host: plan it for when no job runs on the node.

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
    "invalid-device-function",
    "hip-shared-object-init-failed",
    "hip-invalid-image",
    "hip-invalid-handle",
)
"""Error texts of programs that have no code for one of the GPUs that they are shown."""
_CHOOSE = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
FIXES = (
    Fix(
        text="Show only the discrete GPU, whose index rocminfo tells.",
        command=("env", "HIP_VISIBLE_DEVICES=0", "python3"),
    ),
    Fix(text="Or turn the integrated GPU off in the firmware settings.", reboot=True),
)
HIDDEN_FROM_ROCR = Fix(
    text="Hide it from ROCr, which looks at every GPU before HIP's variable is read.",
    command=("env", "ROCR_VISIBLE_DEVICES=0", "python3"),
)


_EXPLAINS = ("amd-gpu-unsupported-by-rocm", "known-bad-library-version", "visible-devices-conflict")
_NO_CODE = ("torch-missing-gpu-arch", "library-missing-gpu-arch")
"""What programs say of the integrated GPU, where ROCm lists the card."""


_OWN_SOURCE = "crash-in-own-source-told"


def _crash(machine: Snapshot) -> Symptom | None:
    """How programs break that have no code for a GPU: not by a fault of a line of their own source."""
    own = machine.symptom(_OWN_SOURCE) is not None
    return machine.symptom(*(key for key in _CRASHES if not own or key != "program-crashed"))


def unheard(machine: Snapshot) -> bool:
    """Where no GPU is in the processor, or the only one that is shown is no desktop's second one; where a
    program fell over a line of its own; where it took the card and left the other one out. Where a server of models put
    its layers on the GPUs that it lists by target, and none of these is integrated. Where no GPU, processor or vendor
    is named, and where bbswitch lists both of a laptop and nothing crashes."""
    if _names_none(machine):
        return True
    if machine.symptom("bbswitch-lists-adapters-told") and not machine.symptom(*_CRASHES):
        return True
    if machine.symptom(_OWN_SOURCE) and _crash(machine) is None:
        return True
    if _card_is_used(machine) and machine.symptom(*_CRASHES) is None:
        return True
    if _NONE_IN_IT.search(machine.host.cpu or "") and not integrated(machine):
        return True
    amd = machine.of_vendor("amd")
    archs = {(g.arch or "").partition(":")[0] for g in amd}
    if amd and archs <= _OF_SERVERS:
        return True
    if len(discrete(machine)) == len(amd) > 0 and machine.symptom("layers-on-gpu") is not None:
        return True
    if _cards_alone_are_listed(machine):
        return True
    alone = len(amd) == len(machine.gpus or ()) == 1 and _CARD.search(amd[0].name or "") is None
    return alone and bool(archs & APU_TARGETS) and "gfx1036" not in archs


def _cards_alone_are_listed(machine: Snapshot) -> bool:
    """Whether a program that computes with every GPU that ROCm shows it counts them, and so many cards are known: none
    is left that could be in the processor."""
    counted = machine.symptom("ggml-finds-gpus-told")
    found = _COUNTED.search(counted.text) if counted else None
    return found is not None and int(found[1]) == len(discrete(machine)) == len(machine.of_vendor("amd"))


def _names_none(machine: Snapshot) -> bool:
    """Whether the text tells of no GPU at all whose kind it is: that a program crashes is no pair of GPUs."""
    shown = machine.gpus or machine.pci or machine.rocm or machine.host.cpu or machine.torch.version
    return not shown and machine.symptom(*_OF_A_KIND) is None


_OF_A_KIND = ("amd-gpu-told", "amdgpu-driver-named", "amd-gpu-by-name-told", "nvidia-gpu-told", "device-choice-helps")


def _card_is_used(machine: Snapshot) -> bool:
    """Whether the card is what runs the work: TensorFlow made a device of it, ComfyUI and its kin or a renderer name it
    as theirs; whisper.cpp and DirectML take one GPU, the first, and that is the card."""
    named = (machine.symptom(key) for key in _TAKEN)
    if any(taken is not None and _CARD.search(taken.text) for taken in named):
        return True
    first = next((g.name or "" for g in machine.of_vendor("amd")), "")
    directml = any(p.name.endswith("-directml") for p in machine.packages or ())
    return bool(_CARD.search(first)) and (directml or machine.symptom("first-gpu-is-used-told") is not None)


_TAKEN = ("tensorflow-made-gpu-device-told", "launcher-device-told", "program-names-its-device-told")
_NONE_IN_IT = Lazy(
    r"(?i)\bryzen (?:threadripper|\d [1-5]\d00(?:X|XT|X3D|E)?\b(?! with))"
    r"|\bepyc\b(?! 4\d\d[45])|\bxeon\b|\bi\d-\d{4,5}K?F\b"
)
"""Processors without a GPU: Ryzen of the series 1000 to 5000 that have no letter for one, EPYC but for its 4004 and
4005, Xeon (some have Intel's, which ROCm does not list). Source: www.amd.com's table of processor specifications,
column Graphics Model, as of 2026-08."""
_COUNTED = Lazy(r"\bfound (\d{1,3}) ROCm devices")
_CARD = Lazy(r"\bRX ?\d|\bW\d{4}\b|\bR9\d00\b|\bVII\b|\bGeForce\b|\bRTX ?[A-Z]?\d|\bQuadro\b")
_OF_SERVERS = frozenset(("gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950"))


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding where ROCm lists both kinds and nothing chooses between them."""
    small, cards = integrated(machine), discrete(machine)
    if not cards or any((machine.environment or {}).get(name) for name in _CHOOSE):
        return
    if not small:
        yield from _of_processor(machine, cards)
        return
    chosen = machine.symptom("device-choice-helps")
    crash = chosen or _crash(machine)
    lacks = machine.symptom("rocblas-tensile-missing", "blas-kernels-missing")
    for_it = lacks is not None and small[0].arch is not None and small[0].arch in lacks.text
    crash = crash or (lacks if for_it else None)
    names = (f"gpus[{small[0].key}].arch", f"gpus[{cards[0].key}].arch", *([f"symptom:{crash.key}"] if crash else []))
    yield Finding(
        severity=Severity.WARNING if crash else Severity.INFO,
        basis="both" if crash else "facts",
        suspect=any(not s.mention for s in machine.symptoms)
        and (crash is not None or not machine.symptom(_OWN_SOURCE)),
        explains=(
            *(_EXPLAINS if chosen else ()),
            *(("blas-kernels-missing", "library-missing-gpu-arch") if for_it else ()),
            *(_NO_CODE if crash and all(kb.rocm_range(g.arch) for g in cards) else ()),
        ),
        summary=f"Programs are shown the integrated {small[0].arch} beside the {cards[0].arch} card.",
        subject=Subject(kind="gpu", id=small[0].key),
        evidence=evidence(machine, names),
        fixes=FIXES,
    )


def _of_processor(machine: Snapshot, cards: tuple[Gpu, ...]) -> Iterator[Finding]:
    """The text names a card and a processor with a GPU in it, and programs break as they do where both are shown: one
    of two causes, and it takes nothing from the other."""
    crash = machine.symptom("device-choice-helps", *_CRASHES)
    if crash is None or not processor_has_gpu(machine):
        return
    names = ("host.cpu", f"gpus[{cards[0].key}].arch", f"symptom:{crash.key}")
    yield Finding(
        severity=Severity.WARNING,
        basis="both",
        suspect=1,
        explains=(),
        summary=f"The processor has a GPU of its own: beside the {cards[0].arch} card programs may be shown both.",
        subject=Subject(kind="gpu", id="integrated"),
        evidence=evidence(machine, names),
        fixes=FIXES,
        ask="the agents of `rocminfo`: is the processor's GPU among them, and which number has the card",
    )


_SHOWN_FIRST = {
    "rocblas-lacks-gpu-of-cpu": ("blas-kernels-missing", "amd-gpu-unsupported-by-rocm", *_NO_CODE),
    "integrated-gpu-first-told": _NO_CODE,
}


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """Kernels that are missing for the GPU inside the CPU are not what is wrong: it should not be asked."""
    of_the_cpu = symptom.key == "rocblas-lacks-gpu-of-cpu"
    if of_the_cpu and integrated(machine) and all(map(is_integrated, machine.of_vendor("amd"))):
        return  # there is no other GPU that could be asked
    summary = "A library was asked for kernels of the small GPU inside the CPU."
    yield Finding(
        summary=summary if of_the_cpu else RULE.title,
        explains=_SHOWN_FIRST.get(symptom.key, ()),
        subject=Subject(kind="gpu", id="integrated"),
        evidence=(Evidence(text=symptom.text, source=symptom.source),),
        fixes=(HIDDEN_FROM_ROCR, *FIXES[1:]) if symptom.key == "helped-by-rocr-choice" else FIXES,
    )
