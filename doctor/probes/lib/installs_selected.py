"""What leads to an installation: PATH, LD_LIBRARY_PATH, the loader's configuration and cache, and the variables.

Which copy of a library a program gets is asked of python_loader's simulation, for a program without a RPATH.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from doctor.parsers.elf import gpu_library, ld_so_conf
from doctor.parsers.lib.printable import clean
from doctor.probes.lib.install_versions import Found
from doctor.probes.lib.loader_files import READS as OF_FILES
from doctor.probes.lib.python_loader import Loader
from doctor.system.base import System

READS: tuple[str, ...] = (
    "environment secret-bearing",
    "dir:* of LD_LIBRARY_PATH name",
    "stat:*/{nvcc,hipcc} of PATH name",
    "real:* of PATH, LD_LIBRARY_PATH and the variables name",
    "file:etc/ld.so.conf public",
    "dir:etc/ld.so.conf.d public",
    "file:etc/ld.so.conf.d/*.conf public",
    *OF_FILES,
)
VARIABLES = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")
_TOOLS = ("nvcc", "hipcc")
_FOLDERS_AT_MOST = 40


@dataclass
class Selection:
    """`leads` are (what leads, real path that it leads to)."""

    leads: list[tuple[str, str]] = field(default_factory=list)
    loader: list[dict[str, str | None]] = field(default_factory=list)
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
    selection.leads += [("LD_LIBRARY_PATH", real) for folder in _split(environ.get("LD_LIBRARY_PATH", ""))
                        if (real := _real(system, f"/{folder}"))]  # fmt: skip
    selection.loader += _taken(system, environ, installs)
    if any(choice["by"] == "LD_LIBRARY_PATH" for choice in selection.loader):
        selection.source = "environment:LD_LIBRARY_PATH"
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


def _taken(system: System, environ: Mapping[str, str], installs: tuple[Found, ...]) -> Iterator[dict[str, str | None]]:
    """Of the GPU libraries of the installations and of LD_LIBRARY_PATH's folders: what the loader gives a program."""
    names = {soname for held in installs for soname in held.sonames}
    for folder in _split(environ.get("LD_LIBRARY_PATH", "")):
        for name in system.list_dir(folder).value or ():
            library = gpu_library.read(name) if name.startswith("lib") and ".so." in name else None
            names |= {name} if library and name == library.soname else set()
    loader = Loader(system, environ)
    if names and (main := loader.any_program()):
        for answer in (loader.ask(name, main) for name in sorted(names)):
            if answer.path:
                yield {"key": answer.name, "path": f"/{answer.path}", "by": answer.by}


def _split(paths: str) -> list[str]:
    """Absolute folders of a list such as PATH, without the leading slash."""
    found = [clean(p, 1000).strip("/") for p in paths[:20_000].split(":") if p.startswith("/")]
    return list(dict.fromkeys(f for f in found if f))[:_FOLDERS_AT_MOST]


def _real(system: System, path: str) -> str | None:
    """The path with its links followed, below the root; None where it leads nowhere."""
    return system.real(path.strip("/")).value if path.startswith("/") and path.strip("/") else None
