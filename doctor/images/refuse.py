"""Combinations that can't work, refused before anything is built: with reason, source and the nearest that does.

The resolver knows GPU × torch × ROCm or CUDA × Python × distribution; what is added here is what only images have: the
Python that the base's distribution has packages of.
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.errors import InputError
from doctor.images.bases import KNOWN, Base, base_of
from doctor.knowledge import Knowledge
from doctor.profiles import Profile
from doctor.resolve import Solution, described, explain, solve

_OFFICIAL = "https://download.pytorch.org/whl/"


class Impossible(InputError):
    """`reasons`: each with its source. `nearest`: what would work, in words."""

    def __init__(self, name: str, reasons: list[str], nearest: str | None) -> None:
        self.reasons, self.nearest = tuple(reasons), nearest
        near = f"; nearest that works: {nearest}" if nearest else ""
        super().__init__(f"{name}: can't be built: {'; '.join(reasons)}{near}")


def checked_base(profile: Profile) -> Base:
    """The base's distribution. Raises Impossible where the image can't be."""
    wish = profile.image
    if wish and wish.ready:
        raise InputError(f"{profile.name}: none is built: {wish.ready} is used as it is (`doctor run {profile.name}`)")
    if wish is None or wish.base is None:
        raise InputError(f"{profile.name}: this profile is for `doctor check` alone; its [image] names no base")
    base = base_of(wish.base)
    if base is None:
        names = ", ".join(f"{b.os}:{b.version}" for b in KNOWN)
        raise InputError(
            f"{profile.name}: what distribution is {wish.base}? Its name must say so, as do {names}, nvidia/cuda, "
            "rocm/dev-ubuntu and python:3.x-slim-bookworm"
        )
    if wish.python and wish.python != (base.own_python or base.python):
        there = [b for b in KNOWN if b.python == wish.python]
        nearest = f"base {there[-1].os}:{there[-1].version}" if there else f"base python:{wish.python}-slim-bookworm"
        has = base.own_python or base.python
        raise Impossible(
            profile.name,
            [f"{base.words} has packages of Python {has}, not of {wish.python} [{base.source}, 2026-11-21]"],
            f"{nearest}, or Python {has} on {base.words}",
        )
    return base


def check_stack(kb: Knowledge, profile: Profile, base: Base) -> None:
    """Raises Impossible where the resolver knows that the packages do not go together or do not run on a target."""
    wish = profile.image
    if wish is None:
        return
    torch = next((p for p in wish.pip if p.name == "torch"), None)
    if torch is None:
        return
    index, local = torch.index or "", torch.local or ""
    if index.startswith(_OFFICIAL) and local and not index.rstrip("/").endswith(f"/{local}"):
        raise Impossible(
            profile.name,
            [f"torch {torch.version}+{torch.local} does not lie on {torch.index} [https://pytorch.org, 2026-11-20]"],
            f"index {_OFFICIAL}{torch.local}",
        )
    python = wish.python or base.own_python or base.python
    floor = profile.expectation("nvidia-driver-too-old")
    driver = str(floor.at_least) if floor and floor.at_least else None
    for arch in wish.targets or profile.hardware.arch or (None,):
        machine = wish.platform.partition("/")[2]
        target = described(kb, arch, driver, None, python, base.target_os, machine=machine)
        asked = f"torch=={torch.full}"
        others = [f"{p.name}=={p.version}" for p in wish.pip if p.version and p.name in kb.packages()]
        found = solve(kb, target, [asked, *others])
        if found.status == "impossible":
            raise Impossible(profile.name, list(_reasons(found)), _nearest(found))


def _reasons(found: Solution) -> Iterator[str]:
    refused = found.refusals()
    if not refused:
        yield explain(found)
    for reason in refused:
        yield f"{reason.text} [{reason.source}{f', {reason.as_of}' if reason.as_of else ''}]"


def _nearest(found: Solution) -> str | None:
    if found.nearest:
        return f"{found.nearest.stack}{f' ({found.differs})' if found.differs else ''}"
    return f"{found.changes[0].text} -> {found.changes[0].stack}" if found.changes else None
