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
from typing import Any, NamedTuple

from doctor.readers import elf, elf_dynamic, ld_so_cache
from doctor.readers.blocks import Blocks
from doctor.readers.printable import clean
from doctor.system.base import System

READS: tuple[str, ...] = (
    "environment secret-bearing",
    "derived:elf-dynamic:* public",
    "dir:* of RPATH, RUNPATH, LD_LIBRARY_PATH and the default folders name",
    "file:etc/ld.so.cache public",
    "file:etc/ld.so.preload public",
    "file:proc/cpuinfo public",
    "real:* name",
)
_MOST_OBJECTS = 400
_MOST_FOLDERS = 200
_MOST_PRELOADS = 20
_DEADLINE_S = 2.0
_LEVELS = (
    ("x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"),
    ("x86-64-v3", "avx avx2 bmi1 bmi2 f16c fma movbe abm"),
    ("x86-64-v2", "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3"),
)
"""Sub-folders of glibc-hwcaps and the flags of /proc/cpuinfo that each needs beside those of the levels below it
(x86-64 psABI 1.0, table 3.1)."""
_LEVEL = re.compile(r"/glibc-hwcaps/([a-z0-9-]{1,20})/")
_DEFAULTS = (
    ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib", "usr/lib"),
    ("lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu", "lib", "usr/lib"),
    ("lib64", "usr/lib64"),
)
"""Compiled into the loader: of Debian and its kin, of the others."""


class Info(NamedTuple):
    """What the loader reads of one file."""

    bits: int
    machine: str
    needed: tuple[str, ...]
    soname: str | None
    rpath: str | None
    runpath: str | None
    no_default: bool
    build_id: str | None


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


