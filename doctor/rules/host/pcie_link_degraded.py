from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.findings import Action, Evidence, Finding, Layer, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import presence
from doctor.rules.lib.advice import STOPS_NODE, by_hand
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.run_line import from_text

if TYPE_CHECKING:
    from doctor.facts.snapshot import Symptom

RULE = Rule(
    id="pcie-link-degraded",
    severity=Severity.WARNING,
    scope=Scope.HARDWARE,
    action=Action.DRAIN,
    layer=Layer.GPU,
    title="A GPU's PCIe link uses fewer lanes than the GPU supports.",
    needs=[{"gpus[].link.width"}, {"kernel_log.events"}],
    proven="synthetic",
    order=63,
    facts_decide=False,
    tags=("host",),
    doc="""
## What it finds
A link with fewer lanes than the GPU and slot support, or one that stays at 2.5 GT/s while the GPU works; uncorrected
errors of a GPU's link in the kernel log, or many corrected ones (info).

## Why it matters
Copies are slower, and a bad link can drop the GPU off the bus.

## Not raised when
The link has all possible lanes; a lower speed of an idle GPU is power saving. x8 of x16, which many boards give by
design. A virtual function. It is information if the slot has no more lanes, or a tunnel (Thunderbolt, USB4) reports
four lanes at 2.5 GT/s. So it is if several GPUs of a pasted text have the same lanes and nobody complains about speed
or the link. A few corrected errors. A text about an MI300A, which has CPU and GPU in one socket, does not count.

## How to confirm
`lspci -vv`: LnkSta against LnkCap.

## Fix
Reseat the card, change the riser or cable, or use another slot.

## References
https://docs.kernel.org/PCI/index.html
""",
)
_RESEAT = by_hand(
    "Reseat the card, then replace the riser or cable, then try another slot.",
    Scope.HARDWARE,
    "After each step compare LnkCap with LnkSta in `lspci -vv` while a program uses the GPU.",
    undo="Put the card back.",
    risk=STOPS_NODE,
)
_SLOT = by_hand(
    "Move the card to a slot with more lanes, if the board has one.",
    Scope.HARDWARE,
    "The board's manual lists each slot's lanes and which slots share them.",
    undo="Move it back.",
    risk=STOPS_NODE,
)
REMEDIES = (_RESEAT, _SLOT)

_ENOUGH = 8
"""Lanes: what boards that share one slot's sixteen between two give each."""


_MORE_IS_WRONG = (
    *("gpu-fallen-off-bus", "gpu-left-the-bus"),
    *("program-crashed",),
)


_FIRST_SPEED, _BUSY = 2.5, 50
"""GT/s that a link idles at, and the per cent of use from which on it must be faster."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each GPU with a narrow link, or with bus errors of its link in the kernel log."""
    hit = set()
    designed = _alike(machine) and machine.symptom(*_MINDED) is None
    for gpu in machine.gpus or ():
        if (
            gpu.link.width
            and gpu.link.max_width
            and gpu.link.width < gpu.link.max_width
            and gpu.link.width < _ENOUGH
            and not gpu.integrated
            and not gpu.virtual_function
        ):
            hit.add(gpu.pci_address or gpu.key)
            by_slot = gpu.link.slot_width is not None and gpu.link.slot_width <= gpu.link.width
            yield Finding(
                severity=Severity.INFO if by_slot or designed else Severity.WARNING,
                summary=f"GPU {gpu.key}: the PCIe link uses x{gpu.link.width} of x{gpu.link.max_width} lanes"
                + (", and its slot has no more." if by_slot else "."),
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=evidence(machine, [f"gpus[{gpu.key}].link.{n}" for n in ("width", "max_width", "slot_width")]),
                remedies=(_SLOT,) if by_slot else (_RESEAT,),
            )
        elif _slow_at_work(gpu) and not from_text(machine, f"gpus[{gpu.key}].link.speed_gt_s"):
            yield Finding(
                summary=f"GPU {gpu.key}: the PCIe link stays at 2.5 of {gpu.link.max_speed_gt_s} GT/s while it works.",
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=evidence(
                    machine, [f"gpus[{gpu.key}].{name}" for name in ("link.speed_gt_s", "sensors.utilisation_percent")]
                ),
                remedies=(_RESEAT,),
            )
    yield from _bus_errors(machine, hit)


def _slow_at_work(gpu: Gpu) -> bool:
    """A link idles at the first generation's speed; a GPU that is busy raises it."""
    slow = gpu.link.speed_gt_s == _FIRST_SPEED and (gpu.link.max_speed_gt_s or 0) > _FIRST_SPEED
    return slow and (gpu.sensors.utilisation_percent or 0) >= _BUSY and not gpu.virtual_function


_MINDED = ("link-bandwidth-limited", *_MORE_IS_WRONG)
"""What makes a narrow link worth a word though all are alike."""


def _alike(machine: Snapshot) -> bool:
    """Whether several GPUs of a pasted text have links of the same width: the board gives them no more (bifurcation,
    risers). A bad contact takes lanes from one."""
    gpus = [g for g in machine.gpus or () if not g.integrated and from_text(machine, f"gpus[{g.key}].link.width")]
    widths = [gpu.link.width for gpu in gpus if gpu.link.width]
    errors = any(event.code == "pcie-aer-uncorrectable" for event in machine.kernel_log.events or ())
    return len(widths) > 1 and len(set(widths)) == 1 and not errors


_MANY = 100
"""Corrected errors of a link since boot from which on they are reported: links correct a few by design."""


def _bus_errors(machine: Snapshot, hit: set[str]) -> Iterator[Finding]:
    """Uncorrected errors are a warning, many corrected ones information: the link repeats what was lost."""
    source = machine.source("kernel_log.events")
    for event in machine.kernel_log.events or ():
        uncorrected = event.code == "pcie-aer-uncorrectable"
        many = event.code == "pcie-aer-correctable" and event.count >= _MANY
        if event.device is None or event.device in hit or not (uncorrected or many):
            continue
        hit.add(event.device)
        yield Finding(
            severity=Severity.WARNING if uncorrected else Severity.INFO,
            summary=f"GPU {event.device}: {'uncorrected' if uncorrected else f'{event.count} corrected'} PCIe errors.",
            subject=Subject(kind="gpu", id=event.device),
            evidence=(Evidence(text=f"{presence.times(event)}{event.text}", source=source),),
            remedies=REMEDIES,
        )


_ADDRESS = Lazy(r"\b((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\b")


def on_symptom(machine: Snapshot, kb: Knowledge, symptom: Symptom) -> Iterator[Finding]:
    """The bus prints the link of every device; one that the same text knows not to be its GPU says nothing here. Links
    of GPUs that lspci shows were judged by what they are."""
    of_lspci = symptom.text.lstrip().startswith("LnkSta")
    if of_lspci and (any(g.link.width for g in machine.gpus or ()) or (machine.pci and not machine.gpus)):
        return
    named = _ADDRESS.search(symptom.text.lower())
    address = (named[1] if named[1].count(":") == 2 else f"0000:{named[1]}") if named else None
    gpus = {g.pci_address for g in machine.gpus or ()} | {e.device for e in machine.kernel_log.events or ()}
    gpus.discard(None)
    if address and gpus and address not in gpus:
        return
    yield Finding(
        summary=RULE.title,
        subject=Subject(kind="gpu", id=address or "-"),
        evidence=(Evidence(text=symptom.text, source=symptom.source),),
        remedies=REMEDIES,
    )
