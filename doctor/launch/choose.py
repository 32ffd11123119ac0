"""`--gpus 0,2`: which GPUs are meant.

By the number that nvidia-smi and amd-smi show, by PCI address, UUID, render node or CDI name; a partition as
`GPU:PARTITION`, or a MIG instance by its profile. amd-smi counts each compute partition as a GPU of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from doctor.errors import InputError
from doctor.facts.gpu import Gpu, Partition
from doctor.facts.snapshot import Snapshot

_NUMBER = re.compile(r"[0-9]{1,4}")
_PARTITION = re.compile(r"([0-9]{1,4}):([0-9]{1,3})")
_MIG_PROFILE = re.compile(r"(?:([0-9]{1,4}):)?((?:[0-9]c\.)?[0-9]g\.[0-9]{1,4}gb(?:\+[a-z.]{1,10})?)")
_CDI = re.compile(r"(amd|nvidia)\.com/gpu=(.{1,80})")


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

    @property
    def own_nodes(self) -> frozenset[str]:
        """Nodes that are no other GPU's; empty where they are not known, as those of a MIG instance."""
        if self.gpu.vendor == "amd":
            return frozenset(f"/dev/dri/{node}" for node in self.render_nodes)
        node = self.gpu.device_node if self.partition is None else None
        return frozenset([f"/dev/{node}"] if node else ())

    @property
    def resource(self) -> str | None:
        """What a device plugin with mixed names calls it (NVIDIA's MIG_STRATEGY, AMD's resource_naming_strategy); None
        where that is not known."""
        if self.gpu.vendor == "nvidia":
            if self.partition is None:
                return "nvidia.com/gpu"
            profile = (self.partition.name or "").lower().removeprefix("mig ").replace("+", ".")
            return f"nvidia.com/mig-{profile}" if profile else None
        modes = (self.gpu.compute_partition, self.gpu.memory_partition)
        return f"amd.com/{modes[0]}_{modes[1]}".lower() if all(modes) else None


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
    def nodes(self) -> tuple[str, ...]:
        """The device nodes of the chosen GPUs, however they are passed."""
        shared = {"amd": ("/dev/kfd",), "nvidia": ("/dev/nvidiactl", "/dev/nvidia-uvm")}.get(self.vendor or "", ())
        own = [f"/dev/dri/{node}" for chosen in self.gpus for node in chosen.render_nodes if self.vendor == "amd"]
        return (*shared, *own, *(f"/dev/{c.gpu.device_node}" for c in self.gpus if c.gpu.device_node))

    @property
    def selectors(self) -> tuple[str, ...]:
        """What ROCR_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES calls the chosen: UUIDs, or ROCm's numbers. Those of the
        vendor's tool are in another order. () where one of them is not known."""
        selectors = [_selector(chosen) for chosen in self.gpus]
        return tuple(s for s in selectors if s) if all(selectors) else ()


def _selector(chosen: Chosen) -> str | None:
    if chosen.gpu.vendor == "nvidia":
        return chosen.gpu.uuid if chosen.partition is None else chosen.partition.uuid
    first = chosen.gpu.index.hip
    if first is None or chosen.partition is None:
        return None if first is None else str(first)
    nodes = sorted(part.kfd for part in chosen.gpu.partitions or () if part.kind == "compute" and part.kfd is not None)
    # ROCm counts the KFD's nodes, of which the partitions of one GPU follow each other.
    return str(first + nodes.index(chosen.partition.kfd)) if chosen.partition.kfd in nodes else None


def in_kfd(machine: Snapshot) -> Choice:
    """All AMD GPUs that the KFD lists, integrated ones too: those that ROCm opens when it starts."""
    gpus = [g for g in machine.of_vendor("amd") if g.index.kfd is not None]
    return Choice("amd", tuple(one for n, gpu in _numbered(gpus) for one in _instances(Chosen(str(n), gpu))), True)


