"""A lock -> a folder with all of its files, for a build without network: wheels, and the distribution's packages.

Each file is held to the hash that the lock has of it.
"""

from __future__ import annotations

import hashlib
import html
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from doctor.errors import DoctorError, InputError
from doctor.images.debs import ASK_APT, in_base, sha256, unfit
from doctor.images.lock import apt_sources
from doctor.images.lockfile import Deb, Wheel
from doctor.images.recipe import Recipe
from doctor.images.registry import http_library
from doctor.parsers.python.dist_info import normal
from doctor.system.engine_api import Api, connected
from doctor.system.engine_sockets import Name

Note = Callable[[str], None]
_DEB = re.compile(r"(?P<name>[a-z0-9][a-z0-9.+-]{1,127})_(?P<version>[^_/]{1,120})_(?:amd64|arm64|all)\.deb$")
_PYPI = "https://pypi.org/simple"
_CHUNK = 1 << 20
_APT_S = 3600.0


def fetch(
    recipe: Recipe, folder: Path, base: str | None, sources: Path | None, ca: Path | None, note: Note, name: Name
) -> list[str]:
    """Fills the folder; in words what is missing. The base is pulled into the engine. Raises InputError."""
    if recipe.unlocked or recipe.lock is None:
        raise InputError(f"{recipe.name} is UNLOCKED: `doctor image lock {recipe.name}` says which files these are")
    folder.mkdir(parents=True, exist_ok=True)
    missing = list(_wheels((*(recipe.wheels or ()), *(recipe.doctor_wheels or ())), folder, note))
    reference = f"{(base or recipe.image).partition('@')[0]}@{recipe.digest}"
    debs = [d for part in recipe.debs or () for d in part]
    try:
        with connected(name) as api:
            note(f"base {reference}")
            api.pull(reference, recipe.lock.platform, note)
            missing += _debs(api, reference, recipe, debs, folder, sources, ca, note)
    except DoctorError as error:  # what else is missing is said all the same
        missing.append(f"base {reference}: {error}")
    return missing


def _wheels(wheels: tuple[Wheel, ...], folder: Path, note: Note) -> Iterator[str]:
    for wheel in wheels:
        path = folder / wheel.file
        if path.is_file() and sha256(path) == wheel.sha256:
            continue
        note(wheel.file)
        try:
            _download(wheel.url or _address(wheel), path, wheel.sha256)
        except DoctorError as error:
            yield f"{wheel.file}: {error}"


def _address(wheel: Wheel) -> str:
    """Of its index's page (PEP 503). A lock that ships has hashes and no addresses. Raises InputError."""
    httpx = http_library()
    index = wheel.index or os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("PIP_INDEX_URL") or _PYPI
    page = f"{index.rstrip('/')}/{normal(wheel.name)}/"
    try:
        answer = httpx.get(page, timeout=60, follow_redirects=True, headers={"Accept": "text/html"})
        if answer.status_code != 200:
            raise InputError(f"its index answers {answer.status_code}")
        links = (html.unescape(link) for link in re.findall(r"""href=["']([^"']+)""", answer.text))
        found = next((link for link in links if unquote(urlsplit(link).path).rpartition("/")[2] == wheel.file), None)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise InputError(f"{type(error).__name__}: {str(error)[:200]}") from error
    if found is None:
        raise InputError("its index does not list it; put it into the folder by hand")
    return urljoin(str(answer.url), found)


def _download(url: str, path: Path, sha256: str) -> None:
    """Under another name until its hash is seen to be right. Raises InputError."""
    httpx = http_library()
    part = path.with_name(f".{path.name}.part")
    summed = hashlib.sha256()
    try:
        with httpx.stream("GET", url, timeout=60, follow_redirects=True) as answer, part.open("wb") as out:
            if answer.status_code != 200:
                raise InputError(f"its address answers {answer.status_code}")
            for chunk in answer.iter_bytes(_CHUNK):
                summed.update(chunk)
                out.write(chunk)
        if summed.hexdigest() != sha256:
            raise InputError("what came has another hash than the lock")
        part.replace(path)
    except (httpx.HTTPError, OSError) as error:
        raise InputError(f"{type(error).__name__}: {str(error)[:200]}") from error
    finally:
        part.unlink(missing_ok=True)


# Names and versions are of the lock, whose form leaves nothing that a shell would read (doctor.images.lockfile).
_SCRIPT = (
    ASK_APT
    + """cd /run/debs
apt-get "$@" download {wanted} >&2
chown {owner} ./*.deb
"""
)


def _debs(
    api: Api,
    reference: str,
    recipe: Recipe,
    debs: list[Deb],
    folder: Path,
    sources: Path | None,
    ca: Path | None,
    note: Note,
) -> Iterator[str]:
    """Downloaded by apt itself in a container of the base."""
    wanted = [deb for deb, _ in unfit(folder, debs)]
    if not wanted:
        return
    note(f"{len(wanted)} packages of the distribution")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".debs-") as held:
        (Path(held) / "debs").mkdir()
        asked = " ".join(f"{d.name}={d.version}" for d in wanted)
        script = _SCRIPT.format(wanted=asked, owner=f"{folder.stat().st_uid}:{folder.stat().st_gid}")
        mounts = (f"{Path(held).resolve() / 'debs'}:/run/debs",)
        given = apt_sources(recipe, sources, recipe.snapshot)
        in_base(api, reference, script, Path(held), given, ca, _APT_S, recipe.platform, mounts)
        known = {d.name: d for d in wanted}
        for path in sorted((Path(held) / "debs").glob("*.deb")):
            match = _DEB.match(path.name)
            deb = known.pop(match["name"], None) if match else None
            if deb is None or (deb.sha256 and sha256(path) != deb.sha256):
                yield f"{path.name}: what came has another hash than the lock, or was not asked for"
                continue
            shutil.move(path, folder / path.name)
        yield from (f"{name}: apt has not brought it" for name in known)
