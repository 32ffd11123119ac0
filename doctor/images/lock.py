"""A recipe -> its lock: the base's digest, the distribution's packages and date, the wheels; and what a new lock moves.

A part whose question has not changed is kept, offline, unless an update is asked for.
"""

from __future__ import annotations

import datetime
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from doctor.errors import DoctorError, InputError
from doctor.images import registry, wheels
from doctor.images.debs import ASK_APT, in_base
from doctor.images.engine import chosen
from doctor.images.lockfile import AptLock, BaseLock, Deb, Lock, WheelLock
from doctor.images.recipe import DOCTOR_NEEDS, Recipe
from doctor.knowledge import Knowledge
from doctor.resolve.target import glibc_of
from doctor.system.engine_api import connected
from doctor.system.engine_sockets import Name

Note = Callable[[str], None]
_Any = TypeVar("_Any", BaseLock, AptLock, WheelLock)
_APT_S = 900.0
_URI = re.compile(r"'(?P<url>[^']+)' (?P<file>\S+) (?P<size>\d+) (?:SHA256:(?P<sha256>[0-9a-f]{64}))?")


@dataclass(frozen=True)
class Options:
    """`base`: the base is asked of this image instead (a mirror). `sources`: apt's, instead of the base's. `ca`:
    authorities that the registry and apt are trusted by."""

    platform: str = "linux/amd64"
    update: bool = False
    base: str | None = None
    sources: Path | None = None
    ca: Path | None = None
    wheels: Path | None = None
    """Folder with wheels that are taken beside those of the index."""
    engine: Name | None = None


def lock(recipe: Recipe, options: Options, now: datetime.datetime, note: Note) -> tuple[Lock, list[str]]:
    """The lock, and in words what could not be locked. A part that fails stays as it was, and so do the others."""
    old = recipe.lock if recipe.lock and recipe.lock.platform == options.platform else None
    fresh = Lock(epoch=int(now.timestamp()), platform=options.platform)
    failed: list[str] = []

    def part(name: str, kept: _Any | None, make: Callable[[], _Any]) -> _Any | None:
        if kept is not None and not options.update:
            return kept
        note(name)
        try:
            return make().model_copy(update={"observed": "resolved-here", "as_of": now.date()})
        except DoctorError as error:
            failed.append(f"{name}: {error}")
            return kept

    base = part("base", old.base if old and recipe.digest else None, lambda: _base(recipe, options))
    locked = replace(recipe, lock=fresh.model_copy(update={"base": base, "apt": old.apt if old else None}))
    apt = part("apt", old.apt if old and recipe.debs is not None and locked.debs is not None else None,
               lambda: _apt(locked, options, now))  # fmt: skip
    glibc = glibc_of(Knowledge(), recipe.base.os, recipe.base.version) or "2.28"
    target = (recipe.python, glibc, options.platform)
    stack = part("wheels", old.stack if old and recipe.wheels is not None and old.stack else None,
                 lambda: wheels.lock(recipe.pip, recipe.compile_needs, *target, options.wheels))  # fmt: skip
    ours = None
    if recipe.doctor:
        kept = old.doctor if old and recipe.doctor_wheels is not None else None
        ours = part("doctor", kept, lambda: wheels.lock((), DOCTOR_NEEDS, *target))
    made = fresh.model_copy(update={"base": base, "apt": apt, "stack": stack, "doctor": ours})
    if old and not changes(old, made) and _questions(old) == _questions(made):
        made = old  # an unchanged lock keeps its time, and its bytes
    return made, failed


def _questions(lock: Lock) -> list[object]:
    return [(p.asked, getattr(p, "python", None)) for p in (lock.base, lock.apt, lock.stack, lock.doctor) if p]


def changes(old: Lock | None, new: Lock) -> list[str]:
    lines = []
    before, after = old.base if old else None, new.base
    if (before and (before.digest, before.mirror)) != (after and (after.digest, after.mirror)):
        lines.append(f"base: {before.digest[:19] if before else 'none'} -> {after.digest[:19] if after else 'none'}")
    was, now = (old.apt.snapshot if old and old.apt else None), (new.apt.snapshot if new.apt else None)
    moved = list(_moved("apt", _debs(old.apt if old else None), _debs(new.apt)))
    if was != now and (moved or not (was and now)):  # another date with the same packages moves nothing
        lines.append(f"apt's date: {was or 'none'} -> {now or 'none'}")
    lines += moved
    lines += _moved("wheel", _rows(old.stack if old else None), _rows(new.stack))
    lines += _moved("doctor's", _rows(old.doctor if old else None), _rows(new.doctor))
    return lines


