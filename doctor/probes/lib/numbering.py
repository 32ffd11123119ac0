"""The GPUs' numbers in each order, worked out from what is known; pure, called once after all probes.

pci and smi follow PCI addresses. HIP keeps the order of the KFD nodes. CUDA's own order is known when all its GPUs
are alike or CUDA_DEVICE_ORDER asks for PCI_BUS_ID. The visibility variables then say what a program sees:
ROCR_VISIBLE_DEVICES filters first and renumbers, HIP_VISIBLE_DEVICES (or CUDA_VISIBLE_DEVICES in its place) counts
within that. All three lists end at their first invalid entry. GPU_DEVICE_ORDINAL is left alone: AMD's runtime reads
it for OpenCL only.

Sources: CUDA programming guide, environment variables; ROCm docs, GPU isolation; ROCr amd_filter_device.cpp. 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from doctor.facts.gpu import Gpu
from doctor.facts.model import Origin
from doctor.facts.origin import State
from doctor.facts.snapshot import Snapshot

_UNBOUND = ("none", "vfio-pci", "nouveau", "nova_core", "pci-stub", "xen-pciback")
_NUMBER = re.compile(r"^\d{1,4}$")
_ROCR_NUMBER = re.compile(r"^(?:0[xX][0-9a-fA-F]{1,4}|\d{1,4})$")
_CUDA = "CUDA_VISIBLE_DEVICES"


class Slot(NamedTuple):
    """A place in a runtime's list: a GPU, or a partition of one, with the unique ids that select it."""

    gpu: str
    ids: tuple[str, ...]


def number(machine: Snapshot) -> Snapshot:
    """The same machine with `index.pci`, `.smi`, `.hip`, `.cuda` and `.visible` where they follow from what is known.
    A number that is there already stays."""
    if not machine.gpus:
        return machine
    found: dict[str, dict[str, int]] = {g.key: {} for g in machine.gpus}
    origins: dict[str, Origin] = {}
    for vendor in ("nvidia", "amd"):
        gpus = machine.of_vendor(vendor)
        if gpus and all(g.pci_address for g in gpus):
            _rank(found, "pci", sorted(gpus, key=_address))
            _rank(found, "smi", sorted((g for g in gpus if g.driver not in _UNBOUND), key=_address))
    _nvidia(machine, found, origins)
    _amd(machine, found, origins)
    return _with(machine, found, origins)


def _address(gpu: Gpu) -> str:
    return (gpu.pci_address or "").rjust(16, "0")


def _rank(found: dict[str, dict[str, int]], order: str, gpus: Sequence[Gpu]) -> None:
    for place, gpu in enumerate(gpus):
        found[gpu.key][order] = place


def _nvidia(machine: Snapshot, found: dict[str, dict[str, int]], origins: dict[str, Origin]) -> None:
    gpus = [g for g in machine.of_vendor("nvidia") if g.driver not in _UNBOUND]
    environment = machine.environment
    asked = (environment or {}).get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    models = {g.pci_id or g.name for g in gpus}
    alike = len(gpus) == 1 or (len(models) == 1 and None not in models)
    mig = any(g.mig_mode == "enabled" for g in gpus)
    if all(g.pci_address for g in gpus) and (alike or asked) and (not mig or len(gpus) == 1):
        _rank(found, "cuda", sorted(gpus, key=_address))
    if environment is None:
        return
    ranked = sorted((g for g in gpus if "cuda" in found[g.key]), key=lambda g: found[g.key]["cuda"])
    ordered = [Slot(g.key, _plain(g.uuid, *(p.uuid for p in g.partitions or ()))) for g in (ranked or gpus)]
    if _CUDA in environment:
        by_number = bool(ranked)
        chosen = cuda_list(environment[_CUDA], ordered, by_number)
    else:
        chosen = ordered if ranked else None
    _see(found, origins, [g.key for g in gpus], chosen, f"environment:{_CUDA}")


