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

_NUMBER = re.compile(r"[0-9]{1,4}")
_PARTITION = re.compile(r"([0-9]{1,4}):([0-9]{1,3})")


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
    """`gpus` is empty with vendor None (no GPU is passed) and under WSL, where all share one node."""

    vendor: Literal["amd", "nvidia"] | None
    gpus: tuple[Chosen, ...]
    every: bool

    @property
    def unseen(self) -> bool:
        """The GPUs are another machine's, of which nothing but their number is known."""
        return bool(self.gpus) and all(chosen.gpu.key.startswith("#") for chosen in self.gpus)

    @property
    def selectors(self) -> tuple[str, ...]:
        """What ROCR_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES calls the chosen: UUIDs, or ROCm's numbers. Those of the
        vendor's tool are in another order. () where one can't be told, or a partition is among them."""
        if any(chosen.partition is not None and chosen.partition.kind != "mig" for chosen in self.gpus):
            return ()
        said = [_selector(chosen) for chosen in self.gpus]
        return tuple(s for s in said if s) if all(said) else ()


def _selector(chosen: Chosen) -> str | None:
    if chosen.partition is not None:
        return chosen.partition.uuid
    if chosen.gpu.vendor == "nvidia":
        return chosen.gpu.uuid
    return None if chosen.gpu.index.hip is None else str(chosen.gpu.index.hip)


def choose(machine: Snapshot, wanted: str, vendor: str | None = None, *, elsewhere: bool = False) -> Choice:
    """`wanted`: `all`, `none`, or a list with commas. `vendor` decides on a machine with GPUs of both. `elsewhere`:
    what is written is for another machine, so that numbers and a vendor will do where this one has no GPU. Raises
    InputError where a GPU is not there, naming those that are."""
    if wanted.strip().lower() == "none":
        return Choice(None, (), False)
    if machine.host.wsl and not _candidates(machine, vendor):
        return _under_wsl(wanted, vendor)
    if elsewhere and vendor and not _candidates(machine, vendor):
        return _unseen(wanted, vendor)
    if elsewhere and not vendor and not _candidates(machine, None):
        raise InputError(
            "no GPU is known on this machine; for another one say whose and how many: --vendor amd --gpus 0,1; "
            "--gpus none goes without"
        )
    gpus = _of_vendor(machine, vendor)
    there = [Chosen(str(number), gpu) for number, gpu in _numbered(gpus)]
    if wanted.strip().lower() == "all":
        return Choice(_vendor(gpus), tuple(one for chosen in there for one in _instances(chosen)), True)
    picked = [_one(word.strip(), there) for word in wanted.split(",") if word.strip()]
    if not picked:
        raise InputError("--gpus: give numbers, PCI addresses, UUIDs, all or none")
    unique = tuple({chosen.name: chosen for chosen in picked}.values())
    whole = {chosen.name for chosen in unique if chosen.partition is None}
    passed = tuple({one.name: one for chosen in unique for one in _instances(chosen)}.values())
    return Choice(_vendor(gpus), passed, whole == {chosen.name for chosen in there})


def _instances(chosen: Chosen) -> Sequence[Chosen]:
    """A GPU in MIG mode is used by its instances alone; any other as it is."""
    parts = {number: part for number, part in _parts(chosen.gpu).items() if part.kind == "mig"}
    if chosen.partition is not None or not parts:
        return [chosen]
    return [Chosen(f"{chosen.name}:{number}", chosen.gpu, part) for number, part in sorted(parts.items())]


def _under_wsl(wanted: str, vendor: str | None) -> Choice:
    """Windows lists the GPUs; its one node in WSL leads to all of them."""
    if vendor not in ("amd", "nvidia"):
        raise InputError("WSL does not tell whose GPU it is: say it with --vendor amd or --vendor nvidia")
    if wanted.strip().lower() != "all":
        raise InputError("--gpus: WSL's /dev/dxg leads to all GPUs; one can't be chosen by it")
    return Choice("amd" if vendor == "amd" else "nvidia", (), True)


def _unseen(wanted: str, vendor: str) -> Choice:
    """GPUs of a machine that is not this one: as many as there are numbers."""
    numbers = [word.strip() for word in wanted.split(",") if word.strip()]
    if not numbers or not all(_NUMBER.fullmatch(word) for word in numbers):
        raise InputError(f"no GPU of {vendor} is known on this machine; for another one give --gpus 0,1,…")
    kind: Literal["amd", "nvidia"] = "amd" if vendor == "amd" else "nvidia"
    names = dict.fromkeys(str(int(word)) for word in numbers)
    return Choice(kind, tuple(Chosen(name, Gpu(key=f"#{name}", vendor=kind)) for name in names), False)


def _candidates(machine: Snapshot, vendor: str | None) -> list[Gpu]:
    """Of AMD and NVIDIA; an integrated GPU counts where there is no other of its vendor."""
    found: list[Gpu] = []
    for one in ("amd", "nvidia"):
        own = [g for g in machine.gpus or () if g.vendor == one and vendor in (None, one)]
        found += [g for g in own if not g.integrated] or own
    discrete = [g for g in found if not g.integrated]
    return discrete or found


def _of_vendor(machine: Snapshot, vendor: str | None) -> Sequence[Gpu]:
    gpus = _candidates(machine, vendor)
    if len({g.vendor for g in gpus}) > 1:
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
            parts = _parts(chosen.gpu)
            if chosen.name == str(int(match[1])) and int(match[2]) in parts:
                return Chosen(f"{int(match[1])}:{int(match[2])}", chosen.gpu, parts[int(match[2])])
    else:
        for chosen in there:
            if word.lower() in _spellings(chosen.gpu):
                return chosen
            for number, part in _parts(chosen.gpu).items():
                if word.lower() in {s.lower() for s in (part.uuid, part.render_node) if s}:
                    return Chosen(f"{chosen.name}:{number}", chosen.gpu, part)
    known = ", ".join(_known(chosen) for chosen in there[:16])
    raise InputError(f"--gpus {word[:60]!r}: no such GPU here; there are {known}")


def _known(chosen: Chosen) -> str:
    parts = [f"{chosen.name}:{number}" for number in _parts(chosen.gpu)]
    of_it = f" in partitions {parts[0]} to {parts[-1]}" if parts else ""
    return f"{chosen.name} ({chosen.gpu.pci_address or chosen.gpu.name or chosen.gpu.key}){of_it}"


def _parts(gpu: Gpu) -> dict[int, Partition]:
    """By the number that the driver gives a partition (its PCI function, its MIG device index): the end of its key."""
    numbered = ((re.search(r"\d{1,4}$", part.key), part) for part in gpu.partitions or ())
    return {int(match[0]): part for match, part in numbered if match}


def _spellings(gpu: Gpu) -> set[str]:
    address = (gpu.pci_address or "").lower()
    return {s for s in (address, address.removeprefix("0000:"), (gpu.uuid or "").lower(), gpu.render_node or "") if s}
