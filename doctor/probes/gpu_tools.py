"""Which compilers, converters, profilers and debuggers for GPUs are there, by the folders that their packages use.

Listings of /opt/rocm*/bin, /usr/local/cuda*/bin, /opt/nvidia and /usr/bin; nothing is run. A version is that of the
folder: `/opt/nvidia/nsight-compute/2024.3.2`, `/opt/rocm-6.4.1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from doctor.facts.sheet import FactSheet
from doctor.system.base import System

READS: tuple[str, ...] = (
    "dir:opt public",
    "dir:opt/rocm*/bin public",
    "dir:opt/nvidia/* public",
    "dir:usr/local public",
    "dir:usr/local/cuda*/bin public",
    "dir:usr/bin public",
    "real:opt/rocm public",
    "real:usr/local/cuda public",
)

_KINDS = {
    "compiler": ("nvcc", "hipcc", "amdclang++", "nvc++", "hipconfig"),
    "converter": ("hipify-clang", "hipify-perl", "hipconvertinplace-perl.sh"),
    "profiler": (
        "nsys", "ncu", "nvprof", "rocprof", "rocprofv2", "rocprofv3", "rocprof-compute", "omniperf", "rocprof-sys-run",
        "rocprof-sys-sample", "omnitrace-run", "omnitrace", "rocsys",
    ),
    "debugger": ("cuda-gdb", "compute-sanitizer", "cuda-memcheck", "rocgdb"),
}  # fmt: skip
_NAMES = {name: kind for kind, names in _KINDS.items() for name in names}
_NSIGHT = {"nsight-compute": "ncu", "nsight-systems": "nsys", "nsight-systems-cli": "nsys"}
_PREFIX = re.compile(r"^(?:rocm|cuda)(?:-(?P<version>\d[\w.]{0,20}))?$")
_VERSION = re.compile(r"^\d{4}\.\d{1,2}(?:\.\d{1,3})?$")
_MOST = 200


def probe(system: System, sheet: FactSheet) -> None:
    found: dict[str, dict[str, Any]] = {}
    for row in (*_of_prefixes(system), *_of_nsight(system), *_of_folder(system, "usr/bin", None, None)):
        found.setdefault(row["key"], row)
    usual = system.list_dir("usr/bin")
    if found or usual.known:
        sheet.put("tools", [found[key] for key in sorted(found)][:_MOST], usual.source)
    else:
        sheet.miss("tools", usual.state, usual.source, usual.detail)


def _of_prefixes(system: System) -> Iterator[dict[str, Any]]:
    """A link to a versioned folder is followed, so that the version is told and nothing twice."""
    for parent, stem in (("opt", "rocm"), ("usr/local", "cuda")):
        for name in system.list_dir(parent).value or ():
            match = _PREFIX.match(name)
            if match is None or not name.startswith(stem):
                continue
            path = f"{parent}/{name}"
            real = system.real(path).value or path
            named = _PREFIX.match(real.rpartition("/")[2])
            yield from _of_folder(system, f"{real}/bin", named["version"] if named else None, f"/{real}")


def _of_nsight(system: System) -> Iterator[dict[str, Any]]:
    for product, tool in _NSIGHT.items():
        for version in system.list_dir(f"opt/nvidia/{product}").value or ():
            if _VERSION.match(version):
                folder = f"/opt/nvidia/{product}/{version}"
                yield {"key": f"{folder}/{tool}", "name": tool, "kind": "profiler", "version": version, "of": folder}


def _of_folder(system: System, folder: str, version: str | None, of: str | None) -> Iterator[dict[str, Any]]:
    for name in system.list_dir(folder).value or ():
        if name in _NAMES:
            yield {"key": f"/{folder}/{name}", "name": name, "kind": _NAMES[name], "version": version, "of": of}
