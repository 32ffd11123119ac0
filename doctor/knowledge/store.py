"""Where tables lie: the shipped folder, and over it a newer release that somebody installed by hand.

A table is read once. An installed release counts where it is newer than the shipped one, lies in a folder that only its
owner (root, or who runs this) can write, and each table's SHA-256 is the one noted at installation, after the signature
was verified (doctor/knowledge_update.py).
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from doctor.versions import Dotted

P = ParamSpec("P")
T = TypeVar("T")

DATA = Path(__file__).parent / "data"
SYSTEM_FOLDER = Path("/var/lib/doctor/knowledge")
NOTE = "installed.json"
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True)
class Release:
    """A release of the catalogue. `folder` None: the shipped one."""

    version: str
    as_of: str
    folder: Path | None = None
    file: str | None = None
    """Name of the file that it was installed from."""
    signer: str | None = None
    tables: dict[str, str] = field(default_factory=dict)
    """Name → SHA-256 of those that it replaces."""


@cache
def shipped() -> Release:
    about = json.loads((DATA / "about.json").read_text("utf-8"))
    return Release(version=about["release"], as_of=about["as_of"])


def user_folder() -> Path:
    """Where an account that is not root keeps an installed release."""
    base = os.environ.get("XDG_DATA_HOME")
    folder = Path(base) if base and Path(base).is_absolute() else Path.home() / ".local" / "share"
    return folder / "doctor" / "knowledge"


def folders() -> tuple[Path, ...]:
    """Where installed releases are looked for. Root trusts nobody's folder but its own."""
    return (SYSTEM_FOLDER,) if os.geteuid() == 0 else (user_folder(), SYSTEM_FOLDER)


@cache
def installed() -> Release | None:
    """The newest installed release that is newer than the shipped one."""
    found = [r for r in map(_read, folders()) if r]
    newest = max(found, key=lambda r: Dotted(r.version).numbers, default=None)
    return newest if newest and Dotted(newest.version) > shipped().version else None


def in_use() -> Release:
    return installed() or shipped()


@cache
def table(name: str) -> dict[str, Any]:
    """Entries of a table by key, as plain data: the caller validates what it hands out."""
    data = _installed_bytes(name)
    text = data.decode("utf-8") if data is not None else (DATA / f"{name}.json").read_text("utf-8")
    entries: dict[str, Any] = json.loads(text)["entries"]
    return entries


_kept: list[Callable[[], None]] = []


def kept(made: Callable[P, T]) -> Callable[P, T]:
    """Remembers what a function made of tables, until `forget`; bounded, since some ask by what people type."""
    cached = lru_cache(maxsize=4096)(made)
    _kept.append(cached.cache_clear)
    return cast("Callable[P, T]", cached)


def forget() -> None:
    """Reads everything again: something was installed or removed."""
    table.cache_clear()
    installed.cache_clear()
    for clear in _kept:
        clear()
    changed_since.clear()


changed_since: list[str] = []
"""Installed tables that are no longer what was verified: the shipped ones are used instead, and reports say so."""


def _installed_bytes(name: str) -> bytes | None:
    release = installed()
    if release is None or release.folder is None or name not in release.tables:
        return None
    import hashlib

    try:
        data = (release.folder / f"{name}.json").read_bytes()
    except OSError:
        data = b""
    if hashlib.sha256(data).hexdigest() == release.tables[name]:
        return data
    changed_since.append(name)
    return None


def _read(folder: Path) -> Release | None:
    """The release noted in a folder; None where there is none, or where others can write it."""
    try:
        if not _ours(folder) or not _ours(folder / NOTE):
            return None
        note = json.loads((folder / NOTE).read_text("utf-8"))
        return Release(
            version=str(note["release"]),
            as_of=str(note["as_of"]),
            folder=folder / str(note["release"]),
            file=str(note["file"]),
            signer=str(note["signer"]),
            tables={str(k): str(v) for k, v in note["tables"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _ours(path: Path) -> bool:
    held = path.lstat()
    plain = stat.S_ISDIR(held.st_mode) or stat.S_ISREG(held.st_mode)
    return plain and held.st_uid in (0, os.geteuid()) and not held.st_mode & _WRITABLE_BY_OTHERS
