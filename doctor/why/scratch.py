"""A throwaway copy of BAD's environment, which takes over single packages and variables of GOOD."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from doctor.errors import InputError
from doctor.probes.host.environment import OF_THE_SHELL
from doctor.why.copying import Copy, Source, listed
from doctor.why.local import Local, attainable, is_of_the_build
from doctor.why.ranking import is_of_the_stack

_FOLDERS_OF_PATH = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")

_LARGEST, _MOST_FILES = 256 << 20, 2000
"""Bytes of a working folder that is copied for each run, and files without a package that are carried."""
_READ = 1 << 20
"""Bytes of a file that is compared; of a larger one the size counts."""

Change = tuple[str, str]
"""`("variable", NAME)`, `("package", NAME)`, `("file", PATH)`, `("limit", NAME)` or FOLDER; of containers
also `("device", PATH)`, `("option", NAME)` and `("layer", NUMBER)`."""
FOLDER: Change = ("folder", "working directory")


def shown(change: Change) -> str:
    return f"image layer {change[1]}" if change[0] == "layer" else change[1]


def changes(good: Local, bad: Local) -> tuple[Change, ...]:
    """What differs and can be carried over, likely causes first. Raises InputError where their Pythons differ."""
    packages: list[Change] = []
    rest: list[str] = []
    if good.prefix and bad.prefix and good.prefix.resolve() != bad.prefix.resolve():
        if good.site.parent.name != bad.site.parent.name:
            names = f"{good.site.parent.name} and {bad.site.parent.name}"
            raise InputError(f"the environments are of {names}: compiled packages of one do not run in the other")
        both = sorted({*good.packages, *bad.packages})
        packages = [
            ("package", n)
            for n in both
            if good.build(n) != bad.build(n) and all(side.files(n) for side in (good, bad) if n in side.packages)
        ]
        rest = _other_files(good, bad, {name for _, name in packages})
    names_of_both = sorted({*good.environment, *bad.environment} - OF_THE_SHELL)
    variables = [n for n in names_of_both if _variable(good, n) != _variable(bad, n)]
    limits = [n for n in sorted(good.limits) if n in bad.limits and _is_other_limit(good.limits[n], bad.limits[n], n)]
    folder = [FOLDER] if folders_differ(good, bad) and _fits(good, bad) else []
    files: list[Change] = [("file", path) for path in rest] if len(rest) <= _MOST_FILES else []
    found = (*(("limit", name) for name in limits), *folder, *packages, *(("variable", name) for name in variables))
    return tuple(sorted((*found, *files), key=_is_unlikely))


def _other_files(good: Local, bad: Local, packages: Collection[str]) -> list[str]:
    """Files of the environments' site-packages that differ and belong to no package which is carried: nothing lists
    them, or somebody changed them later. A compiled one goes with its source."""
    carried = set().union(*(side.files(n) for side in (good, bad) for n in packages))
    there, here = (_below_site(side) for side in (good, bad))
    return sorted(p for p in {*there, *here} - carried if _content(there.get(p)) != _content(here.get(p)))


def _below_site(side: Local) -> dict[str, Source]:
    below = f"{side.site.relative_to(side.prefix or '/').as_posix()}/"
    files = listed(side.prefix) if side.prefix else {}
    return {p: s for p, s in files.items() if p.startswith(below) and "/__pycache__/" not in p and is_of_the_build(p)}


def _content(source: Source | None) -> object:
    """With the environment's own name taken out of it."""
    if source is None or source.link is not None:
        return source and source.link
    with suppress(OSError):
        path = Path(source.path)
        size = path.stat().st_size
        return size if size > _READ else path.read_bytes().replace(source.prefix.encode(), b"")
    return None


def _is_unlikely(change: Change) -> bool:
    """Those that the GPU stack reads come first: causes beside each other are found in fewer runs."""
    heads = {"variable": "environment", "package": "packages", "file": "packages"}
    return change[0] in heads and not is_of_the_stack(heads[change[0]], change[1])


def folders_differ(good: Local, bad: Local) -> bool:
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
    if kind == "file":
        path = (side.prefix or Path()) / name
        return f"{path.stat().st_size} bytes" if path.is_file() else None
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
            self._owners = {name: set(bad.files(name)) for name in bad.packages}

    def carry(self, wanted: Collection[Change]) -> dict[str, str]:
        """Puts the copy into the state "BAD with these changes" and returns the variables that COMMAND gets."""
        if self.prefix is not None:
            self._copy.put(self._files(*({n for k, n in wanted if k == kind} for kind in ("package", "file"))))
        environment = dict(self.bad.environment)
        for kind, name in wanted:
            if kind == "variable":
                value = self.good.environment.get(name)
                environment.pop(name, None) if value is None else environment.update({name: value})
        return self._for_the_copy(environment)

    def place(self, wanted: Collection[Change]) -> Path | None:
        """A fresh copy of the working folder that COMMAND runs in; None where none is compared."""
        source = (self.good if FOLDER in wanted else self.bad).folder
        if source is None or not (folders_differ(self.good, self.bad) and _fits(self.good, self.bad)):
            return None
        made = self.folder / "working"
        Copy(made).put(listed(source))
        return made

    def _files(self, carried: set[str], single: set[str]) -> dict[str, Source]:
        """BAD's files with those of these packages, and `single` ones, as GOOD has them. A file of two packages stays
        while one of them does, as GOOD has it; compiled files (.pyc) go with the source that they were made of."""
        staying = set().union(*(rows for name, rows in self._owners.items() if name not in carried))
        owned = set().union(*(self._owners.get(name, set()) for name in carried))
        gone = single | (owned - staying)
        files = {path: source for path, source in self._base.items() if path not in gone}
        links = {path for path, source in files.items() if source.link is not None}
        added: dict[str, Source] = {}
        for path in single.union(owned, *(self.good.files(name) for name in carried)):
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
