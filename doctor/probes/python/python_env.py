"""The user's Python environment and its torch, from files: nothing of it is imported or run.

Chooses the interpreter that was named, else VIRTUAL_ENV, CONDA_PREFIX, the first python on the user's own PATH. The
environment that the doctor itself was installed into is passed over unless torch lives there too. Cost: a listing of
each site-packages folder and torch/version.py; no command, no root.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.python import dist_info, torch_version_file
from doctor.probes.lib import python_companions, python_metadata, wheels
from doctor.probes.lib.python_choice import Choice, broken, choose, dangling, not_executable, other_home
from doctor.system.base import Reading, System

READS: tuple[str, ...] = (
    "environment secret-bearing",
    "derived:own-prefix name",
    "file:*/pyvenv.cfg name",
    "file:*/include/python*/patchlevel.h public",
    "file:*/.pyenv/version public",
    "file:*/EXTERNALLY-MANAGED public",
    "link:*/bin/python* name",
    "dir:*/lib/python*/site-packages name",
    "dir:*/conda-meta name",
    "file:*/site-packages/torch/version.py public",
    "dir:*/site-packages/torch/lib/rocblas/library public",
    "bytes:*/site-packages/*.dist-info/METADATA public",
    "file:proc/self/mountinfo name",
)

_MOST_PACKAGES = 50_000
"""More than any environment has: one that was cut would pass for one that lacks what comes later in the alphabet."""
_GFX = re.compile(r"_(gfx[0-9a-f]{3,6})(?:[.\-_][A-Za-z0-9.\-+_]{0,100})?\.(?:dat|co|hsaco)$")


def probe(system: System, sheet: FactSheet, python: str | None = None) -> None:
    """`python`: the interpreter (or its environment's folder) that the user named."""
    reading = system.environ()
    environ: Mapping[str, str] = reading.value if reading.known and reading.value is not None else {}
    choice = choose(system, environ, python)
    why = other_home(system, environ, choice) if choice else None
    if not why:
        why = broken(system, environ) if python is None else dangling(system, choice)
    if choice and not why:
        why = not_executable(system, choice) or why
    if why is not None:
        sheet.put("interpreter.broken", why, "environment")
    if choice is None:
        state = State.NOT_ASKED if reading.state is State.NOT_ASKED else State.FAILED
        for name in ("interpreter.path", "packages", "torch.installed"):
            sheet.miss(name, state, reading.source, "no Python of the user's was found; name one with --python")
        return
    source = f"file:/{choice.path}"
    sheet.put("interpreter.path", f"/{choice.path}", source)
    sheet.put("interpreter.prefix", f"/{choice.prefix}", source)
    sheet.put("interpreter.chosen_by", choice.chosen_by, source)
    if choice.version:
        sheet.put("interpreter.version", choice.version, source)
    if choice.marker:
        marker = system.stat(choice.marker)
        if marker.known or marker.is_absent:
            sheet.put("interpreter.externally_managed", marker.known, marker.source)
    _contents(system, sheet, choice)


def _contents(system: System, sheet: FactSheet, choice: Choice) -> None:
    listings = {folder: system.list_dir(folder) for folder in choice.site_packages}
    there = {folder: names for folder, names in listings.items() if not names.is_absent}
    sheet.put("interpreter.site_packages", [f"/{folder}" for folder in there], f"file:/{choice.prefix}")
    blind = next((r for r in there.values() if not r.known), None)
    packages = _packages(system, choice, there)
    listed = {folder: names.value or () for folder, names in there.items()}
    asking = python_metadata.add(system, packages, listed)
    first = next(iter(there.values()), None)
    if first is None:
        for name in ("packages", "torch.installed"):
            sheet.miss(name, State.FAILED, f"file:/{choice.prefix}", "it has no site-packages folder that we know of")
        return
    if packages or blind is None:
        note = f"not all: {blind.source} is {blind.state.value}" if blind else None
        if len(packages) == _MOST_PACKAGES:
            note = f"not all: only the first {_MOST_PACKAGES}"
        sheet.put("packages", packages, first.source, note)
        wheels.put(sheet, packages)
    elif blind:
        sheet.miss("packages", blind.state, blind.source, blind.detail)
    _torch(system, sheet, there, packages, blind)
    torch = (sheet.get("torch.location") or "").removesuffix("/torch").lstrip("/") or None
    if packages:
        from doctor.probes.lib import python_integrity

        python_integrity.look(system, sheet, listed, packages, asking, choice)
    if any(package["name"] in python_companions.WATCHED for package in packages):
        from doctor.probes.lib import python_binaries

        python_binaries.look(system, sheet, listed, packages, torch, choice.version)
        if torch and sheet.get("torch.build") in ("cuda", "rocm", "cpu"):
            from doctor.probes.lib import python_libraries

            beside = python_binaries.companions(system, sheet, listed, packages, choice.version)
            paths = [file.path for file in beside]
            python_libraries.look(system, sheet, listed, torch, choice.path, choice.version, paths)
    if any(python_companions.OPENED_LATER.match(package["name"]) for package in packages):
        from doctor.probes.lib import python_plugins

        python_plugins.look(system, sheet, listed, packages, choice.path, choice.version)
    elif packages:
        sheet.put("plugin_libraries", [], first.source)
    if sheet.get("torch.installed") is not None and sheet.get("torch.build") not in ("cuda", "rocm", "cpu"):
        sheet.absent("libraries", first.source, [], "no torch that was built for CUDA, ROCm or the CPU")
    if sheet.get("packages") is not None and sheet.get("binaries") is None:
        sheet.absent("binaries", first.source, [], "no library with GPU code, none that is linked with torch")
    if torch and sheet.get("torch.build") == "rocm" and sheet.get("torch.arch_list") is None:
        _rocm_archs(system, sheet, torch)


def _packages(system: System, choice: Choice, there: Mapping[str, Reading[tuple[str, ...]]]) -> list[dict[str, Any]]:
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for folder, reading in there.items():
        for name in reading.value or ():
            if found := dist_info.read(name):
                row = {"name": found.name, "version": found.version, "location": f"/{folder}"}
                rows.setdefault((found.name, f"{folder}:{found.version}"), row)
    names = {name for name, _ in rows}
    for file in system.list_dir(f"{choice.prefix}/conda-meta").value or ():
        # Conda names what pip does not (cuda-version, mkl); what both name counts as Python's own metadata says.
        found = dist_info.read_conda(file)
        if found and found.name not in names:
            row = {"name": found.name, "version": found.version, "location": f"/{choice.prefix}"}
            rows.setdefault((found.name, "conda"), row)
    return [rows[key] for key in sorted(rows)][:_MOST_PACKAGES]


def _torch(
    system: System,
    sheet: FactSheet,
    there: Mapping[str, Reading[tuple[str, ...]]],
    packages: list[dict[str, Any]],
    blind: Reading[tuple[str, ...]] | None,
) -> None:
    holding = [f for f, names in there.items() if "torch" in (names.value or ())]
    # Python passes over a folder without __init__.py where a whole package comes later.
    folder = next((f for f in holding if len(holding) > 1 and system.stat(f"{f}/torch/__init__.py").known), None)
    folder = folder or next(iter(holding), None)
    listed = next((p for p in packages if p["name"] == "torch"), None)
    if folder is not None:
        version_file = system.read_text(f"{folder}/torch/version.py", limit=1 << 16)
        if version_file.is_absent and listed is None:
            # A folder without version.py is what an interrupted uninstall leaves: no torch to import.
            sheet.put("torch.installed", False, version_file.source, "a torch folder without version.py")
            return
        sheet.put("torch.installed", True, version_file.source)
        sheet.put("torch.location", f"/{folder}/torch", version_file.source)
        _build(sheet, version_file.then(torch_version_file.read), listed)
    elif listed is not None:
        source = f"file:{listed['location']}"
        sheet.put("torch.installed", True, source, "named by its metadata; its folder is elsewhere")
        sheet.put("torch.version", listed["version"], source)
        sheet.miss("torch.build", State.FAILED, source, "torch's folder is not in site-packages (editable install?)")
    elif blind is not None:
        sheet.miss("torch.installed", blind.state, blind.source, blind.detail)
    else:
        first = next(iter(there.values()))
        sheet.put("torch.installed", False, first.source, "no site-packages folder of this Python holds torch")


def _build(
    sheet: FactSheet,
    read: Reading[torch_version_file.TorchBuild],
    listed: dict[str, Any] | None,
) -> None:
    build = read.value
    if build is None:
        if listed is not None:
            sheet.put("torch.version", listed["version"], f"file:{listed['location']}")
        for name in ("version", "build", "cuda", "hip"):
            if sheet.get(f"torch.{name}") is None:
                sheet.miss(f"torch.{name}", State.FAILED if read.is_absent else read.state, read.source, read.detail)
        return
    for name in ("version", "build", "cuda", "hip", "rocm", "git"):
        value = getattr(build, name)
        if value is not None:
            sheet.put(f"torch.{name}", value, read.source)
        elif name in ("cuda", "hip"):
            sheet.absent(f"torch.{name}", read.source, detail=f"{name} = None")


def _rocm_archs(system: System, sheet: FactSheet, folder: str) -> None:
    """The GPUs that the wheel's own rocBLAS has kernels for, by file names. A matmul needs these; torch's own kernels
    may cover fewer, which only its binaries tell."""
    library = system.list_dir(f"{folder}/torch/lib/rocblas/library")
    archs = sorted({match[1] for name in library.value or () if (match := _GFX.search(name))})
    if archs:
        sheet.put("torch.arch_list", archs, library.source, "the rocBLAS kernels that come with torch")
    else:
        state = State.FAILED if library.is_absent or library.known else library.state
        sheet.miss("torch.arch_list", state, library.source, "the wheel brings no rocBLAS of its own")
