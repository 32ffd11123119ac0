"""What glibc's loader looks at, each read once: folders, links, the dynamic sections of ELF files, its cache, and which
sub-folders of glibc-hwcaps this CPU takes from.

Called by python_loader. Cost: one small read a library and one listing a folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from doctor.parsers.elf import elf, elf_dynamic, ld_so_cache
from doctor.parsers.elf.blocks import Blocks
from doctor.parsers.lib.printable import clean
from doctor.system.base import System

READS: tuple[str, ...] = (
    "derived:elf-dynamic:* public",
    "dir:* of RPATH, RUNPATH, LD_LIBRARY_PATH and the default folders name",
    "file:etc/ld.so.cache public",
    "file:etc/ld.so.preload public",
    "file:proc/cpuinfo public",
    "real:* name",
)
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
    bits: int
    machine: str
    needed: tuple[str, ...]
    soname: str | None
    rpath: str | None
    runpath: str | None
    no_default: bool
    build_id: str | None
    wants: tuple[tuple[str, str], ...] = ()
    """(library, version of a symbol) without which the loader gives up."""
    defines: tuple[str, ...] = ()
    size: int = 0


_ALWAYS = set(Info._fields) - set(Info._field_defaults)
_VERSIONED = (
    "libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1",
    "libpthread.so.0", "libdl.so.2",
)  # fmt: skip
"""Libraries of the system, which differ between machines by the versions that they define."""


class LoaderFiles:
    """Of one machine; `cache` False where /etc is another system's. Paths are relative to the root."""

    def __init__(self, system: System, *, cache: bool) -> None:
        self._system, self._cache_wanted = system, cache
        self._listings: dict[str, frozenset[str]] = {}
        self._infos: dict[str, Info | None] = {}
        self._reals: dict[str, str] = {}
        self._cached: dict[str, tuple[str, ...]] | None = None
        self._levels: tuple[str, ...] | None = None

    def preload(self) -> str:
        held = self._system.read_text("etc/ld.so.preload", limit=1 << 16).value if self._cache_wanted else None
        return held or ""

    def defaults(self) -> tuple[str, ...]:
        return next((d for d in _DEFAULTS if self.listing(d[1])), ())

    def hwcaps(self) -> tuple[str, ...]:
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

    def cache(self) -> Mapping[str, tuple[str, ...]]:
        if self._cached is None:
            self._cached = {}
            reading = self._system.read_bytes("etc/ld.so.cache", length=8 << 20) if self._cache_wanted else None
            rows = reading.then(ld_so_cache.read).value if reading else None
            for name, path in rows or ():
                level = _LEVEL.search(path)
                if level and level[1] not in self.hwcaps():
                    continue
                self._cached[name] = (*self._cached.get(name, ()), clean(path).lstrip("/"))
        return self._cached

    def listing(self, folder: str) -> frozenset[str]:
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
    tags = elf_dynamic.dynamic(pieces, held)
    versions = elf_dynamic.versions(pieces, held, tags, _VERSIONED) if tags else elf_dynamic.Versions((), ())
    return {
        "bits": held.bits,
        "machine": held.machine,
        "needed": list(tags.needed) if tags else [],
        "soname": tags.soname if tags else None,
        "rpath": tags.rpath if tags else None,
        "runpath": tags.runpath if tags else None,
        "no_default": bool(tags and tags.no_default),
        "build_id": elf_dynamic.build_id(pieces, held),
        "wants": [list(pair) for pair in versions.wanted],
        "defines": list(versions.defined),
        "size": pieces.size,
    }


def _info(value: Any) -> Info | None:
    if not isinstance(value, dict) or not _ALWAYS <= set(value) <= set(Info._fields):
        return None
    pairs = tuple((str(a), str(b)) for a, b in value.get("wants", ()))
    listed = {"needed": tuple(map(str, value["needed"])), "defines": tuple(map(str, value.get("defines", ())))}
    return Info(**{**value, **listed, "wants": pairs})


def normal(path: str) -> str:
    """Without `.` and `..`, below the root. Links are left as they are."""
    steps: list[str] = []
    for step in path.split("/"):
        if step == "..":
            del steps[-1:]
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(steps)
