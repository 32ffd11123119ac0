"""The modules of a package that has one folder an area: each is known by its file's name, whatever its area."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from pathlib import Path


def modules(package: str, folders: Iterable[str]) -> dict[str, str]:
    """Name of each file → its module's dotted name; `folders` is the package's `__path__`. Nothing is imported.
    Raises ValueError where two files have one name."""
    folders = list(folders)
    known: dict[str, str] = {}
    for area in pkgutil.iter_modules(folders):
        for found in pkgutil.iter_modules([str(Path(folder) / area.name) for folder in folders]):
            if found.name in known:
                raise ValueError(f"two files of {package} are called {found.name}")
            known[found.name] = f"{package}.{area.name}.{found.name}"
    return known
