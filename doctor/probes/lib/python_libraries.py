"""Where the libraries that torch needs would come from: each GPU library, and each that is nowhere.

Called by python_env where torch is a build for CUDA, ROCm or the CPU. What torch does at import is followed: the
interpreter, torch/lib/libtorch_global_deps.so, torch/_C; then what cuDNN opens later by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from doctor.facts.sheet import FactSheet
from doctor.parsers.elf import cudnn_release, elf, elf_dynamic, elf_symbols
from doctor.parsers.elf.blocks import Blocks
from doctor.probes.lib.python_companions import tagged_for
from doctor.probes.lib.python_loader import Answer, Loaded, Loader
from doctor.system.base import System

_GPU = re.compile(
    r"^lib(?:cu(?:da(?:rt|_nvrtc)?|blas|blasLt|dnn|dnn_[a-z_]{2,40}|fft|fftw|file|file_rdma|pti|rand|solver|solverMg|"
    r"sparse|sparseLt)|nv(?:JitLink|rtc|rtc-builtins|ToolsExt|toolsext|tx3interop|shmem_[a-z_]{2,30}|Vml)|nccl|magma|"
    r"amdhip64|hsa-runtime64|hiprtc|hip[a-zA-Z]{2,20}|roc[a-zA-Z0-9]{2,24}|rccl|MIOpen|migraphx[a-z_]{0,20}|"
    r"amd_comgr|amd_smi|aotriton_v2|hsakmt|c10[_a-z]{0,10}|torch[_a-z]{0,30})(?:-[0-9a-f]{8})?\.so(?:\.[0-9.]{1,20})?$"
)
_TORCHS = re.compile(r"^lib(?:torch|c10|shm|caffe2)[_a-z0-9]{0,20}\.so")
_DRIVERS = re.compile(r"^lib(?:cuda|nvidia-ml|nvidia-[a-z]{2,20}|nvcuvid)\.so")
"""They come with the driver: a machine without one has no GPU, which other rules say."""
_STEM = re.compile(r"^(lib[A-Za-z_+]{2,30}?)(?:-[0-9a-f]{8})?\.so")
_CUDNN = "libcudnn.so"
_MOST = 120


def look(
    system: System,
    sheet: FactSheet,
    folders: Mapping[str, Sequence[str]],
    torch: str,
    interpreter: str,
    python: str | None,
    companions: Sequence[str] = (),
) -> None:
    """`torch`: the site-packages folder that holds it; `interpreter`: its path below the root; `companions`: extensions
    of other packages, which are loaded where they are linked with torch."""
    environ = system.environ()
    loader = Loader(system, environ.value or {})
    program = system.real(interpreter).value
    if program is None or loader.open(program) is None:
        return  # not a program: a script in its place, for example
    for path in _opened(system, torch, python):
        loader.open(path)
    for path in companions:
        info = loader.info(path)
        if info and any(_TORCHS.match(name) for name in info.needed):
            loader.open(path)
    ours = _brought(system, folders, torch)
    elsewhere = None if environ.known else _by_variable(system, interpreter)
    if elsewhere is not None and any(a.path is None and a.name == "libc.so.6" for a in loader.answers):
        elsewhere = frozenset(a.name for a in loader.answers)  # a part of a system: where its libraries are is not seen
    rows: dict[str, dict[str, Any]] = {row["key"]: row for row in _unfit(loader)}
    for answer in _told(loader, system):
        row = _row(loader, answer, ours)
        if row and "path" not in row and elsewhere is not None and answer.name in elsewhere:
            continue  # a container's image may set LD_LIBRARY_PATH, which its tree does not show
        if row and "path" not in row and answer.asker in companions:
            beside = system.list_dir(answer.asker.rpartition("/")[0]).value or ()
            if answer.name in beside or not _GPU.match(answer.name):
                # A package opens its own libraries by their paths first, and what it wants of the system may be for a
                # part of it that nobody uses.
                continue
        if row and ("intended" in row or "path" not in row or not _TORCHS.match(answer.name)):
            rows.setdefault(answer.name, row)
    for name, row in rows.items():
        if name.startswith(_CUDNNS) and (release := _cudnn_release(system, row.get("path"))):
            row["release"] = release
    _of_other_builds(system, sheet, loader, rows)
    for row in rows.values():
        if row.get("intended") and row.get("path") and not row.get("same_build"):
            row["missing_symbols"] = _lacking(system, row["wanted_by"], row["intended"], row["path"])[:_SHOWN]
    if loader.answers:
        sheet.put("libraries", list(rows.values())[:_MOST], f"file:/{torch}/torch/lib")


def _by_variable(system: System, interpreter: str) -> frozenset[str]:
    """Libraries in the folders that LD_LIBRARY_PATH usually names, for a tree whose variables are not known."""
    tops = [f"usr/local/{name}" for name in system.list_dir("usr/local").value or ()]
    tops += [f"opt/{name}" for name in system.list_dir("opt").value or ()]
    folders = [f"{top}/{lib}" for top in ("usr/local", *tops[:_MOST]) for lib in ("lib", "lib64")]
    folders.append(f"{interpreter.rpartition('/bin/')[0]}/lib")
    return frozenset(name for folder in folders for name in system.list_dir(folder).value or ())


_SHOWN = 8
_SYMBOLS_S = 3.0


def _of_other_builds(system: System, sheet: FactSheet, loader: Loader, rows: Mapping[str, dict[str, Any]]) -> None:
    """Where a library is not the file that its package installed: names that begin like it (ncclSend of libnccl), that
    others want of it and that it lacks."""
    faults = sheet.get("installed_faults") or ()
    changed = {path for fault in faults if fault["kind"] == "changed" for path in fault["files"]}
    for row in [r for r in rows.values() if r.get("path") in changed]:
        stem = _STEM.match(row["key"])
        askers = [held for held in loader.loaded if row["key"] in held.info.needed]
        for asker in askers if stem else ():
            wanted = _undefined(system, asker.path)
            names = [name for name in wanted if stem and name.lstrip("_").startswith(stem[1][3:])]
            for path in dict.fromkeys((row["path"], *(r["path"] for r in rows.values() if _beside(r, asker)))):
                names = _without(system, path, names) or [] if names else []
            if names:
                row |= {"missing_symbols": names[:_SHOWN], "wanted_by": f"/{asker.path}"}
                break


def _beside(row: Mapping[str, Any], asker: Loaded) -> bool:
    return bool(row.get("path")) and row["key"] in asker.info.needed


def _undefined(system: System, path: str) -> list[str]:
    def work(pieces: Blocks) -> list[str]:
        held = elf.head(pieces)
        tags = elf_dynamic.dynamic(pieces, held)
        return [s.name for s in elf_symbols.undefined(pieces, held, tags) if not s.weak] if tags else []

    return _listed(system.derived_from("undefined", path.lstrip("/"), work, deadline_s=_SYMBOLS_S).value) or []


def _without(system: System, path: str, names: Sequence[str]) -> list[str] | None:
    """Those that this library does not define."""
    work = partial(elf_symbols.lacking, names=names)
    return _listed(system.derived_from("undefined-here", path.lstrip("/"), work, deadline_s=_SYMBOLS_S).value)


def _lacking(system: System, asker: str, intended: str, taken: str) -> list[str]:
    """Names that `asker` finds in the copy that came with torch, and not in the one that is taken in its place."""
    names = _undefined(system, asker)
    elsewhere = _without(system, intended, names) if names else None
    if elsewhere is None:
        return []
    return _without(system, taken, sorted(set(names) - set(elsewhere))) or []


def _listed(value: object) -> list[str] | None:
    return [str(name) for name in value] if isinstance(value, list) else None


_CUDNNS = ("libcudnn_graph.so.", "libcudnn_ops.so.", "libcudnn_adv.so.")
"""Those that say their release, which has to be one and the same."""


def _cudnn_release(system: System, path: str | None) -> str | None:
    reading = (
        system.derived_from("cudnn-release", path.lstrip("/"), cudnn_release.read, deadline_s=1.0) if path else None
    )
    return reading.value if reading and isinstance(reading.value, str) else None


def is_driver_s(name: str) -> bool:
    return bool(_DRIVERS.match(name))


def _opened(system: System, torch: str, python: str | None) -> Iterator[str]:
    names = system.list_dir(f"{torch}/torch/lib").value or ()
    if "libtorch_global_deps.so" in names:
        yield f"{torch}/torch/lib/libtorch_global_deps.so"
    for name in system.list_dir(f"{torch}/torch").value or ():
        if name.startswith("_C.") and name.endswith(".so") and tagged_for(name, python):
            yield f"{torch}/torch/{name}"
    for name in names:  # libcaffe2_nvrtc and libtorch_cuda_linalg are opened by name when they are first used
        if _TORCHS.match(name):
            yield f"{torch}/torch/lib/{name}"


def _unfit(loader: Loader) -> Iterator[dict[str, Any]]:
    """Libraries that are found and lack the versions of symbols that are needed."""
    for wants, taken, missing in loader.lacking_versions():
        yield {
            "key": taken.info.soname or taken.path.rpartition("/")[2],
            "path": f"/{taken.path}",
            "by": taken.preloaded or next((a.by for a in loader.answers if a.path == taken.path), None),
            "wanted_by": f"/{wants.path}",
            "missing_versions": missing[:8],
        }


def _told(loader: Loader, system: System) -> Iterator[Answer]:
    yield from loader.answers
    yield from _builtins(loader)
    cudnn = next((o for o in loader.loaded if o.path.rpartition("/")[2].startswith(_CUDNN)), None)
    if cudnn is None:
        return
    suffix = cudnn.path.rpartition("/")[2].removeprefix(_CUDNN)[:2]
    held = [
        name
        for name in system.list_dir(cudnn.path.rpartition("/")[0]).value or ()
        if name.startswith("libcudnn_") and name.endswith(f".so{suffix}")
    ]
    family = {f"libcudnn_{part}.so{suffix}" for part in _CUDNN_PARTS.get(suffix, ())}
    whole = family & set(held) or not _CUDNN_BY_CODE & set(held)
    for name in (*held, *(sorted(family - set(held)) if whole else ())):
        yield loader.ask(name, cudnn)


_CUDNN_PARTS = {
    ".9": ("adv", "cnn", "ops", "engines_precompiled"),
    ".8": ("adv_infer", "adv_train", "cnn_infer", "cnn_train", "ops_infer", "ops_train"),
}
"""Opened by name. The build of cuDNN 9 that compiles all of its kernels itself has none of the four."""
_CUDNN_BY_CODE = {"libcudnn_engines_runtime_compiled.so.9"}
_NVRTC = re.compile(r"^libnvrtc\.so\.(\d{2})$")
_BUILTINS = re.compile(r"^libnvrtc-builtins\.so\.(\d{2}\.\d{1,2})$")


def _builtins(loader: Loader) -> Iterator[Answer]:
    """What libnvrtc opens by a name that holds its own release."""
    for held in loader.loaded:
        if not _NVRTC.match(held.info.soname or ""):
            continue
        major = (held.info.soname or "").rpartition(".")[2]
        beside = [n for n in loader.resembling("libnvrtc-builtins.so.", held) if _BUILTINS.match(n)]
        of_major = [name for name in beside if name.startswith(f"libnvrtc-builtins.so.{major}.")]
        if not of_major:
            yield Answer(f"libnvrtc-builtins.so.{major}", held.path, None, None)
        for name in of_major:
            yield loader.ask(name, held)


def _brought(system: System, folders: Mapping[str, Sequence[str]], torch: str) -> dict[str, str]:
    """Name → the copy that came with torch: in its own folder, or in a package nvidia-* beside it."""
    found = {name: f"{torch}/torch/lib/{name}" for name in system.list_dir(f"{torch}/torch/lib").value or ()}
    return {**packaged(system, folders), **found}


def packaged(system: System, folders: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Name → the copy in a package nvidia-* of the environment."""
    found: dict[str, str] = {}
    for folder, names in folders.items():
        for top in ("nvidia", "cusparselt"):
            if top not in names:
                continue
            inner = [top] if top != "nvidia" else [f"{top}/{n}" for n in system.list_dir(f"{folder}/{top}").value or ()]
            for place in inner:
                for name in system.list_dir(f"{folder}/{place}/lib").value or ():
                    found.setdefault(name, f"{folder}/{place}/lib/{name}")
    return found


