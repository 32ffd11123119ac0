"""Releases of GPU libraries and frameworks with a known fault, and which of them a machine has.

Data: `data/library_faults/*.toml`. A row holds only where every condition of it is known and met.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache, cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from doctor.facts.snapshot import Snapshot, Symptom
from doctor.knowledge.faults import rows_in
from doctor.versions import Dotted

DATA = Path(__file__).parent / "data" / "library_faults"
Range = tuple[str, str]


class LibraryFault(BaseModel):
    """One known fault. Both ends of a range belong to it. `gpus` are architectures, `names` parts of a GPU's name. A
    key of `packages` may hold several names of one library: `nvidia-nccl-cu13|nccl`; where one of `without` is known,
    another row decides by its release."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    id: str
    rule: str
    what: str
    gpus: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    rocm: Range | None = None
    torch: Range | None = None
    nvidia: Range | None = None
    """Releases of NVIDIA's driver."""
    amdgpu: Range | None = None
    """Releases of the amdgpu driver package."""
    kernel: Range | None = None
    packages: dict[str, Range] = Field(default_factory=dict)
    without: tuple[str, ...] = ()
    felt: tuple[str, ...] = ()
    says: str = ""
    only_shown: bool = False
    """What it shows is what much else shows too: where `says` is in no line, nothing is suspected of it."""
    fix: str
    source: str
    as_of: str

    def facts(self, machine: Snapshot) -> tuple[str, ...] | None:
        """Names of the facts that meet its conditions, beside packages (`held`); None where one is not known or not
        met."""
        names: list[str] = []
        if self.gpus or self.names:
            gpu = next((g for g in machine.gpus or () if g.arch in self.gpus or _named(g.name, self.names)), None)
            if gpu is None:
                return None
            names.append(f"gpus[{gpu.key}].{'arch' if self.gpus else 'name'}")
        if self.rocm:
            installed = any(_series_within(i.version, self.rocm) for i in machine.rocm or ())
            if not installed and not _series_within(machine.torch.rocm, self.rocm):
                return None
            names.append("rocm" if installed else "torch.rocm")
        for name, ends in (
            ("torch.version", self.torch),
            ("nvidia_driver.version", self.nvidia),
            ("amdgpu_driver.release", self.amdgpu),
            ("kernel.release", self.kernel),
        ):
            if ends:
                within = _within if name == "nvidia_driver.version" else _series_within  # NVIDIA's may have two parts
                if not within(machine.get(name), ends):
                    return None
                names.append(name)
        if any(package.name in self.without for package in machine.packages or ()):
            return None
        return tuple(names) if len(self.held(machine)) == len(self.packages) else None

    def may_be_in(self, installed: Collection[str]) -> bool:
        """Whether each library that it asks for is among the packages, of whatever release."""
        return all(not names.isdisjoint(installed) for names in self._asked)

    @cached_property
    def _asked(self) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(either.split("|")) for either in self.packages)

    def held(self, machine: Snapshot) -> tuple[str, ...]:
        """Packages whose release is in its range, one for each that it asks for: `nvidia-nccl-cu13 2.26.2`."""
        there = {p.name: p.version for p in machine.packages or ()}
        met = (
            next((f"{n} {there[n]}" for n in either.split("|") if _within(there.get(n), ends)), None)
            for either, ends in self.packages.items()
        )
        return tuple(package for package in met if package)

    def shown(self, machine: Snapshot) -> list[Symptom]:
        """The error texts by which the fault shows here."""
        pattern = re.compile(self.says, re.IGNORECASE)
        return [s for s in machine.symptoms if s.key in self.felt and pattern.search(s.text)]


def _named(name: str | None, parts: tuple[str, ...]) -> bool:
    return any(part.lower() in (name or "").lower() for part in parts)


def _within(version: str | None, ends: Range) -> bool:
    plain = _ordered((version or "").partition("+")[0])
    if not Dotted(plain).numbers:
        return False
    if ".dev" in plain and Dotted(plain).compare(ends[0]) == 0:
        return False  # a nightly build came before the release whose number it bears
    return Dotted(_ordered(ends[0])) <= plain and Dotted(plain) <= _ordered(ends[1])


def _ordered(version: str) -> str:
    """`0.1.19.2` of `0.1.19.post2`, which is a release of its own, after the one whose number it bears."""
    return _POST.sub(r".\1", version)


_POST = re.compile(r"\.post(\d+)")


def _series_within(version: str | None, ends: Range) -> bool:
    """The same for a series: `7.2` is any release of it, and all of them must be within."""
    plain = (version or "").partition("+")[0]
    if len(Dotted(plain).numbers) != 2:
        return _within(version, ends)
    return _within(plain, ends) and _within(f"{plain}.99", ends)


@cache
def library_faults() -> tuple[LibraryFault, ...]:
    """Every row, in the order of the files."""
    return tuple(LibraryFault.model_validate(row) for row in rows_in(DATA))