def _amd(machine: Snapshot, found: dict[str, dict[str, int]], origins: dict[str, Origin]) -> None:
    refused = {n.node for n in machine.kfd.nodes or () if n.readable is False}
    places: list[tuple[int, Slot]] = []
    gpus = [g for g in machine.of_vendor("amd") if g.driver not in _UNBOUND]
    for gpu in gpus:
        parts: list[tuple[int | None, str | None]]
        parts = [(p.kfd, p.uuid) for p in gpu.partitions or () if p.kind == "compute" and p.kfd is not None]
        for node, uuid in parts or [(gpu.index.kfd, gpu.uuid)]:
            if node is None:
                return
            if node not in refused:
                places.append((node, Slot(gpu.key, _plain(uuid))))
    slots = [slot for _, slot in sorted(places, key=lambda place: place[0])]
    for place, slot in enumerate(slots):
        found[slot.gpu].setdefault("hip", place)
    environment = machine.environment
    if environment is None:
        return
    chosen: list[Slot] | None = slots
    if "ROCR_VISIBLE_DEVICES" in environment:
        chosen = rocr_list(environment["ROCR_VISIBLE_DEVICES"], slots)
    # The runtime takes an empty list of these two for one that is not set.
    second = next((v for v in ("HIP_VISIBLE_DEVICES", _CUDA) if environment.get(v)), None)
    if second is not None and chosen is not None:
        chosen = hip_list(environment[second], chosen)
    _see(found, origins, [g.key for g in gpus], chosen, f"environment:{second or 'ROCR_VISIBLE_DEVICES'}")


def _see(
    found: dict[str, dict[str, int]],
    origins: dict[str, Origin],
    keys: Sequence[str],
    chosen: Sequence[Slot] | None,
    source: str,
) -> None:
    """Write the visible numbers. Hidden ones are absent, not unknown."""
    if chosen is None:
        return
    for place, slot in enumerate(chosen):
        found[slot.gpu].setdefault("visible", place)
    for key in keys:
        state = State.VALUE if "visible" in found[key] else State.ABSENT
        origins[f"gpus[{key}].index.visible"] = Origin(state=state, source=source)


def cuda_list(text: str, slots: Sequence[Slot], by_number: bool = True) -> list[Slot] | None:
    """None where a number is used and the order is unknown, or one GPU is named twice (CUDA then shows what we don't
    know). Of MIG instances only one is ever shown.

    >>> [s.gpu for s in cuda_list("1,0,-1,2", [Slot("a", ()), Slot("b", ()), Slot("c", ())])]
    ['b', 'a']
    """
    chosen: list[Slot] = []
    for token in (t.strip() for t in text.split(",")):
        if _NUMBER.match(token) and not by_number:
            return None
        slot = _pick(token, slots, _NUMBER, 10)
        if slot is None:
            break
        if slot in chosen:
            return None
        chosen.append(slot)
        if token.upper().startswith("MIG-"):
            break
    return chosen


def rocr_list(text: str, slots: Sequence[Slot]) -> list[Slot]:
    """Set but empty hides all. A repeated entry ends the list too."""
    return _until_invalid(text, slots, _ROCR_NUMBER, 0)


def hip_list(text: str, slots: Sequence[Slot]) -> list[Slot]:
    """Numbers count within `slots`, what ROCr left."""
    return _until_invalid(text, slots, re.compile(r"^(?:0|[1-9]\d{0,3})$"), 10)


def _until_invalid(text: str, slots: Sequence[Slot], numbers: re.Pattern[str], base: int) -> list[Slot]:
    chosen: list[Slot] = []
    for token in (t.strip() for t in text.split(",")):
        slot = _pick(token, slots, numbers, base)
        if slot is None or slot in chosen:
            break
        chosen.append(slot)
    return chosen


def _pick(token: str, slots: Sequence[Slot], numbers: re.Pattern[str], base: int) -> Slot | None:
    if numbers.match(token):
        index = int(token, 16 if base == 0 and token[:2] in ("0x", "0X") else 8 if base == 0 and _octal(token) else 10)
        return slots[index] if index < len(slots) else None
    if not token.upper().startswith(("GPU-", "MIG-")):
        return None
    wanted = _bare(token)
    hits = [s for s in slots if wanted and any(i.startswith(wanted) for i in s.ids)]
    return hits[0] if len(hits) == 1 else None


def _octal(token: str) -> bool:
    return len(token) > 1 and token[0] == "0" and all(c in "01234567" for c in token)


def _plain(*ids: str | None) -> tuple[str, ...]:
    return tuple(_bare(i) for i in ids if i)


def _bare(unique_id: str) -> str:
    """Lower case, without the marks before it and, for the old `MIG-GPU-UUID/gi/ci`, what follows it."""
    text = unique_id.strip().lower().partition("/")[0]
    for mark in ("mig-", "gpu-", "0x"):
        text = text.removeprefix(mark)
    return text


def _with(machine: Snapshot, found: Mapping[str, Mapping[str, int]], origins: Mapping[str, Origin]) -> Snapshot:
    keep: Callable[[Gpu], dict[str, int]] = lambda g: {  # noqa: E731
        order: place for order, place in found[g.key].items() if getattr(g.index, order) is None
    }
    gpus = tuple(g.model_copy(update={"index": g.index.model_copy(update=keep(g))}) for g in machine.gpus or ())
    return machine.model_copy(update={"gpus": gpus, "origins": {**machine.origins, **origins}})