class Loader:
    """One process: what is loaded stays loaded, and is taken for every later request of that name."""

    def __init__(self, system: System, environ: Mapping[str, str], *, cache: bool = True) -> None:
        self._system = system
        self._variable = _split(environ.get("LD_LIBRARY_PATH", ""))
        self._preloads = _words(environ.get("LD_PRELOAD", ""))
        self._cache_wanted = cache
        self._listings: dict[str, frozenset[str]] = {}
        self._infos: dict[str, Info | None] = {}
        self._reals: dict[str, str] = {}
        self._cached: dict[str, tuple[str, ...]] | None = None
        self._levels: tuple[str, ...] | None = None
        self._main: Loaded | None = None
        self.loaded: list[Loaded] = []
        self.answers: list[Answer] = []

    def open(self, path: str, parent: Loaded | None = None) -> Loaded | None:
        """Loads a file by its path, and all that it needs, breadth first. None where it is no ELF file."""
        info = self.info(path)
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

    def resembling(self, beginning: str, asker: str) -> list[str]:
        """Names that begin so (`libcudnn.so.`) wherever the object at `asker` would have the loader look."""
        found = {name for name in self._cache() if name.startswith(beginning)}
        for held in (o for o in self.loaded if o.path == asker):
            for folder in (
                *self._folders(held.info.rpath, held), *self._variable, *self._folders(held.info.runpath, held),
                *self._defaults(),
            ):  # fmt: skip
                found.update(name for name in self._listing(folder) if name.startswith(beginning))
        return sorted(found)

    def _preload(self, main: Loaded) -> Iterator[Loaded]:
        """What is loaded before anything that the program needs. One that is not there is passed over."""
        file = self._system.read_text("etc/ld.so.preload", limit=1 << 16).value if self._cache_wanted else None
        wanted = [(n, "LD_PRELOAD") for n in self._preloads] + [(n, "/etc/ld.so.preload") for n in _words(file or "")]
        for name, by in wanted[:_MOST_PRELOADS]:
            path = self._search(name, main).path
            info = self.info(path) if path else None
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
        info = self.info(answer.path)
        return self._map(answer.path, info, asker, name) if info else None

    def _beaten_by(self, held: Loaded, name: str, asker: Loaded) -> Answer:
        """The answer for a name that a preloaded object has taken, with what the search would have found."""
        found = self._search(name, asker)
        first = (Candidate(found.path, found.by or ""),) if found.path else ()
        others = tuple(c for c in (*first, *found.others) if self.real(c.path) != self.real(held.path))
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
        real = self.real(path)
        return next((o for o in self.loaded if self.real(o.path) == real), None)

    def _search(self, name: str, asker: Loaded) -> Answer:
        good: list[Candidate] = []
        for candidate in self._candidates(name, asker):
            info = self.info(candidate.path)
            if info and (info.bits, info.machine) == (asker.info.bits, asker.info.machine):
                good.append(candidate)
        if not good:
            return Answer(name, asker.path, None, None)
        reals = {self.real(good[0].path)}
        others = []
        for candidate in good[1:]:
            if self.real(candidate.path) not in reals:
                reals.add(self.real(candidate.path))
                others.append(candidate)
        return Answer(name, asker.path, good[0].path, good[0].by, tuple(others))

    def _candidates(self, name: str, asker: Loaded) -> Iterator[Candidate]:
        if "/" in name:
            if name.startswith("/"):
                yield Candidate(name.lstrip("/"), "its path")
            return
        if asker.info.runpath is None:
            for owner in self._chain(asker):
                folders = self._folders(owner.info.rpath, owner) if owner.info.runpath is None else []
                yield from self._in(name, folders, f"RPATH of {owner.path.rpartition('/')[2]}")
        yield from self._in(name, self._variable, "LD_LIBRARY_PATH")
        yield from self._in(
            name, self._folders(asker.info.runpath, asker), f"RUNPATH of {asker.path.rpartition('/')[2]}"
        )
        defaults = () if asker.info.no_default else self._defaults()
        for path in self._cache().get(name, ()):
            if not asker.info.no_default or path.rpartition("/")[0] not in self._defaults():
                yield Candidate(path, "ld.so.cache")
        yield from self._in(name, defaults, "default folder")

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
            names = self._listing(folder)
            if "glibc-hwcaps" in names:
                for level in self._hwcaps():
                    below = f"{folder}/glibc-hwcaps/{level}"
                    if name in self._listing(below):
                        yield Candidate(f"{below}/{name}", by)
            if name in names:
                yield Candidate(f"{folder}/{name}", by)

    def _folders(self, text: str | None, owner: Loaded) -> list[str]:
        """Folders of a RPATH or RUNPATH, its $ORIGIN, $LIB and $PLATFORM put in."""
        origin = owner.path.rpartition("/")[0]
        library = "lib/x86_64-linux-gnu" if self._listing("usr/lib/x86_64-linux-gnu") else "lib64"
        found = []
        for part in (text or "").split(":"):
            for word, value in (("ORIGIN", f"/{origin}"), ("LIB", library), ("PLATFORM", owner.info.machine)):
                part = part.replace(f"${{{word}}}", value).replace(f"${word}", value)
            if part.startswith("/"):
                found.append(_normal(part))
        return found

    def _defaults(self) -> tuple[str, ...]:
        return next((d for d in _DEFAULTS if self._listing(d[1])), ())

    def _hwcaps(self) -> tuple[str, ...]:
        """The sub-folders that this CPU may take from, the best first."""
        if self._levels is None:
            text = self._system.read_text("proc/cpuinfo", limit=4 << 20).value or ""
            flags = set(next((line for line in text.splitlines() if line.startswith("flags")), "").split())
            good: list[str] = []
            for level, needed in reversed(_LEVELS):
                if not set(needed.split()) <= flags:
                    break
                good.insert(0, level)
            self._levels = tuple(good)
        return self._levels

    def _cache(self) -> Mapping[str, tuple[str, ...]]:
        if self._cached is None:
            self._cached = {}
            reading = self._system.read_bytes("etc/ld.so.cache", length=8 << 20) if self._cache_wanted else None
            rows = reading.then(ld_so_cache.read).value if reading else None
            for name, path in rows or ():
                level = _LEVEL.search(path)
                if level and level[1] not in self._hwcaps():
                    continue
                self._cached[name] = (*self._cached.get(name, ()), clean(path).lstrip("/"))
        return self._cached

    def _listing(self, folder: str) -> frozenset[str]:
        if folder not in self._listings:
            self._listings[folder] = frozenset(self._system.list_dir(folder).value or ())
        return self._listings[folder]

    def real(self, path: str) -> str:
        if path not in self._reals:
            self._reals[path] = self._system.real(path).value or path
        return self._reals[path]

    def info(self, path: str) -> Info | None:
        """What a file tells; None for one that is not there or no ELF file."""
        real = self.real(path)
        if real not in self._infos:
            reading = self._system.derived_from("elf-dynamic", real, _told, deadline_s=_DEADLINE_S)
            self._infos[real] = _info(reading.value)
        return self._infos[real]


def _told(pieces: Blocks) -> dict[str, Any]:
    held = elf.head(pieces)
    told = elf_dynamic.dynamic(pieces, held)
    return {
        "bits": held.bits,
        "machine": held.machine,
        "needed": list(told.needed) if told else [],
        "soname": told.soname if told else None,
        "rpath": told.rpath if told else None,
        "runpath": told.runpath if told else None,
        "no_default": bool(told and told.no_default),
        "build_id": elf_dynamic.build_id(pieces, held),
    }


def _info(value: Any) -> Info | None:
    if not isinstance(value, dict) or set(value) != set(Info._fields):
        return None
    return Info(**{**value, "needed": tuple(map(str, value["needed"]))})


def _split(variable: str) -> list[str]:
    """Folders of LD_LIBRARY_PATH; an empty or relative one is the program's own, which is not known."""
    return [_normal(part) for part in re.split(r"[:;]", variable[:8000]) if part.startswith("/")]


def _words(text: str) -> list[str]:
    """Names of LD_PRELOAD: between blanks and colons, and $LIB and its like are not known here."""
    return [word for word in re.split(r"[\s:]{1,20}", text[:8000]) if word and "$" not in word]


def _normal(path: str) -> str:
    """Without `.` and `..`, below the root. Links are left as they are."""
    steps: list[str] = []
    for step in path.split("/"):
        if step == "..":
            del steps[-1:]
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(steps)
