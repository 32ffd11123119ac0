"""Which compilers, converters, profilers and debuggers for GPUs are there, by the folders that their packages use.

Listings of /opt/rocm*/bin, /usr/local/cuda*/bin, /opt/nvidia and /usr/bin; nothing is run. A version is that of the
folder (`/opt/nvidia/nsight-compute/2024.3.2`, `/opt/rocm-6.4.1`), for the Nsight tools of a CUDA toolkit that of its
version.json, and for a program that the distribution put into /usr/bin that of its package: only where one is there,
the list of packages is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from doctor.facts.sheet import FactSheet
from doctor.parsers.kernel import dpkg_status, install_version
from doctor.system.base import System

READS: tuple[str, ...] = (
    "dir:opt public",
    "dir:opt/rocm*/bin public",
    "dir:opt/nvidia/* public",
    "dir:usr/local public",
    "dir:usr/local/cuda*/bin public",
    "file:usr/local/cuda*/version.json public",
    "dir:usr/bin public",
    "real:usr/bin/* public",
    "file:var/lib/dpkg/status public",
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
_PACKAGES = {
    "nvcc": "nvidia-cuda-toolkit", "compute-sanitizer": "nvidia-cuda-toolkit", "cuda-gdb": "nvidia-cuda-gdb",
    "nvprof": "nvidia-profiler", "ncu": "nsight-compute", "nsys": "nsight-systems", "hipcc": "hipcc",
    "hipconfig": "hipcc", "hipify-clang": "hipify-clang", "hipify-perl": "hipify-perl", "rocgdb": "rocgdb",
    "rocprof": "rocprofiler", "rocprofv2": "rocprofiler", "rocprofv3": "rocprofiler-sdk",
}  # fmt: skip
"""Program in /usr/bin → the package of Debian and Ubuntu that brings it (contents of Debian 12 and 13, 2026-11-21)."""
_PREFIX = re.compile(r"^(?:rocm|cuda)(?:-(?P<version>\d[\w.]{0,20}))?$")
_INSIDE = re.compile(r"^(?P<of>(?:opt/rocm|usr/local/cuda)(?:-(?P<version>\d[\w.]{0,20}))?)/")
_VERSION = re.compile(r"^\d{4}\.\d{1,2}(?:\.\d{1,3})?$")
_UPSTREAM = re.compile(r"^(?:\d{1,4}:)?(?P<version>\d{1,5}(?:\.\d{1,6}){1,4})", re.ASCII)
_MOST = 200


def probe(system: System, sheet: FactSheet) -> None:
    found: dict[str, dict[str, Any]] = {}
    for row in (*_of_prefixes(system), *_of_nsight(system), *_of_system(system)):
        found.setdefault(row["key"], row)
    usual = system.list_dir("usr/bin")
    if found or usual.known:
        sheet.put("tools", [found[key] for key in sorted(found)][:_MOST], usual.source)
    else:
        sheet.miss("tools", usual.state, usual.source, usual.detail)


def _of_prefixes(system: System) -> Iterator[dict[str, Any]]:
    """A link to a versioned folder is followed, so that its name holds the version and nothing is listed twice."""
    for parent, stem in (("opt", "rocm"), ("usr/local", "cuda")):
        for name in system.list_dir(parent).value or ():
            match = _PREFIX.match(name)
            if match is None or not name.startswith(stem):
                continue
            path = f"{parent}/{name}"
            real = system.real(path).value or path
            named = _PREFIX.match(real.rpartition("/")[2])
            rows = list(_of_folder(system, f"{real}/bin", named["version"] if named else None, f"/{real}"))
            if stem == "cuda" and any(row["name"] in ("ncu", "nsys") for row in rows):
                _nsight_of_toolkit(system, real, rows)
            yield from rows


def _nsight_of_toolkit(system: System, path: str, rows: list[dict[str, Any]]) -> None:
    """ncu and nsys have numbers of their own, which the toolkit's folder does not tell."""
    versions = system.read_text(f"{path}/version.json", limit=1 << 16).then(install_version.cuda_json).value or {}
    for row in rows:
        if row["name"] in ("ncu", "nsys"):
            row["version"] = versions.get(row["name"])


def _of_nsight(system: System) -> Iterator[dict[str, Any]]:
    for product, tool in _NSIGHT.items():
        for version in system.list_dir(f"opt/nvidia/{product}").value or ():
            if _VERSION.match(version):
                folder = f"/opt/nvidia/{product}/{version}"
                yield {"key": f"{folder}/{tool}", "name": tool, "kind": "profiler", "version": version, "of": folder}


def _of_system(system: System) -> Iterator[dict[str, Any]]:
    """Programs in /usr/bin: links into an installation, or the distribution's own."""
    packages: Mapping[str, str] | None = None
    for row in _of_folder(system, "usr/bin", None, None):
        led = _INSIDE.match(system.real(row["key"][1:]).value or "")
        if led:
            nsight = row["name"] in ("ncu", "nsys")
            yield {**row, "version": None if nsight else led["version"], "of": f"/{led['of']}"}
            continue
        if packages is None:
            packages = _packages(system)
        version = _UPSTREAM.match(packages.get(_PACKAGES.get(row["name"], ""), ""))
        yield {**row, "version": version["version"] if version else None}


def _packages(system: System) -> Mapping[str, str]:
    status = system.read_text("var/lib/dpkg/status", limit=32 << 20)
    return status.then(partial(dpkg_status.read, prefixes=tuple(set(_PACKAGES.values())))).value or {}


def _of_folder(system: System, folder: str, version: str | None, of: str | None) -> Iterator[dict[str, Any]]:
    for name in system.list_dir(folder).value or ():
        if name in _NAMES:
            yield {"key": f"/{folder}/{name}", "name": name, "kind": _NAMES[name], "version": version, "of": of}
