"""The doctor that goes into an image: its package and profiles as a build context, with a hash over all of it."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import doctor
from doctor.errors import InputError
from doctor.profiles.places import folder as profiles_folder


def write(target: Path, epoch: int) -> str:
    """Fills an empty or new folder; the sha256 over names and bytes. The same doctor gives the same hash anywhere: no
    times, no compiled files, modes of our own. Raises InputError."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target}: an empty folder, or one that is not there yet, is wanted")
    package = Path(doctor.__file__).parent
    leave = shutil.ignore_patterns("__pycache__", "*.pyc", "_profiles")
    try:
        shutil.copytree(package, target / "doctor", ignore=leave)
        shutil.copytree(profiles_folder(), target / "doctor" / "_profiles", ignore=leave)
        settle(target, epoch)
        return digest(target)
    except OSError as error:
        raise InputError(f"{error.filename or target}: {error.strerror or error}") from error


def digest(folder: Path) -> str:
    summed = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        summed.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        summed.update(path.read_bytes())
    return summed.hexdigest()


def settle(folder: Path, epoch: int) -> None:
    """One time and plain modes for all, so that an image does not depend on who checked the files out, and when."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or path.suffix == ".sh" else 0o644)
        os.utime(path, (epoch, epoch))