def _row(loader: Loader, answer: Answer, ours: Mapping[str, str]) -> dict[str, Any] | None:
    gpu = bool(_GPU.match(answer.name))
    if _DRIVERS.match(answer.name):
        return None
    row: dict[str, Any] = {"key": answer.name, "wanted_by": f"/{answer.asker}"}
    intended = ours.get(answer.name)
    if answer.path is None:
        if answer.unfit:
            return {**row, "unfit": list(answer.unfit)}
        if intended is None or not gpu:
            return row
        # torch opens its packages' libraries by their paths where the loader finds none (torch/__init__.py)
        return {**row, "path": f"/{intended}", "by": "torch opens it by its path"}
    if not gpu:
        return None
    row |= {"path": f"/{answer.path}", "by": answer.by}
    twin = _doubled(loader, answer)
    if intended and loader.real(intended) != loader.real(answer.path):
        row["intended"] = f"/{intended}"
        same = loader.info(intended), loader.info(answer.path)
        ids = [info.build_id if info else None for info in same]
        row["same_build"] = ids[0] is not None and ids[0] == ids[1]
    elif twin:
        row["intended"], row["same_build"] = f"/{twin.path}", False
    return row


def _doubled(loader: Loader, answer: Answer) -> Loaded | None:
    """Another file of the same library that is loaded too, under another name: libcudart-d0da41ae.so.11.0."""
    stem = _STEM.match(answer.name)
    if stem is None or answer.path is None or stem[1] in ("libtorch", "libc"):
        return None
    for held in loader.loaded:
        name = held.path.rpartition("/")[2]
        other = _STEM.match(name)
        if other and other[1] == stem[1] and "-" in name and loader.real(held.path) != loader.real(answer.path):
            return held
    return None
