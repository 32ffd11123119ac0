"""Which ROCm and CUDA are installed, in which versions, and which one PATH, the loader and the variables select.

Looks at /opt/rocm*, /usr/local/cuda*, /opt/cuda and the distribution's library folders; version files, headers and
file names show the versions, and nothing is loaded or run but `rpm -q` where rpm keeps the packages. Cost: a listing of
each library folder and a few small files an installation; no root. python_env reads Python packages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.sheet import FactSheet
from doctor.parsers.elf.gpu_library import Stack
from doctor.probes.lib import install_versions, installs_selected
from doctor.probes.lib.install_versions import Found
from doctor.probes.lib.python_loader import READS as OF_LOADER
from doctor.probes.lib.python_loader import Loader
from doctor.system.base import System

READS: tuple[str, ...] = (
    "dir:opt public",
    "dir:opt/rocm* public",
    "dir:usr/local public",
    "link:opt/rocm* public",
    *install_versions.READS,
    *installs_selected.READS,
    *OF_LOADER,
)

_ROCM = re.compile(r"^rocm(?:-\d[\w.]{0,30})?$")
_CORE = re.compile(r"^core-\d[\w.]{0,30}$")
_CUDA = re.compile(r"^cuda(?:-\d{1,2}(?:\.\d{1,2}){0,2})?$")
_HIP = re.compile(r"^libamdhip64\.so\.\d{1,2}$")
_MOST = 40
DISTRIBUTION = (
    "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib/powerpc64le-linux-gnu", "usr/lib64",
)  # fmt: skip


def probe(system: System, sheet: FactSheet) -> None:
    found: dict[str, Found] = {}
    for stack, path in _prefixes(system):
        real = system.real(path).value or path
        if real in found or not system.list_dir(path).known:
            continue
        held = install_versions.prefix(system, stack, real)
        if held:
            found[real] = held
    for held in install_versions.distribution(system, DISTRIBUTION):
        found[f"{held.stack}:usr"] = held
    selection = installs_selected.look(system, tuple(found.values()))
    for held in found.values():
        _put(sheet, held, selection.selected_by(held))
        if held.stack == "rocm" and (missing := _missing(system, held.path)) is not None:
            sheet.put(f"rocm[/{held.path}].missing", missing, held.source)
    for stack, folder in (("rocm", "opt"), ("cuda", "usr/local")):
        if not any(h.stack == stack for h in found.values()):
            system.list_dir(folder).then(lambda _: []).into(sheet, stack)
    if selection.loader:
        sheet.put("loader", selection.loader, selection.source)


def _missing(system: System, prefix: str) -> list[str] | None:
    """Libraries that HIP's runtime needs and the loader finds nowhere. None where that can't be known."""
    environ = system.environ()
    name = next((n for n in system.list_dir(f"{prefix}/lib").value or () if _HIP.match(n)), None)
    if name is None or not environ.known:
        return None
    loader = Loader(system, environ.value or {})
    if loader.open(f"{prefix}/lib/{name}") is None:
        return None
    return [answer.name for answer in loader.answers if answer.path is None]


def _prefixes(system: System) -> Iterator[tuple[Stack, str]]:
    """(stack, path below the root) of every folder that may be an installation."""
    for name in system.list_dir("opt").value or ():
        if _ROCM.match(name):
            cores = [c for c in system.list_dir(f"opt/{name}").value or () if _CORE.match(c)] if name == "rocm" else []
            yield from (("rocm", f"opt/rocm/{core}") for core in cores[:_MOST])
            yield "rocm", f"opt/{name}"
        elif name == "cuda":
            yield "cuda", "opt/cuda"
    for name in (system.list_dir("usr/local").value or ())[:2000]:
        if _CUDA.match(name):
            yield "cuda", f"usr/local/{name}"
        elif _ROCM.match(name):
            yield "rocm", f"usr/local/{name}"


def _put(sheet: FactSheet, held: Found, selected_by: tuple[str, ...]) -> None:
    name = f"{held.stack}[/{held.path}]"
    sheet.put(f"{name}.path", f"/{held.path}", held.source)
    sheet.put(f"{name}.kind", held.kind, held.source)
    if held.version:
        sheet.put(f"{name}.version", held.version, held.source)
    if held.components:
        sheet.put(f"{name}.components", dict(sorted(held.components.items())), held.source)
    if held.package:
        sheet.put(f"{name}.package", held.package, held.source)
    sheet.put(f"{name}.selected_by", list(selected_by), held.source)
