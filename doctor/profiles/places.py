"""Where profiles lie: those that are shipped, and the user's own in doctor/profiles of their configuration folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from doctor.errors import InputError


@cache
def folder() -> Path:
    """The shipped ones: in the wheel, else at the top of the repository."""
    here = Path(__file__).resolve().parents[1]
    shipped = here / "_profiles"
    return shipped if shipped.is_dir() else here.parent / "profiles"


def user_folder() -> Path | None:
    base = os.environ.get("XDG_CONFIG_HOME")
    try:
        above = Path(base) if base and Path(base).is_absolute() else Path.home() / ".config"
        own = above / "doctor" / "profiles"
        return own if own.is_dir() else None
    except (RuntimeError, OSError):  # no home, or one that may not be looked into
        return None


def folders(base: Path | None = None) -> tuple[Path, ...]:
    """Where profiles and their parts lie; what is in a later folder wins. `base` replaces all."""
    return (base,) if base else (folder(), *filter(None, [user_folder()]))


def files(base: Path | None = None) -> Mapping[str, Path]:
    """Name → file of each profile that is a file: at the top of a folder; parts lie in subfolders. The user's file wins
    over a shipped one of the same name."""
    found: dict[str, Path] = {}
    try:
        for each in folders(base):
            found.update({path.stem: path for path in each.glob("*.toml")})
    except OSError as error:
        raise InputError(f"profiles: {error}") from error
    return dict(sorted(found.items()))


def is_shipped(path: Path) -> bool:
    return folder() in path.parents


def where_parts_lie(path: Path, base: Path | None = None) -> tuple[Path, ...]:
    """Folders that `extends` of a file looks into: its own, the user's, the shipped one."""
    return (path.parent, *((base,) if base else (*filter(None, [user_folder()]), folder())))
