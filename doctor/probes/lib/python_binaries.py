"""The GPU code in torch's libraries and in those of its companions, and whether their symbols fit the torch at hand.

Called by python_env with what it found. Files are read in pieces: headers of fat binaries and offload bundles, tables
of symbols; nothing is loaded or run. Cost: 3 ms for torch's own list of architectures, 10 to 30 ms for all of its fat
binaries once they are in the page cache, about 1 ms a companion.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.blas import rocm_library_files
from doctor.parsers.elf import elf, elf_dynamic, elf_symbols, gpu_code, gpu_library
from doctor.parsers.elf.blocks import Blocks
from doctor.parsers.elf.fatbin import order
from doctor.parsers.python import torch_strings, torch_symbols
from doctor.probes.lib.python_companions import COMPANIONS, TOP_LEVEL, bitsandbytes, tagged_for
from doctor.system.base import Reading, System

READS: tuple[str, ...] = (
    "dir:*/site-packages/torch/lib public",
    "dir:*/site-packages/torch/lib/{rocblas,hipblaslt}/library public",
    "dir:*/site-packages/{companion} public",
    "derived:arch-list:*/torch/lib/libtorch_python.so public",
    "derived:gpu-code:* public",
    "derived:torch-symbols:* public",
    "derived:undefined-here:*/torch/lib/*.so public",
    "derived:cxx11-abi:*/torch/lib/libc10.so public",
)
_GPU_LIBRARY = re.compile(r"^libtorch_(?:cuda|hip)(?:_[a-z]{1,12}){0,2}\.so$")
_DEFINES = re.compile(r"^lib(?:c10|torch|caffe2|shm)(?:_[a-z0-9]{1,16}){0,3}\.so$")
_NVIDIA = re.compile(r"^nvidia-([a-z0-9-]{2,30}?)(?:-cu\d\d)?$")
_MOST_FILES = 60
"""Of all companions together."""
_SHARE_A_FOLDER = ("tensorflow", "tensorflow-rocm")
"""Packages that install the same files; which of them is there tells whose they are."""
_MOST_SYMBOLS = 6000
_DEADLINE_S = 4.0
_MISSING_SHOWN = 8


class Found(NamedTuple):
    """A file to look at: its path below the root, and the package that brought it."""

    path: str
    package: str


def look(
    system: System,
    sheet: FactSheet,
    folders: Mapping[str, Sequence[str]],
    packages: Sequence[Mapping[str, Any]],
    torch: str | None,
    python: str | None,
) -> None:
    """`folders`: each site-packages folder with the names in it; `torch`: the one that holds torch; `python`: the
    interpreter's version."""
    libraries = system.list_dir(f"{torch}/torch/lib").value or () if torch else ()
    rows: list[dict[str, Any]] = []
    if torch and sheet.get("torch.build") in ("cuda", "rocm"):
        _arch_list(system, sheet, f"{torch}/torch/lib/libtorch_python.so")
        rows += _of_torch(system, sheet, torch, libraries)
        rows += [row for name in ("rocblas", "hipblaslt") if (row := _kernel_files(system, torch, name))]
    if torch and sheet.get("torch.build") in ("cuda", "rocm"):
        _bundled(sheet, torch, libraries, packages)
    if torch and "libc10.so" in libraries:
        _cxx11_abi(system, sheet, f"{torch}/torch/lib/libc10.so")
    found = companions(system, sheet, folders, packages, python)
    faults = sheet.get("installed_faults") or ()
    if torch and any(
        f["package"] == "torch" and f["kind"] == "changed" for f in faults
    ):  # another build's, or stripped
        found.append(Found(f"{torch}/torch/lib/libtorch_python.so", "torch"))
    wanted: dict[str, list[str]] = {}
    for file in found:
        row = _code(system, file)
        symbols = _wanted(system, file.path) if torch else None
        if symbols:
            wanted[file.path] = symbols
            row["torch_symbols"] = len(symbols)
        if len(row) > 2:
            rows.append(row)
    if wanted and torch:
        _judge_symbols(system, f"{torch}/torch/lib", libraries, wanted, rows)
    if rows:
        sheet.put("binaries", rows, f"file:/{torch or next(iter(folders))}")


