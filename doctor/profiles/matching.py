"""Which profile fits a machine, why, and why the others do not.

The order among those that fit: the user's own before the shipped; the one that says more of the hardware (a count); the
one whose stack is installed; the one for any workload before those for training or serving; then the profile's own
`order` (10 the current stack, 20 the one before). What is still equal is a tie, and is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from doctor.errors import DoctorError
from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from doctor.profiles.compose import compose, is_shipped, load, loaded, named
from doctor.profiles.model import Profile, considered
from doctor.profiles.pairs import Pair
from doctor.profiles.parts import Hardware

_STACK = ("rocm[*].version", "torch.version", "torch.build", "torch.rocm", "torch.cuda", "os.id", "os.version")
"""Facts that tell which stack is installed."""

_ONLY_NAMED = "it is used only where it or its workload is named"


@dataclass(frozen=True)
class Candidate:
    """A profile, whether it fits, and why or why not."""

    name: str
    fits: bool
    reason: str
    place: tuple[int, ...] = ()
    """The lower, the earlier among those that fit."""
    order: str = ""
    """What put it there, in words."""


@dataclass(frozen=True)
class Ranking:
    """All profiles, those that fit first and in order. `tied`: names that come first together; () where one does."""

    candidates: tuple[Candidate, ...]
    chosen: Profile | None = None
    tied: tuple[str, ...] = ()
    why: str = ""


def match(machine: Snapshot, base: Path | None = None) -> tuple[Profile | None, str]:
    """The profile for this machine as one that nobody asked for, and why; None where none fits or several come first
    together."""
    ranking = rank(machine, base)
    return ranking.chosen.as_matched() if ranking.chosen else None, ranking.why


def rank(machine: Snapshot, base: Path | None = None, workload: str | None = None) -> Ranking:
    """Every profile against a machine. `workload`: train or serve; those for another are left out."""
    gpus = considered(machine)
    if not gpus:
        known = machine.gpus is not None
        return Ranking((), why="found no AMD or NVIDIA GPU here" if known else "the GPUs of this machine are not known")
    found = sorted(
        (_candidate(name, what, machine, gpus, workload, base) for name, what in named(base).items()),
        key=lambda c: (not c.fits, c.place, c.name),
    )
    fitting = [c for c in found if c.fits]
    if not fitting:
        return Ranking(tuple(found), why=f"no profile is for this hardware ({_called(gpus)})")
    first = [c for c in fitting if c.place == fitting[0].place]
    if len(first) > 1:
        names = tuple(c.name for c in first)
        return Ranking(tuple(found), None, names, f"several fit equally: {', '.join(names)}; name one with --profile")
    behind = f"; before {fitting[1].name}: {_before(fitting[0], fitting[1], workload)}" if len(fitting) > 1 else ""
    return Ranking(tuple(found), load(first[0].name, base), (), f"{first[0].reason}{behind}")


_ORDER = (
    "yours before the shipped ones",
    "it says more of the hardware",
    "its stack is the one installed",
    "it is for {}",
    "its stack is the newer one",
)


def _before(first: Candidate, second: Candidate, workload: str | None) -> str:
    why = next((w for w, a, b in zip(_ORDER, first.place, second.place, strict=True) if a != b), "it is named first")
    return why.format(f"the workload {workload}" if workload else "any workload")


def _candidate(
    name: str, what: Path | Pair, machine: Snapshot, gpus: tuple[Gpu, ...], workload: str | None, base: Path | None
) -> Candidate:
    try:
        misfits = misfit(_hardware(what.board_file), gpus) if isinstance(what, Pair) and what.is_shipped else None
        if misfits is not None:
            return Candidate(name, False, misfits.reason)
        profile = loaded(what, base)
        if profile.only_named and profile.workload != workload:
            return Candidate(name, False, _ONLY_NAMED)
    except DoctorError as error:  # one bad file must not cost the others; `validate` lists its faults
        return Candidate(name, False, f"can't be read: {error}"[:300])
    other = misfit(profile.hardware, gpus)
    reason = other.reason if other else None
    if reason is None and workload and profile.workload not in ("any", workload):
        reason = f"it is for another workload: {profile.workload}"
    if reason is not None:
        return Candidate(name, False, reason)
    own = 0 if base is not None or not is_shipped(what) else 1
    stack = installed(profile, machine)
    place = (own, 0 if profile.hardware.count else 1, -stack, _preference(profile, workload), profile.order)
    fit = f"its hardware is this machine's ({_called(gpus)})"
    return Candidate(name, True, fit, place, f"order {profile.order}, {stack} of its stack's versions are installed")


def _preference(profile: Profile, workload: str | None) -> int:
    """The one that was asked for first; without a wish, the one for any workload."""
    return 0 if profile.workload == (workload or "any") else 1


@lru_cache(maxsize=128)
def _hardware(part: Path) -> Hardware:
    table: dict[str, Any] = compose(part, (part.parent.parent,)).table.get("hardware", {})
    return Hardware.model_validate({k: tuple(v) if isinstance(v, list) else v for k, v in table.items()})


class Misfit(NamedTuple):
    """Why hardware is not that of a machine. `certain` False: what would tell is not known."""

    reason: str
    certain: bool = True


def misfit(hardware: Hardware, gpus: tuple[Gpu, ...]) -> Misfit | None:
    """Why the hardware is not that of these GPUs; None where it is."""
    if not (hardware.arch or hardware.pci_ids or hardware.names):
        return Misfit("it names no hardware, and is used only where it is named", certain=False)
    other = next((g for g in gpus if hardware.vendor and g.vendor != hardware.vendor), None)
    if other is not None:
        return Misfit(f"it is for GPUs of {hardware.vendor}, and {_one(other)} is {other.vendor}'s")
    for gpu in gpus:
        if other_card := _unlike(hardware, gpu):
            return other_card
    if hardware.count and hardware.count != len(gpus):
        return Misfit(f"it is for {hardware.count} GPUs, and there are {len(gpus)}")
    return None


def _unlike(hardware: Hardware, gpu: Gpu) -> Misfit | None:
    if hardware.pci_ids and gpu.pci_id:
        if gpu.pci_id not in hardware.pci_ids:
            return Misfit(f"PCI id {gpu.pci_id} of {_one(gpu)} is not among its {', '.join(hardware.pci_ids[:6])}")
        if hardware.revisions and gpu.revision and gpu.revision.removeprefix("0x") not in hardware.revisions:
            return Misfit(f"revision {gpu.revision} of {gpu.pci_id} is not among its {', '.join(hardware.revisions)}")
        return None
    if hardware.names and gpu.name:
        if any(_says(word, gpu.name) for word in hardware.except_names):
            return Misfit(f"{_one(gpu)} is another card of that name")
        if not any(_says(word, gpu.name) for word in hardware.names):
            return Misfit(f"{_one(gpu)} is none of its {', '.join(hardware.names)}")
        return None
    if hardware.pci_ids or hardware.names:
        return Misfit(f"neither PCI id nor name of {gpu.key} is known", certain=False)
    if gpu.arch is None:
        return Misfit(f"the architecture of {_one(gpu)} is not known", certain=False)
    if gpu.arch in hardware.arch:
        return None
    return Misfit(f"{gpu.arch} of {_one(gpu)} is not among its {', '.join(hardware.arch)}")


def _says(word: str, name: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", name, re.IGNORECASE) is not None


def installed(profile: Profile, machine: Snapshot) -> int:
    """How many of its expectations on the installed stack hold, less those that deviate."""
    stack = [e for e in profile.expect if e.fact in _STACK]
    answers = [_any(e, machine) for e in stack]
    return answers.count("holds") - answers.count("deviates")


def _any(expectation: Any, machine: Snapshot) -> str:
    """Of several ROCm installations one that is right will do."""
    places_ = [v for _, v in expectation.values(machine) if v is not None]
    unmet = [v for _, v in expectation.unmet(machine)]
    return "unknown" if not places_ else "deviates" if len(unmet) == len(places_) else "holds"


def _called(gpus: tuple[Gpu, ...]) -> str:
    """`8× AMD Instinct MI300X`"""
    counted: dict[str, int] = {}
    for gpu in gpus:
        counted[_one(gpu)] = counted.get(_one(gpu), 0) + 1
    return ", ".join(f"{count}× {name}" if count > 1 else name for name, count in _first(counted.items()))


def _first(rows: Any) -> Iterator[tuple[str, int]]:
    yield from list(rows)[:4]


def _one(gpu: Gpu) -> str:
    return (gpu.name or gpu.pci_id or gpu.arch or gpu.key)[:60]


__all__ = ["Candidate", "Ranking", "installed", "match", "misfit", "rank"]