def choose(
    machine: Snapshot,
    wanted: str,
    vendor: str | None = None,
    *,
    elsewhere: bool = False,
    cdi: Mapping[str, frozenset[str]] | None = None,
) -> Choice:
    """`wanted`: `all`, `none`, or a list with commas. `vendor` decides on a machine with GPUs of both. `elsewhere`:
    what is written is for another machine, so that numbers and a vendor will do where this one has no GPU. `cdi`:
    the nodes of each CDI device of this machine, by its whole name. Raises InputError where a GPU is not there, naming
    those that are."""
    wanted = wanted.strip().strip('"').removeprefix("device=")  # docker's own way to write it
    if wanted.lower() == "none":
        return Choice(None, (), False)
    if machine.host.wsl and not _candidates(machine, vendor):
        return _under_wsl(wanted, vendor)
    if elsewhere and vendor and not _candidates(machine, vendor):
        return _unseen(wanted, vendor)
    if elsewhere and not vendor and not _candidates(machine, None):
        raise InputError(
            "found no GPU on this machine; for another one pass its vendor and GPUs (--vendor amd --gpus 0,1); "
            "--gpus none goes without"
        )
    gpus = _of_vendor(machine, vendor)
    there = [Chosen(str(number), gpu) for number, gpu in _numbered(gpus)]
    every = tuple(one for chosen in there for one in _instances(chosen))
    if wanted.lower() == "all":
        return Choice(_vendor(gpus), every, True)
    picked = [_one(word.strip(), there, cdi or {}) for word in wanted.split(",") if word.strip()]
    if not picked:
        raise InputError("--gpus: give numbers, PCI addresses, UUIDs, all or none")
    unique = tuple({chosen.name: chosen for chosen in picked}.values())
    passed = tuple({one.name: one for chosen in unique for one in _instances(chosen)}.values())
    return Choice(_vendor(gpus), passed, {one.name for one in passed} == {one.name for one in every})


def _instances(chosen: Chosen) -> Sequence[Chosen]:
    """A GPU in MIG mode or in compute partitions is used, and counted, by these; any other as it is."""
    parts = _parts(chosen.gpu)
    if chosen.partition is not None or not parts:
        return [chosen]
    return [Chosen(f"{chosen.name}:{number}", chosen.gpu, part) for number, part in sorted(parts.items())]


def _under_wsl(wanted: str, vendor: str | None) -> Choice:
    """Windows lists the GPUs; its one node in WSL leads to all of them."""
    if vendor not in ("amd", "nvidia"):
        raise InputError("WSL does not show the GPU's vendor: pass --vendor amd or --vendor nvidia")
    if wanted.lower() != "all":
        raise InputError("--gpus: WSL's /dev/dxg leads to all GPUs; one can't be chosen by it")
    return Choice("amd" if vendor == "amd" else "nvidia", (), True)


def _unseen(wanted: str, vendor: str) -> Choice:
    """GPUs of a machine that is not this one: as many as there are numbers."""
    numbers = [word.strip() for word in wanted.split(",") if word.strip()]
    if not numbers or not all(_NUMBER.fullmatch(word) for word in numbers):
        raise InputError(f"found no {vendor.upper()} GPU on this machine; to plan for another one, pass --gpus 0,1,…")
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
        whose = f"{vendor.upper()} " if vendor else ""
        raise InputError(f"found no {whose}GPU on this machine; --gpus none starts the container without one")
    return gpus


def _vendor(gpus: Sequence[Gpu]) -> Literal["amd", "nvidia"]:
    return "amd" if gpus[0].vendor == "amd" else "nvidia"


def _numbered(gpus: Sequence[Gpu]) -> list[tuple[int, Gpu]]:
    """By the number of the vendor's tool, else in PCI order. Where amd-smi counts partitions, the cards are counted in
    PCI order: `1:3` is the fourth partition of the second card."""
    counts_cards = not any(_is_cut(g) for g in gpus)
    if counts_cards and all(g.index.smi is not None for g in gpus):
        return sorted(((g.index.smi, g) for g in gpus if g.index.smi is not None), key=lambda pair: pair[0])
    return list(enumerate(sorted(gpus, key=lambda g: g.pci_address or g.key)))


