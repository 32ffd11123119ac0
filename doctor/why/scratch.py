"""A throwaway copy of BAD's environment, which takes over single packages and variables of GOOD."""

from __future__ import annotations

import os
import resource
import shutil
import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from doctor.errors import InputError
from doctor.probes.host.environment import OF_THE_SHELL
from doctor.why.copying import Copy, Source, listed, needed_bytes, shares_blocks
from doctor.why.local import Local, attainable
from doctor.why.ranking import is_of_the_stack

_FOLDERS_OF_PATH = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")

_LARGEST = 256 << 20
"""Bytes of a working folder that is copied for each run."""

Change = tuple[str, str]
"""`("variable", NAME)`, `("package", NAME)`, `("limit", NAME)` or FOLDER; of containers also `("device", PATH)`,
`("option", NAME)` and `("layer", NUMBER)`."""
FOLDER: Change = ("folder", "working directory")


def shown(change: Change) -> str:
    return f"image layer {change[1]}" if change[0] == "layer" else change[1]


def changes(good: Local, bad: Local) -> tuple[Change, ...]:
    """What differs and can be carried over, likely causes first. Raises InputError where their Pythons differ."""
    packages: list[Change] = []
    if good.prefix and bad.prefix and good.prefix.resolve() != bad.prefix.resolve():
        if good.site.parent.name != bad.site.parent.name:
            names = f"{good.site.parent.name} and {bad.site.parent.name}"
            raise InputError(f"the environments are of {names}: compiled packages of one do not run in the other")
        both = sorted({*good.packages, *bad.packages})
        packages = [("package", n) for n in both if good.build(n) != bad.build(n) and _is_whole(good, bad, n)]
    names_of_both = sorted({*good.environment, *bad.environment} - OF_THE_SHELL)
    variables = [n for n in names_of_both if _variable(good, n) != _variable(bad, n)]
    limits = [n for n in sorted(good.limits) if n in bad.limits and _is_other_limit(good.limits[n], bad.limits[n], n)]
    folder = [FOLDER] if _folders_differ(good, bad) and _fits(good, bad) else []
    found = (*(("limit", name) for name in limits), *folder, *packages, *(("variable", name) for name in variables))
    return tuple(sorted(found, key=_is_unlikely))


def _is_unlikely(change: Change) -> bool:
    """Those that the GPU stack reads come first: causes beside each other are found in fewer runs."""
    heads = {"variable": "environment", "package": "packages"}
    return change[0] in heads and not is_of_the_stack(heads[change[0]], change[1])


def left_out(good: Local, bad: Local) -> tuple[str, ...]:
    """Packages that differ and have no RECORD of their files on a side, so that nobody can carry them over; a working
    folder that is too large to be copied for each run."""
    large = _folders_differ(good, bad) and not _fits(good, bad)
    folder = (f"the working directory (more than {_LARGEST >> 20} MiB)",) if large else ()
    if not (good.prefix and bad.prefix):
        return folder
    both = sorted({*good.packages, *bad.packages})
    unlisted = (n for n in both if good.build(n) != bad.build(n) and not _is_whole(good, bad, n))
    return (*(f"{name} (nothing lists its files)" for name in unlisted), *folder)


def _folders_differ(good: Local, bad: Local) -> bool:
    one, other = (side.folder and side.folder.resolve() for side in (good, bad))
    return one != other


def _fits(good: Local, bad: Local) -> bool:
    folders = (side.folder for side in (good, bad) if side.folder)
    return all(_size(folder) <= _LARGEST for folder in folders)


def _size(folder: Path) -> int:
    """Bytes of its files; no further than too many."""
    whole = 0
    for top, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                whole += max(os.lstat(f"{top}/{name}").st_size, 4096)
        if whole > _LARGEST:
            break
    return whole


def _is_whole(good: Local, bad: Local, name: str) -> bool:
    return all(side.files(name) for side in (good, bad) if name in side.packages)


def _is_other_limit(good: int, bad: int, name: str) -> bool:
    return good != bad and attainable(name, good) and attainable(name, bad)


def value(side: Local, change: Change) -> str | None:
    """What a side has, as text; None where it lacks it."""
    kind, name = change
    if kind == "variable":
        return side.environment.get(name)
    if kind == "folder":
        return None if side.folder is None else str(side.folder)
    if kind == "limit":
        return "unlimited" if side.limits[name] == resource.RLIM_INFINITY else str(side.limits[name])
    return side.version(name)


def _variable(side: Local, name: str) -> str | None:
    """The value, with the side's own environment taken out of it."""
    value = side.environment.get(name)
    return value.replace(str(side.prefix), "") if value is not None and side.prefix else value