def _arch_list(system: System, sheet: FactSheet, path: str) -> None:
    reading = system.derived_from(
        "arch-list", path, lambda pieces: list(torch_strings.arch_list(pieces)), deadline_s=_DEADLINE_S
    )
    if reading.value:
        sheet.put("torch.arch_list", reading.value, reading.source, "what torch.cuda.get_arch_list() prints")


def _of_torch(system: System, sheet: FactSheet, torch: str, libraries: Sequence[str]) -> list[dict[str, Any]]:
    rows = [
        _code(system, Found(f"{torch}/torch/lib/{name}", "torch"))
        for name in libraries
        if _GPU_LIBRARY.match(name) and name != "libtorch_cuda_linalg.so"
    ]
    coded = [row for row in rows if row.get("sass") or row.get("ptx") or row.get("gfx")]
    source = f"file:/{torch}/torch/lib"
    for fact in ("sass", "ptx"):
        archs = sorted({a for row in coded for a in row.get(fact, ())}, key=order)
        if coded and not any(row.get("gfx") for row in coded):
            sheet.put(f"torch.{fact}", archs, source)
    if coded and sheet.get("torch.arch_list") is None:
        common = max((row["common"] for row in coded), key=len)
        sheet.put("torch.arch_list", sorted({_bare(a) for a in common}, key=order), source, "its fat binaries")
    return coded


def _kernel_files(system: System, torch: str, name: str) -> dict[str, Any] | None:
    """The targets that rocBLAS or hipBLASLt has kernel files for, where the wheel brings them."""
    folder = f"{torch}/torch/lib/{name}/library"
    counts = Counter(arch for file in system.list_dir(folder).value or () if (arch := rocm_library_files.target(file)))
    if not counts:
        return None
    groups = [{"archs": [arch], "number": number, "names": []} for arch, number in counts.most_common()]
    return {"key": f"/{folder}", "package": name, "gfx": sorted(counts), "objects": groups}


def _bundled(sheet: FactSheet, torch: str, libraries: Sequence[str], packages: Sequence[Mapping[str, Any]]) -> None:
    """Versions of the libraries that come with torch: by the names of packages nvidia-*, and of files in its folder."""
    found = {
        match[1]: row["version"]
        for row in packages
        if (match := _NVIDIA.match(row["name"])) and row.get("location") == f"/{torch}"
    }
    for name in libraries:
        library = gpu_library.read(name)
        if library and library.version:
            found.setdefault(library.component, library.version)
    if found:
        sheet.put("torch.bundled", dict(sorted(found.items())), f"file:/{torch}")


def _bare(arch: str) -> str:
    return arch.partition(":")[0]


def _cxx11_abi(system: System, sheet: FactSheet, path: str) -> None:
    reading = system.derived_from("cxx11-abi", path, torch_symbols.cxx11_abi, deadline_s=_DEADLINE_S)
    if isinstance(reading.value, bool):
        sheet.put("torch.cxx11_abi", reading.value, reading.source)
    elif reading.state is not State.VALUE:
        sheet.miss("torch.cxx11_abi", reading.state, reading.source, reading.detail)


def companions(
    system: System,
    sheet: FactSheet,
    folders: Mapping[str, Sequence[str]],
    packages: Sequence[Mapping[str, Any]],
    python: str | None,
) -> list[Found]:
    """Compiled files of the packages around torch."""
    return list(_companions(system, sheet, folders, packages, python))[:_MOST_FILES]


