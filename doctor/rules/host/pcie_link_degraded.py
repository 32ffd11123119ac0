"""A GPU's PCIe link has fewer lanes than the GPU can use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules import presence
from doctor.rules.run_line import from_text

if TYPE_CHECKING:
    from doctor.facts.gpu import Gpu
    from doctor.facts.snapshot import Symptom
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="pcie-link-degraded",
    severity=Severity.WARNING,
    title="A GPU's PCIe link has fewer lanes than the GPU can use.",
    needs=[{"gpus[].link.width"}, {"kernel_log.events"}],
    proven="synthetic",
    order=63,
    facts_decide=False,
    tags=("host",),
    doc="""
## What it finds
A link with fewer lanes than the GPU and slot can do; uncorrected errors of a GPU's link in the kernel log, or many
corrected ones (info).

## Why it matters
Copies are slower, and a bad link can drop the GPU off the bus.

## Not raised when
Lanes are as many as can be; a lower speed alone is power saving. x8 of x16, which many boards give by design. A virtual
function. A slot without more lanes makes it information, and so do several GPUs of a pasted text that all have the same
lanes while nobody complains of speed or of the link, and so does a tunnel (Thunderbolt, USB4), which reports four
lanes at 2.5 GT/s. A few corrected errors. Words accuse no MI300A, which has processor and GPU in one socket.

## How to confirm
`lspci -vv`: LnkSta against LnkCap.

## Fix
Seat the card anew, change the riser or cable, or use another slot.

## Fix safety
A change of the host: plan it for when no job runs on the node.

## References
https://docs.kernel.org/PCI/index.html
""",
)
FIXES = (
    Fix(text="Show the link's state.", command=("lspci", "-vv")),
    Fix(text="Seat the card anew, change the riser or cable, or use another slot."),
    Fix(text="Use a slot with more lanes, where the board has one."),
)

_ENOUGH = 8
"""Lanes: what boards that share one slot's sixteen between two give each."""


def unheard(machine: Snapshot) -> bool:
    """Where the link has all its lanes and rests: GPUs lower its speed while nothing is to be moved. Where its few
    errors were corrected, or the errors are of another device. Where it is a tunnel's, or GPU and processor are one."""
    if machine.gpus and all(_SOCKETED in (gpu.name or "") for gpu in machine.gpus):
        return True
    if machine.symptom("said-slow", "link-complained-of"):
        return False
    if machine.symptom("bus-error-of-other-device-told") and not machine.symptom("bus-error-of-gpu-told"):
        return True
    lanes = machine.symptom("link-has-all-lanes") is not None
    return lanes or _rests(machine) or _corrected(machine) or _by_tunnel(machine, machine.symptom(_LIMITED))


_SOCKETED = "MI300A"
"""A processor with its GPU in one socket (SH5): no slot, and no PCIe link between the two."""


def _rests(machine: Snapshot) -> bool:
    """Whether tools show enough lanes of every GPU whose link they show, and GPUs with nothing to do."""
    shown = [gpu for gpu in machine.gpus or () if gpu.link.width]
    idle = all(gpu.sensors.utilisation_percent == 0 for gpu in shown)
    return bool(shown) and idle and all((gpu.link.width or 0) >= _ENOUGH for gpu in shown)


_MORE_IS_WRONG = (
    *("gpu-lost-later-told", "gpu-fallen-off-bus", "gpu-left-the-bus", "gpu-gone-from-bus-told", "gpu-not-seen-said"),
    *("gpu-falls-off-bus-told", "gpu-work-goes-wrong", "program-crashed", "bus-errors-are-many-told"),
)


def _corrected(machine: Snapshot) -> bool:
    """Whether the kernel's log shows a few corrected errors of the link and nothing else, and nobody minds more."""
    events = machine.kernel_log.events or ()
    few = bool(events) and all(e.code == "pcie-aer-correctable" and e.count < _MANY for e in events)
    return few and machine.symptom(*_MORE_IS_WRONG) is None


def _tunnelled(machine: Snapshot, gpu: Gpu) -> bool:
    """Whether a link of four lanes at the lowest speed is what the tunnel of Thunderbolt or USB4 reports of itself."""
    slowest = gpu.link.width == _OF_TUNNEL and gpu.link.speed_gt_s == _SLOWEST
    return slowest and machine.symptom("thunderbolt-told") is not None


def _by_tunnel(machine: Snapshot, symptom: Symptom | None) -> bool:
    """The same of a line in which the bus says what limits a device."""
    slowest = symptom is not None and _OF_A_TUNNEL.search(symptom.text) is not None
    return slowest and machine.symptom("thunderbolt-told") is not None


_LIMITED = "link-bandwidth-limited"
_OF_TUNNEL, _SLOWEST = 4, 2.5
"""Lanes and GT/s of the virtual link, whatever the cable carries (USB4 specification, PCIe tunnelling)."""
_OF_A_TUNNEL = Lazy(r"limited by 2\.5 GT/s PCIe x4 link")


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
            tunnel = _tunnelled(machine, gpu)
            yield Finding(
                severity=Severity.INFO if by_slot or tunnel or designed else Severity.WARNING,
                summary=f"{gpu.key}: x{gpu.link.width} of x{gpu.link.max_width} PCIe lanes"
                + (", and its slot has no more." if by_slot else ", as tunnels report." if tunnel else "."),
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=evidence(machine, [f"gpus[{gpu.key}].link.{n}" for n in ("width", "max_width", "slot_width")]),
                fixes=FIXES[2:] if by_slot else FIXES[:2],
            )
    yield from _bus_errors(machine, hit)


_MINDED = ("said-slow", "link-complained-of", "bus-error-of-gpu-told", "link-bandwidth-limited", *_MORE_IS_WRONG)
"""What makes a narrow link worth a word though all are alike."""


def _alike(machine: Snapshot) -> bool:
    """Whether several GPUs of a pasted text have links of the same width: the board gives them no more (bifurcation,
    risers). A bad contact takes lanes from one."""
    gpus = [g for g in machine.gpus or () if not g.integrated and from_text(machine, f"gpus[{g.key}].link.width")]
    widths = [gpu.link.width for gpu in gpus if gpu.link.width]
    errors = any(event.code == "pcie-aer-uncorrectable" for event in machine.kernel_log.events or ())
    return len(widths) > 1 and len(set(widths)) == 1 and not errors


_MANY = 100
"""Corrected errors of a link since boot from which on they are told: links correct a few by design."""


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
            fixes=FIXES,
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
    if _by_tunnel(machine, symptom):
        return
    yield Finding(
        summary=RULE.title,
        subject=Subject(kind="gpu", id=address or "-"),
        evidence=(Evidence(text=symptom.text, source=symptom.source),),
        fixes=FIXES,
    )