class Scratch:
    """Under `folder`: `environment/` with the copy, and a working folder for each run."""

    def __init__(self, good: Local, bad: Local, folder: Path) -> None:
        self.good, self.bad, self.folder = good, bad, folder
        self.prefix = folder / "environment" if bad.prefix else None
        self._base: dict[str, Source] = {}
        self.in_use = threading.Lock()
        folder.mkdir(exist_ok=True)
        if bad.prefix and self.prefix:
            self._base, self._copy = listed(bad.prefix), Copy(self.prefix)
            self._check_space()
            self._owners = {name: set(bad.files(name)) for name in bad.packages}

    def _check_space(self) -> None:
        files = [source for source in self._base.values() if source.link is None]
        needed, free = needed_bytes(self._base), shutil.disk_usage(self.folder).free
        if files and needed > free and not shares_blocks(self.folder, files[0].path):
            sizes = f"a copy of {self.bad.prefix} takes {needed >> 20} MiB, and {free >> 20} MiB are free"
            raise InputError(f"{sizes} under {self.folder.parent}; set TMPDIR to a folder with more")

    def carry(self, wanted: Collection[Change]) -> dict[str, str]:
        """Puts the copy into the state "BAD with these changes" and returns the variables that COMMAND gets."""
        if self.prefix is not None:
            self._copy.put(self._files({name for kind, name in wanted if kind == "package"}))
        environment = dict(self.bad.environment)
        for kind, name in wanted:
            if kind == "variable":
                value = self.good.environment.get(name)
                environment.pop(name, None) if value is None else environment.update({name: value})
        return self._for_the_copy(environment)

    def place(self, wanted: Collection[Change]) -> Path | None:
        """A fresh copy of the working folder that COMMAND runs in; None where none is compared."""
        source = (self.good if FOLDER in wanted else self.bad).folder
        if source is None or not (_folders_differ(self.good, self.bad) and _fits(self.good, self.bad)):
            return None
        made = self.folder / "working"
        Copy(made).put(listed(source))
        return made

    def _files(self, carried: set[str]) -> dict[str, Source]:
        """BAD's files with those of these packages as GOOD has them. A file of two packages stays while one of them
        does, as GOOD has it; compiled files (.pyc) go with the source that they were made of."""
        files = dict(self._base)
        staying = set().union(*(rows for name, rows in self._owners.items() if name not in carried))
        for name in carried:
            for path in self._owners.get(name, set()) - staying:
                files.pop(path, None)
        links = {path for path, source in self._base.items() if source.link is not None}
        added: dict[str, Source] = {}
        for name in sorted(carried):
            for path in {*self.good.files(name), *(self._owners.get(name, set()) & staying)}:
                theirs = f"{self.good.prefix}/{path}"
                if Path(theirs).is_file() and not any(str(above) in links for above in Path(path).parents):
                    added[path] = Source(theirs, str(self.good.prefix))
        files |= added
        fresh = {path: source for path, source in files.items() if not self._is_stale(path, files)}
        for path, source in added.items():
            if path.endswith(".py"):
                fresh.update(_compiled(path, source))
        return fresh

    def _is_stale(self, path: str, files: Mapping[str, Source]) -> bool:
        """Whether it was compiled from a source that is now another's."""
        made_of = _made_of(path) if "/__pycache__/" in path else path
        return files.get(made_of) != self._base.get(made_of) and made_of != path

    def own(self, command: list[str]) -> list[str]:
        """COMMAND with the copy in the place of the environments that it names."""
        for side in (self.bad, self.good):
            if side.prefix and self.prefix:
                old, new = f"{side.prefix}/", f"{self.prefix}/"
                command = [new + word[len(old) :] if word.startswith(old) else word for word in command]
        return command

    def _for_the_copy(self, environment: dict[str, str]) -> dict[str, str]:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        if self.prefix is None:
            return environment
        for name in _FOLDERS_OF_PATH:
            for side in (self.good, self.bad):
                if name in environment and side.prefix:
                    environment[name] = environment[name].replace(str(side.prefix), str(self.prefix))
        rest = environment.get("PATH", os.defpath)
        return {**environment, "VIRTUAL_ENV": str(self.prefix), "PATH": f"{self.prefix}/bin:{rest}"}


def _made_of(path: str) -> str:
    """`a/b.py` of `a/__pycache__/b.cpython-312.pyc`."""
    folder, _, name = path.rpartition("/__pycache__/")
    return f"{folder}/{name.partition('.')[0]}.py"


def _compiled(path: str, source: Source) -> dict[str, Source]:
    """What lies compiled beside a source: it says itself of which size and time of the source it was made."""
    folder, _, name = path.rpartition("/")
    beside = Path(source.path).parent / "__pycache__"
    stem = name.removesuffix(".py")
    found = beside.glob(f"{stem}.*.pyc") if stem.isidentifier() else ()
    return {f"{folder}/__pycache__/{one.name}": Source(str(one), source.prefix) for one in found if one.is_file()}
