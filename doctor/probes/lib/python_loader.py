"""Which file the loader takes for each name that torch's libraries ask for: glibc's search, followed through files.

Called by python_libraries. The order is that of ld.so(8) and glibc's elf/dl-load.c: a copy with that soname that is
loaded already (what LD_PRELOAD and /etc/ld.so.preload name is loaded first of all); RPATH of the library that asks and
of those that loaded it, unless it has a RUNPATH; LD_LIBRARY_PATH; its RUNPATH; ld.so.cache; the default folders.
Nothing is loaded. Cost: one small read a library (some 40) and one listing a folder. musl's loader has another order
and is not followed.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from doctor.probes.lib.loader_files import READS as OF_FILES
from doctor.probes.lib.loader_files import Info, LoaderFiles, normal
from doctor.system.base import System

READS: tuple[str, ...] = ("environment secret-bearing", *OF_FILES)
_ALWAYS_VERSIONED = ("libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1")
"""Each build of GCC gives their symbols versions: a file of that name without any is something else."""
_PROGRAMS = ("bin/sh", "usr/bin/env", "usr/bin/python3")
_MOST_OBJECTS = 400
_MOST_FOLDERS = 200
_MOST_PRELOADS = 20


class Candidate(NamedTuple):
    path: str
    by: str


@dataclass
class Loaded:
    """A mapped object. Paths are relative to the root; `parent` is the object that asked for it."""

    path: str
    info: Info
    parent: Loaded | None = None
    names: set[str] = field(default_factory=set)
    preloaded: str | None = None
    """`LD_PRELOAD`, `/etc/ld.so.preload`: what made it the first of its name."""


@dataclass
class Answer:
    """`path` None: not found. `others` are copies that a later step of the search would have found."""

    name: str
    asker: str
    path: str | None
    by: str | None
    others: tuple[Candidate, ...] = ()
    unfit: tuple[str, ...] = ()
    """Files of that name that the loader passes over: they are for another CPU."""


class Loader:
    """One process: what is loaded stays loaded, and is taken for every later request of that name."""

    def __init__(self, system: System, environ: Mapping[str, str], *, cache: bool = True) -> None:
        self._files = LoaderFiles(system, cache=cache)
        self._variable = _split(environ.get("LD_LIBRARY_PATH", ""))
        self._preloads = _words(environ.get("LD_PRELOAD", ""))
        self._main: Loaded | None = None
        self.loaded: list[Loaded] = []
        self.answers: list[Answer] = []

    def open(self, path: str, parent: Loaded | None = None) -> Loaded | None:
        """Loads a file by its path, and all that it needs, breadth first. None where it is no ELF file."""
        info = self._files.info(path)
        if info is None:
            return None
        known = self._known(path)
        if known is not None:
            return known
        first = self._map(path, info, parent or self._main)
        waiting = deque([first])
        if self._main is None:
            self._main = first
            waiting.extend(self._preload(first))
        while waiting and len(self.loaded) < _MOST_OBJECTS:
            asker = waiting.popleft()
            for name in asker.info.needed:
                fresh = self._request(name, asker)
                if fresh is not None:
                    waiting.append(fresh)
        return first

    def any_program(self) -> Loaded | None:
        """The system's shell or another program, loaded: what it gets every program without a RPATH gets."""
        return next((made for path in _PROGRAMS if (made := self.open(self.real(path)))), None)

    def resembling(self, beginning: str, asker: Loaded) -> list[str]:
        """Names that begin so (`libcudnn.so.`) wherever `asker` would have the loader look."""
        found = {name for name in self._files.cache() if name.startswith(beginning)}
        folders = [folder for folders, _ in self._own_folders(asker) for folder in folders]
        for folder in (*folders, *self._files.defaults()):
            found.update(name for name in self._files.listing(folder) if name.startswith(beginning))
        return sorted(found)

    def _preload(self, main: Loaded) -> Iterator[Loaded]:
        """What is loaded before anything that the program needs. One that is not there is passed over."""
        file = _words(self._files.preload())
        wanted = [(n, "LD_PRELOAD") for n in self._preloads] + [(n, "/etc/ld.so.preload") for n in file]
        for name, by in wanted[:_MOST_PRELOADS]:
            path = self._search(name, main).path
            info = self._files.info(path) if path else None
            if path and info and self._known(path) is None:
                made = self._map(path, info, main, name)
                made.preloaded = by
                yield made

    def ask(self, name: str, asker: Loaded) -> Answer:
        """As if `asker` called dlopen with that name: what would be taken. Nothing is added."""
        held = self._by_name(name)
        if held is not None:
            return Answer(name, asker.path, held.path, "loaded already")
        return self._search(name, asker)

    def _request(self, name: str, asker: Loaded) -> Loaded | None:
        held = self._by_name(name)
        if held is not None:
            if held.preloaded and not any(a.name == name for a in self.answers):
                self.answers.append(self._beaten_by(held, name, asker))
            return None
        answer = self._search(name, asker)
        self.answers.append(answer)
        if answer.path is None:
            return None
        known = self._known(answer.path)
        if known is not None:
            known.names.add(name)
            return None
        info = self._files.info(answer.path)
        return self._map(answer.path, info, asker, name) if info else None

    def _beaten_by(self, held: Loaded, name: str, asker: Loaded) -> Answer:
        """The answer for a name that a preloaded object has taken, with what the search would have found."""
        found = self._search(name, asker)
        first = (Candidate(found.path, found.by or ""),) if found.path else ()
        others = tuple(c for c in (*first, *found.others) if self._files.real(c.path) != self._files.real(held.path))
        return Answer(name, asker.path, held.path, held.preloaded, others)

    def _map(self, path: str, info: Info, parent: Loaded | None, name: str | None = None) -> Loaded:
        names = {n for n in (name, info.soname, path.rpartition("/")[2]) if n} if name else {info.soname or ""}
        made = Loaded(path, info, parent, names)
        self.loaded.append(made)
        return made

    def _by_name(self, name: str) -> Loaded | None:
        return next((o for o in self.loaded if name in o.names or name == o.info.soname), None)

    def _known(self, path: str) -> Loaded | None:
        """The object that is this very file, whatever it was called."""
        real = self._files.real(path)
        return next((o for o in self.loaded if self._files.real(o.path) == real), None)

    def _search(self, name: str, asker: Loaded) -> Answer:
        good: list[Candidate] = []
        unfit: dict[str, None] = {}
        for candidate in self._candidates(name, asker):
            info = self._files.info(candidate.path)
            if info and (info.bits, info.machine) == (asker.info.bits, asker.info.machine):
                good.append(candidate)
            elif info:
                unfit.setdefault(f"/{candidate.path} ({info.machine}, {info.bits}-bit)")
        if not good:
            return Answer(name, asker.path, None, None, unfit=tuple(unfit))
        reals = {self._files.real(good[0].path)}
        others = []
        for candidate in good[1:]:
            if self._files.real(candidate.path) not in reals:
                reals.add(self._files.real(candidate.path))
                others.append(candidate)
        return Answer(name, asker.path, good[0].path, good[0].by, tuple(others))

    def _candidates(self, name: str, asker: Loaded) -> Iterator[Candidate]:
        if "/" in name:
            if name.startswith("/"):
                yield Candidate(name.lstrip("/"), "its path")
            return
        for folders, by in self._own_folders(asker):
            yield from self._in(name, folders, by)
        defaults = () if asker.info.no_default else self._files.defaults()
        for path in self._files.cache().get(name, ()):
            if not asker.info.no_default or path.rpartition("/")[0] not in self._files.defaults():
                yield Candidate(path, "ld.so.cache")
        yield from self._in(name, defaults, "default folder")

    def _own_folders(self, asker: Loaded) -> Iterator[tuple[list[str], str]]:
        """What is searched before ld.so.cache, with what names it."""
        if asker.info.runpath is None:
            for owner in self._chain(asker):
                if owner.info.runpath is None:
                    yield self._folders(owner.info.rpath, owner), f"RPATH of {owner.path.rpartition('/')[2]}"
        yield self._variable, "LD_LIBRARY_PATH"
        yield self._folders(asker.info.runpath, asker), f"RUNPATH of {asker.path.rpartition('/')[2]}"

    def _chain(self, asker: Loaded) -> Iterator[Loaded]:
        """The object that asks, the one that loaded it, and on up; the program comes last in any case."""
        here: Loaded | None = asker
        seen: list[Loaded] = []
        while here is not None and here not in seen:
            seen.append(here)
            yield here
            here = here.parent
        if self._main is not None and self._main not in seen:
            yield self._main

    def _in(self, name: str, folders: Sequence[str], by: str) -> Iterator[Candidate]:
        for folder in folders[:_MOST_FOLDERS]:
            names = self._files.listing(folder)
            if "glibc-hwcaps" in names:
                for level in self._files.hwcaps():
                    below = f"{folder}/glibc-hwcaps/{level}"
                    if name in self._files.listing(below):
                        yield Candidate(f"{below}/{name}", by)
            if name in names:
                yield Candidate(f"{folder}/{name}", by)

    def _folders(self, text: str | None, owner: Loaded) -> list[str]:
        """Folders of a RPATH or RUNPATH, its $ORIGIN, $LIB and $PLATFORM put in."""
        origin = owner.path.rpartition("/")[0]
        library = "lib/x86_64-linux-gnu" if self._files.listing("usr/lib/x86_64-linux-gnu") else "lib64"
        found = []
        for part in (text or "").split(":"):
            for word, value in (("ORIGIN", f"/{origin}"), ("LIB", library), ("PLATFORM", owner.info.machine)):
                part = part.replace(f"${{{word}}}", value).replace(f"${word}", value)
            if part.startswith("/"):
                found.append(normal(part))
        return found

    def lacking_versions(self) -> Iterator[tuple[Loaded, Loaded, list[str]]]:
        """(who wants, the library that was taken, versions that it does not define): the loader gives up there."""
        for asker in self.loaded:
            wanted: dict[str, list[str]] = {}
            for name, version in asker.info.wants:
                wanted.setdefault(name, []).append(version)
            for name, versions in wanted.items():
                taken = self._by_name(name)
                if taken is None or not (taken.info.defines or name in _ALWAYS_VERSIONED):
                    continue
                missing = [version for version in versions if version not in taken.info.defines]
                if missing:
                    yield asker, taken, missing

    def real(self, path: str) -> str:
        return self._files.real(path)

    def info(self, path: str) -> Info | None:
        """What a file tells; None for one that is not there or no ELF file."""
        return self._files.info(path)


def _split(variable: str) -> list[str]:
    """Folders of LD_LIBRARY_PATH; an empty or relative one is the program's own, which is not known."""
    return [normal(part) for part in re.split(r"[:;]", variable[:8000]) if part.startswith("/")]


def _words(text: str) -> list[str]:
    """Names of LD_PRELOAD: between blanks and colons, and $LIB and its like are not known here."""
    return [word for word in re.split(r"[\s:]{1,20}", text[:8000]) if word and "$" not in word]
