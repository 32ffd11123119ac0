"""`--gpus 0,2`: which GPUs are meant.

By the number that nvidia-smi and amd-smi show, by PCI address or UUID, or a partition as `GPU:PARTITION`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from doctor.errors import InputError
from doctor.facts.gpu import Gpu, Partition
from doctor.facts.snapshot import Snapshot

_NUMBER = re.compile(r"\d{1,4}")
_PARTITION = re.compile(r"(\d{1,4}):(\d{1,3})")


@dataclass(frozen=True)
class Chosen:
    """A GPU, or one partition of it. `name` is how CDI and the NVIDIA runtime call it: `2`, `0:3`."""

    name: str
    gpu: Gpu
    partition: Partition | None = None

    @property
    def render_nodes(self) -> tuple[str, ...]:
        """Under /dev/dri; of a whole GPU in CPX mode all its partitions'."""
        if self.partition is not None:
            return (self.partition.render_node,) if self.partition.render_node else ()
        of_parts = [p.render_node for p in self.gpu.partitions or () if p.kind == "compute" and p.render_node]
        return tuple(dict.fromkeys([*filter(None, [self.gpu.render_node]), *of_parts]))


@dataclass(frozen=True)
class Choice:
    vendor: Literal["amd", "nvidia"] | None
    gpus: tuple[Chosen, ...]
    every: bool


def choose(machine: Snapshot, wanted: str, vendor: str | None = None) -> Choice:
    """`wanted`: `all`, `none`, or a list with commas. `vendor` decides on a machine with GPUs of both. Raises
    InputError where a GPU is not there, naming those that are."""
    if wanted.strip().lower() == "none":
        return Choice(None, (), False)
    gpus = _of_vendor(machine, vendor)
    there = [Chosen(str(number), gpu) for number, gpu in _numbered(gpus)]
    if wanted.strip().lower() == "all":
        return Choice(_vendor(gpus), tuple(there), True)
    picked = [_one(word.strip(), there) for word in wanted.split(",") if word.strip()]
    if not picked:
        raise InputError("--gpus: give numbers, PCI addresses, UUIDs, all or none")
    unique = tuple({chosen.name: chosen for chosen in picked}.values())
    whole = {chosen.name for chosen in unique if chosen.partition is None}
    return Choice(_vendor(gpus), unique, whole == {chosen.name for chosen in there})


def _of_vendor(machine: Snapshot, vendor: str | None) -> Sequence[Gpu]:
    gpus = [g for g in machine.gpus or () if g.vendor in ("amd", "nvidia") and not g.integrated]
    gpus = gpus or [g for g in machine.gpus or () if g.vendor in ("amd", "nvidia")]
    vendors = {g.vendor for g in gpus}
    if vendor:
        gpus = [g for g in gpus if g.vendor == vendor]
    elif len(vendors) > 1:
        raise InputError("this machine has GPUs of AMD and of NVIDIA: say which with --vendor amd or --vendor nvidia")
    if not gpus:
        of_it = f" of {vendor}" if vendor else ""
        raise InputError(f"no GPU{of_it} is known on this machine; --gpus none runs without one")
    return gpus


def _vendor(gpus: Sequence[Gpu]) -> Literal["amd", "nvidia"]:
    return "amd" if gpus[0].vendor == "amd" else "nvidia"


def _numbered(gpus: Sequence[Gpu]) -> list[tuple[int, Gpu]]:
    """By the number of the vendor's tool, else in PCI order."""
    if all(g.index.smi is not None for g in gpus):
        return sorted(((g.index.smi, g) for g in gpus if g.index.smi is not None), key=lambda pair: pair[0])
    return list(enumerate(sorted(gpus, key=lambda g: g.pci_address or g.key)))


def _one(word: str, there: Sequence[Chosen]) -> Chosen:
    if _NUMBER.fullmatch(word):
        for chosen in there:
            if chosen.name == str(int(word)):
                return chosen
    elif match := _PARTITION.fullmatch(word):
        for chosen in there:
            parts = chosen.gpu.partitions or ()
            if chosen.name == str(int(match[1])) and int(match[2]) < len(parts):
                return Chosen(f"{int(match[1])}:{int(match[2])}", chosen.gpu, parts[int(match[2])])
    else:
        for chosen in there:
            if word.lower() in _spellings(chosen.gpu):
                return chosen
            for number, part in enumerate(chosen.gpu.partitions or ()):
                if part.uuid and word.lower() == part.uuid.lower():
                    return Chosen(f"{chosen.name}:{number}", chosen.gpu, part)
    known = ", ".join(f"{c.name} ({c.gpu.pci_address or c.gpu.name or c.gpu.key})" for c in there[:16])
    raise InputError(f"--gpus {word[:60]!r}: no such GPU here; there are {known}")


def _spellings(gpu: Gpu) -> set[str]:
    address = (gpu.pci_address or "").lower()
    return {s for s in (address, address.removeprefix("0000:"), (gpu.uuid or "").lower(), gpu.render_node or "") if s}