def _companions(
    system: System,
    sheet: FactSheet,
    folders: Mapping[str, Sequence[str]],
    packages: Sequence[Mapping[str, Any]],
    python: str | None,
) -> Iterator[Found]:
    versions = {row["name"]: row["version"] for row in packages}
    for folder, names in folders.items():
        held = set(names)
        for package, inside in COMPANIONS.items():
            if package in _SHARE_A_FOLDER and package not in versions:
                continue
            for place, pattern in inside:
                if place.split("/")[0] not in held:
                    continue
                files = [n for n in system.list_dir(f"{folder}/{place}").value or () if pattern.search(n)]
                if package == "bitsandbytes":
                    release = sheet.get("torch.cuda") or sheet.get("torch.hip") or ""
                    kind = "rocm" if sheet.get("torch.build") == "rocm" else "cuda"
                    files = bitsandbytes(files, kind, release, system.environ().value or {})
                yield from (Found(f"{folder}/{place}/{name}", package) for name in files if tagged_for(name, python))
        for name in names:
            owner = next((p for p, pattern in TOP_LEVEL.items() if pattern.match(name)), None)
            if owner and tagged_for(name, python) and owner in versions:
                yield Found(f"{folder}/{name}", owner)


def _code(system: System, file: Found) -> dict[str, Any]:
    """What the library carries; only its key and package where it has no GPU code or can't be read."""
    row: dict[str, Any] = {"key": f"/{file.path}", "package": file.package}
    reading: Reading[dict[str, Any]] = system.derived_from("gpu-code", file.path, _plain, deadline_s=_DEADLINE_S)
    if isinstance(reading.value, dict) and reading.value.get("objects"):
        row.update(reading.value)
    return row


def _plain(pieces: Blocks) -> dict[str, Any]:
    found = gpu_code.code(pieces)
    return {
        "sass": list(found.sass),
        "ptx": list(found.ptx),
        "gfx": list(found.gfx),
        "common": list(found.common),
        "objects": [{"archs": list(g.archs), "number": g.number, "names": list(g.names)} for g in found.objects],
        "compressed": list(found.compressed),
    }


def _wanted(system: System, path: str) -> list[str] | None:
    """Names that an extension wants from torch; None for a library that is not linked with torch."""

    def work(pieces: Blocks) -> list[str]:
        held = elf.head(pieces)
        tags = elf_dynamic.dynamic(pieces, held)
        if tags is None or not any(_DEFINES.match(name) for name in tags.needed):
            return []
        names = (s.name for s in elf_symbols.undefined(pieces, held, tags) if not s.weak)
        return [name for name in names if torch_symbols.is_torchs(name)][:_MOST_SYMBOLS]

    reading = system.derived_from("torch-symbols", path, work, deadline_s=_DEADLINE_S)
    return reading.value if isinstance(reading.value, list) else None


def _judge_symbols(
    system: System,
    folder: str,
    libraries: Sequence[str],
    wanted: Mapping[str, list[str]],
    rows: list[dict[str, Any]],
) -> None:
    """Which of the names none of torch's libraries defines. Says nothing where one of them could not be read."""
    open_names = sorted({name for names in wanted.values() for name in names})
    for library in (n for n in sorted(libraries, key=_likely_first) if _DEFINES.match(n)):
        asked = tuple(open_names)
        reading = system.derived_from(
            "undefined-here",
            f"{folder}/{library}",
            lambda pieces, asked=asked: elf_symbols.lacking(pieces, asked),  # type: ignore[misc]
            deadline_s=_DEADLINE_S,
        )
        if not isinstance(reading.value, list):
            return
        open_names = reading.value
        if not open_names:
            break
    lacking = set(open_names)
    for row in rows:
        names = wanted.get(row["key"][1:])
        if names:
            missing = [name for name in names if name in lacking]
            row["missing_symbols"] = missing[:_MISSING_SHOWN]
            abi = torch_symbols.abi_of(names)
            if abi is not None:
                row["cxx11_abi"] = abi


def _likely_first(name: str) -> tuple[int, str]:
    order = ("libc10.so", "libtorch_cpu.so", "libtorch_python.so", "libc10_cuda.so", "libtorch_cuda.so")
    return (order.index(name) if name in order else len(order), name)