def _is_cut(gpu: Gpu) -> bool:
    return any(part.kind == "compute" for part in gpu.partitions or ())


def _by_tool(there: Sequence[Chosen]) -> Mapping[int, Chosen]:
    """What nvidia-smi and amd-smi call by a number: a GPU, or a compute partition."""
    if not any(_is_cut(chosen.gpu) for chosen in there):
        return {int(chosen.name): chosen for chosen in there}
    rows = [one for chosen in there for one in (_instances(chosen) if _is_cut(chosen.gpu) else [chosen])]
    return dict(enumerate(rows))


def _one(word: str, there: Sequence[Chosen], cdi: Mapping[str, frozenset[str]]) -> Chosen:
    if _NUMBER.fullmatch(word):
        if found := _by_tool(there).get(int(word)):
            return found
    elif match := _CDI.fullmatch(word):
        return _of_cdi(match, there, cdi)
    elif (match := _MIG_PROFILE.fullmatch(word.lower())) and (found := _of_profile(match, there)):
        return found
    elif match := _PARTITION.fullmatch(word):
        for chosen in there:
            parts = _parts(chosen.gpu)
            if chosen.name == str(int(match[1])) and int(match[2]) in parts:
                return Chosen(f"{int(match[1])}:{int(match[2])}", chosen.gpu, parts[int(match[2])])
    else:
        for chosen in there:
            for number, part in _parts(chosen.gpu).items():
                if word.lower() in {s.lower() for s in (part.uuid, part.render_node) if s}:
                    return Chosen(f"{chosen.name}:{number}", chosen.gpu, part)
            if word.lower() in _spellings(chosen.gpu):
                return chosen
    known = ", ".join(_known(chosen) for chosen in there[:16])
    raise InputError(f"--gpus {word[:60]!r}: no such GPU here; there are {known}")


def _of_profile(match: re.Match[str], there: Sequence[Chosen]) -> Chosen | None:
    """The one MIG instance of that profile. Raises InputError where there are several."""
    found = [
        one
        for chosen in there
        if match[1] in (None, chosen.name)
        for one in _instances(chosen)
        if one.partition is not None and (one.partition.name or "").lower().removeprefix("mig ") == match[2]
    ]
    if len(found) > 1:
        names = ", ".join(one.name for one in found[:16])
        raise InputError(
            f"--gpus {match[0]!r}: {len(found)} MIG instances have this profile: {names}; choose by number"
        )
    return found[0] if found else None


def _of_cdi(match: re.Match[str], there: Sequence[Chosen], cdi: Mapping[str, frozenset[str]]) -> Chosen:
    """The GPU whose nodes the device has: its name is its generator's, and may be another GPU's number."""
    nodes = cdi.get(match[0])
    if nodes is None:
        known = ", ".join(sorted(cdi)[:12]) or "none"
        raise InputError(f"--gpus {match[0][:80]!r}: no CDI spec here has this device; there are {known}")
    for one in (*(one for chosen in there for one in _instances(chosen)), *there):
        own = {node for node in nodes if re.fullmatch(r"/dev/dri/renderD\d+|/dev/nvidia\d+", node)}
        mig = one.partition is not None and match[2].lower() in (one.name, (one.partition.uuid or "").lower())
        if mig or (own and one.own_nodes == own and not any("nvidia-caps" in node for node in nodes)):
            return one
    raise InputError(f"--gpus {match[0][:80]!r}: this CDI device has the nodes of no single GPU; choose GPUs by number")


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
    node = (gpu.render_node or "").lower()
    return {s for s in (address, address.removeprefix("0000:"), (gpu.uuid or "").lower(), node) if s}
