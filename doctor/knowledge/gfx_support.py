"""Who supports an AMD target: AMD's list, PyTorch's wheels, TheRock, distributions, an unofficial override.

`doctor check` and `doctor solve` answer for every card from here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from doctor.knowledge.overrides import Override, override_of
from doctor.knowledge.store import table
from doctor.versions import Dotted

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge

_FILE = Path(__file__).parent / "data" / "gfx_support.toml"
Tier = Literal["official", "dropped", "wheels", "therock", "distribution", "unofficial", "none"]
"""The best way for a target: AMD lists it (or did once); PyTorch's wheels have its code; nightly builds have it; a
distribution builds for it; it can run the code of a relative; none of these."""


class Builder(BaseModel):
    """Whoever builds for targets that AMD does not list."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: str
    component: Literal["therock", "distribution"]
    gfx: tuple[str, ...]
    source: str
    as_of: str
    verified: bool


class Support(NamedTuple):
    """One target's answers. `rocm` is the first and last release that lists it, `torch` the newest wheel with its code
    as (release, label)."""

    gfx: str
    rocm: tuple[str, str] | None
    is_listed_now: bool
    torch: tuple[str, str] | None
    builders: tuple[Builder, ...]
    override: Override | None
    since: str
    """The oldest ROCm release whose list is known."""

    @property
    def tier(self) -> Tier:
        components = [builder.component for builder in self.builders]
        if self.is_listed_now:
            return "official"
        if self.torch:
            return "wheels"
        if self.override and self.override.value:
            return "unofficial"
        if "therock" in components:
            return "therock"
        if "distribution" in components:
            return "distribution"
        return "dropped" if self.rocm else "none"

    def lines(self) -> Iterator[tuple[str, str]]:
        """(sentence, source), one a component, the official one first."""
        if self.rocm is None:
            yield f"AMD: no ROCm release since {self.since} lists {self.gfx}", "rocm_releases"
        elif self.rocm[0] == self.rocm[1]:
            yield f"AMD: ROCm {self.rocm[0]} lists {self.gfx}", "rocm_releases"
        elif self.is_listed_now:
            yield f"AMD: ROCm lists {self.gfx} since {self.rocm[0]}", "rocm_releases"
        else:
            yield f"AMD: ROCm {self.rocm[0]} to {self.rocm[1]} list {self.gfx}, newer ones do not", "rocm_releases"
        if self.torch:
            yield f"PyTorch: torch {self.torch[0]}+{self.torch[1]} has code for it", "torch_builds"
        else:
            yield "PyTorch: no wheel on its index has code for it", "torch_builds"
        for builder in self.builders:
            unsure = "" if builder.verified else " (unverified)"
            yield f"{builder.name}: built for it{unsure}", f"{builder.source} ({builder.as_of})"
        if self.override and self.override.value:
            override = (
                f"Unofficial: HSA_OVERRIDE_GFX_VERSION={self.override.value} runs the code of {self.override.target}"
            )
            yield f"{override}; {self.override.risk}", f"{self.override.source} ({self.override.as_of})"
        elif self.override:
            yield f"No override works: {self.override.risk}", f"{self.override.source} ({self.override.as_of})"


@cache
def builders() -> tuple[Builder, ...]:
    return tuple(Builder.model_validate(row) for row in tomllib.loads(_FILE.read_text(encoding="utf-8"))["builder"])


def support_of(kb: Knowledge, gfx: str) -> Support:
    """The answers for `gfx1031` or `gfx90a:xnack-`."""
    plain = gfx.partition(":")[0]
    listed = kb.rocm_range(plain)
    known = sorted((r.version for r in kb.rocm_releases() if r.gfx_targets), key=lambda v: Dotted(v).numbers)
    return Support(
        plain,
        listed,
        listed is not None and listed[1] == known[-1],
        wheel_of(kb, plain),
        tuple(builder for builder in builders() if plain in builder.gfx),
        override_of(plain),
        known[0],
    )


def wheel_of(kb: Knowledge, gfx: str, release: str | None = None) -> tuple[str, str] | None:
    """(release, label) of the wheel on PyTorch's index with code for the target: of that release where there is one,
    else the newest."""
    rows = list(_wheels(kb, gfx))
    of_release = [row for row in rows if row[0] == release]
    return max(of_release or rows, default=None, key=lambda row: (Dotted(row[0]).numbers, Dotted(row[1][4:]).numbers))


def _wheels(kb: Knowledge, gfx: str) -> Iterator[tuple[str, str]]:
    """(release, label) of the wheels on PyTorch's index with code for the target."""
    for version in table("torch_builds"):
        row = kb.torch_build(version)
        for tag, machines in row.archs.items() if row else ():
            if tag.startswith("rocm") and gfx in machines.get("x86_64", ()):
                yield version, tag
