"""What leads to an installation: PATH, LD_LIBRARY_PATH, the loader's configuration and cache, and the variables.

The loader looks in LD_LIBRARY_PATH first, then in its cache (ld.so(8)); a program's own RPATH is not looked at here.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from doctor.parsers.elf import gpu_library, ld_so_cache, ld_so_conf
from doctor.parsers.lib.printable import clean
from doctor.probes.lib.install_versions import Found
from doctor.system.base import System

READS: tuple[str, ...] = (
    "environment secret-bearing",
    "dir:* of LD_LIBRARY_PATH name",
    "stat:*/{nvcc,hipcc} of PATH name",
    "real:* of PATH, LD_LIBRARY_PATH and the variables name",
    "file:etc/ld.so.conf public",
    "dir:etc/ld.so.conf.d public",
    "file:etc/ld.so.conf.d/*.conf public",
    "file:etc/ld.so.cache public",
)
VARIABLES = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")
_TOOLS = ("nvcc", "hipcc")
_FOLDERS_AT_MOST = 40


class Choice(NamedTuple):
    key: str
    path: str
    by: str
    shadows: tuple[str, ...]


@dataclass
class Selection:
    """`leads` are (what leads, real path that it leads to)."""

    leads: list[tuple[str, str]] = field(default_factory=list)
    loader: list[Choice] = field(default_factory=list)
    source: str = "file:/etc/ld.so.cache"

    def selected_by(self, held: Found) -> tuple[str, ...]:
        """Ways that lead into the installation. The system's own folders are always looked in."""
        if held.kind == "distribution":
            tools = (word for word, path in self.leads if word.startswith("PATH") and path.startswith("usr/bin/"))
            return tuple(dict.fromkeys(("default folders", *tools)))
        inside = (word for word, path in self.leads if path == held.path or path.startswith(f"{held.path}/"))
        return tuple(dict.fromkeys(inside))


def look(system: System, installs: tuple[Found, ...]) -> Selection:
    """Asks nothing of the loader where no installation is there and LD_LIBRARY_PATH leads nowhere."""
    environ = system.environ().value or {}
    selection = Selection()
    if installs:
        selection.leads += [*_variables(system, environ), *_path(system, environ), *_configured(system)]
        if system.stat("opt/rocm").known and (target := system.real("opt/rocm").value) and target != "opt/rocm":
            selection.leads.append(("/opt/rocm", target))
        if system.stat("usr/local/cuda").known and (target := system.real("usr/local/cuda").value):
            selection.leads.append(("/usr/local/cuda", target))
    copies = [*_of_variable(system, environ, selection), *_of_cache(system, bool(installs))]
    _choose(system, selection, copies, installs)
    return selection


def _variables(system: System, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in VARIABLES:
        if real := _real(system, environ.get(name, "")):
            yield name, real


def _path(system: System, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The first folder of PATH that has a compiler."""
    wanted = list(_TOOLS)
    for folder in _split(environ.get("PATH", "")):
        for tool in [t for t in wanted if system.stat(f"{folder}/{t}").known]:
            wanted.remove(tool)
            if real := _real(system, f"/{folder}/{tool}"):
                yield f"PATH ({tool})", real
        if not wanted:
            return


def _configured(system: System) -> Iterator[tuple[str, str]]:
    """Folders that etc/ld.so.conf and the files that it includes name."""
    files = ["ld.so.conf"]
    first = system.read_text("etc/ld.so.conf").then(ld_so_conf.read).value
    for pattern in first.includes if first else ():
        folder, _, glob = pattern.removeprefix("/etc/").rpartition("/")
        names = system.list_dir(f"etc/{folder}" if folder else "etc").value or ()
        files += [f"{folder}/{n}" if folder else n for n in names if fnmatch.fnmatchcase(n, glob)][:_FOLDERS_AT_MOST]
    for file in files:
        conf = system.read_text(f"etc/{file}").then(ld_so_conf.read).value
        for folder in conf.folders if conf else ():
            if real := _real(system, folder):
                yield f"/etc/{file}", real


def _of_variable(system: System, environ: Mapping[str, str], selection: Selection) -> Iterator[tuple[str, str, str]]:
    """(soname, path, what leads there) of GPU libraries in the folders of LD_LIBRARY_PATH."""
    for folder in _split(environ.get("LD_LIBRARY_PATH", "")):
        real = _real(system, f"/{folder}")
        if real is None:
            continue
        selection.leads.append(("LD_LIBRARY_PATH", real))
        for name in system.list_dir(folder).value or ():
            library = gpu_library.read(name) if name.startswith("lib") and ".so." in name else None
            if library and name == library.soname:
                yield library.soname, f"/{folder}/{name}", "LD_LIBRARY_PATH"


def _of_cache(system: System, wanted: bool) -> Iterator[tuple[str, str, str]]:
    if not wanted:
        return
    cache = system.read_bytes("etc/ld.so.cache", length=8 << 20)
    stems = tuple(gpu_library.COMPONENTS)
    for name, path in cache.then(lambda data: ld_so_cache.read(data, stems)).value or ():
        library = gpu_library.read(name)
        if library and name == library.soname:
            yield library.soname, clean(path), "ld.so.cache"


def _choose(
    system: System, selection: Selection, copies: list[tuple[str, str, str]], installs: tuple[Found, ...]
) -> None:
    by_name: dict[str, list[tuple[str, str]]] = {}
    for soname, path, by in copies:
        by_name.setdefault(soname, []).append((path, by))
    for held in installs:
        for soname, path in held.sonames.items():
            if soname in by_name:
                by_name[soname].append((path, "installed"))
    for soname, ways in sorted(by_name.items()):
        first, by = ways[0]
        real = {_real(system, first)}
        shadows = []
        for path, _ in ways[1:]:
            target = _real(system, path)
            if target not in real:
                real.add(target)
                shadows.append(path)
        selection.loader.append(Choice(soname, first, by, tuple(shadows[:8])))
    if any(c.by == "LD_LIBRARY_PATH" for c in selection.loader):
        selection.source = "environment:LD_LIBRARY_PATH"


def _split(paths: str) -> list[str]:
    """Absolute folders of a list such as PATH, without the leading slash."""
    found = [clean(p, 1000).strip("/") for p in paths[:20_000].split(":") if p.startswith("/")]
    return list(dict.fromkeys(f for f in found if f))[:_FOLDERS_AT_MOST]


def _real(system: System, path: str) -> str | None:
    """The path with its links followed, below the root; None where it leads nowhere."""
    return system.real(path.strip("/")).value if path.startswith("/") and path.strip("/") else None