def _debs(part: AptLock | None) -> dict[str, str]:
    return {d.name: d.version for d in (*part.runtime, *part.build)} if part else {}


def _rows(part: WheelLock | None) -> dict[str, str]:
    return {w.name: f"{w.version} ({w.sha256[:12]})" for w in part.wheels} if part else {}


def _moved(kind: str, old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"{kind} {name}: {old.get(name, 'none')} -> {new.get(name, 'none')}"


def _base(recipe: Recipe, options: Options) -> BaseLock:
    """Of the registry; where it can't be reached from here, of the registry by way of the engine. What lies in the
    engine is not asked: an image that was built here has a digest too, and nobody else could pull it."""
    if "@" in recipe.image:
        return BaseLock(asked=recipe.image, digest=recipe.image.partition("@")[2])
    image = options.base or recipe.image
    try:
        digest = registry.resolve(image, options.platform, options.ca)
    except registry.Refused:
        raise
    except InputError as unreachable:
        try:
            with connected(chosen(options.engine)) as api:
                digest = api.registry_digest(image)
        except DoctorError:
            raise unreachable from None
    mirror = options.base if options.base and not _is_mirror(recipe.image, digest, options) else None
    return BaseLock(asked=recipe.image, digest=digest, mirror=mirror)


def _is_mirror(official: str, digest: str, options: Options) -> bool:
    """Whether the image's own registry has that digest; False where nobody can ask it. Raises InputError where it has
    none: what was asked holds another image under its name."""
    try:
        registry.resolve(f"{official.partition('@')[0]}@{digest}", options.platform, options.ca)
    except registry.Refused as error:
        if error.status != 404:
            return False
        raise InputError(
            f"{options.base} is {digest[:19]}, which {official} never was: it is no mirror of it"
        ) from error
    except InputError:
        return False
    return True


def _apt(recipe: Recipe, options: Options, now: datetime.datetime) -> AptLock:
    """Asked of apt itself in a container of the base, which is thrown away: what it would install, dependencies too."""
    if recipe.digest is None:
        raise InputError("apt is asked inside the base, which is not locked")
    where = (options.base or recipe.place).partition("@")[0]
    moment = f"{now:%Y%m%d}T000000Z"
    snapshot = moment if options.sources is None and _reachable(recipe.base.snapshot.format(moment)) else None
    runtime, build = (" ".join(p.asked for p in rows) for rows in (recipe.runtime_packages, recipe.build_packages))
    script, image = APT_SCRIPT.format(runtime=runtime, build=build), f"{where}@{recipe.digest}"
    given = apt_sources(recipe, options.sources, snapshot)
    with tempfile.TemporaryDirectory() as held, connected(chosen(options.engine)) as api:
        printed = in_base(api, image, script, Path(held), given, options.ca, _APT_S, options.platform)
    runtime, _, build = printed.partition("=== build\n")
    first = uris(runtime)
    second = tuple(d for d in uris(build) if d not in first)
    return AptLock(asked=recipe.apt_asked, base=recipe.digest, snapshot=snapshot, runtime=first, build=second)


# Names and versions of packages are letters, digits and + . ~ : - (doctor.profiles.text), so nothing here is a shell's.
APT_SCRIPT = (
    ASK_APT
    + """apt-get "$@" install --print-uris --reinstall -y --no-install-recommends --allow-downgrades {runtime}
echo '=== build'
if [ -n '{build}' ]; then
  apt-get "$@" install --print-uris -y --no-install-recommends --allow-downgrades {runtime} {build}
fi
"""
)


def apt_sources(recipe: Recipe, own: Path | None, snapshot: str | None) -> tuple[str, bool]:
    """Instead of the base's, "" for those; and whether they are of a date."""
    if own:
        return own.read_text(encoding="utf-8"), False
    return (recipe.base.sources(snapshot), True) if snapshot else ("", False)


def uris(text: str) -> tuple[Deb, ...]:
    """Of apt's --print-uris: 'URL' NAME_VERSION_ARCH.deb SIZE SHA256:… or MD5Sum:…"""
    from urllib.parse import unquote

    found = []
    for line in text.splitlines():
        match = _URI.match(line)
        if match:
            name, version, _ = unquote(match["file"]).rsplit("_", 2)
            found.append(Deb(name=name, version=unquote(version), sha256=match["sha256"]))
    return tuple(sorted(found, key=lambda d: d.name))


def _reachable(url: str) -> bool:
    """Whether the archive by date answers; a lock is made without it where it does not, and says so."""
    httpx = registry.http_library()
    try:
        return bool(httpx.get(f"{url}/", timeout=10, follow_redirects=True).status_code == 200)
    except (httpx.HTTPError, httpx.InvalidURL):
        return False
