"""The installed packages of the stack with the files that they list (RECORD, conda-meta); a row of what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from doctor.errors import ParserError
from doctor.parsers.python import conda_record, dist_info, wheel_record
from doctor.parsers.python.wheel_record import File
from doctor.probes.lib.python_metadata import STACK
from doctor.system.base import System

_OTHERS = frozenset({"pillow", "pyarrow", "cuda-pathfinder"})
_LEFT_OUT = re.compile(
    r"(?:^|/)(?:tests?|include|share|docs?|examples|benchmarks|__pycache__)/|\.dist-info/(?!METADATA$)"
    r"|\.(?:a|pyi|h|hpp|cuh|md|txt|rst|pyc|cmake|typed)$"
)
"""What is deleted on purpose to make an image small: nothing that runs needs it."""


class Owned(NamedTuple):
    """A package's files. `folder`: what their paths are relative to; `site`: the folder of sys.path they are in."""

    package: str
    version: str
    folder: str
    site: str
    files: tuple[File, ...]


def row(
    package: str, version: str | None, kind: str, files: Sequence[str], detail: str, number: int | None = None
) -> dict[str, Any]:
    """`files`: whole paths, the first ones; `number`: of all of them."""
    return {
        "key": f"{package} {kind}",
        "package": package,
        "version": version,
        "kind": kind,
        "number": len(files) if number is None else number,
        "files": list(files),
        "detail": detail,
    }


def owned_by(system: System, folders: Mapping[str, Sequence[str]], wanted: set[str], prefix: str) -> Iterator[Owned]:
    meta = f"{prefix}/conda-meta"
    of_conda = {found.name: n for n in system.list_dir(meta).value or () if (found := dist_info.read_conda(n))}
    for folder, listed in folders.items():
        for name in listed:
            found = dist_info.read(name) if name.endswith(".dist-info") else None
            if found is None or found.name not in wanted:
                continue
            conda = of_conda.pop(found.name, None) or of_conda.pop(_OF_CONDA.get(found.name, ""), None)
            if conda:  # what conda relocates is of another size than its RECORD says
                yield Owned(found.name, found.version, prefix, folder, _of_conda(system, f"{meta}/{conda}"))
            else:
                yield Owned(found.name, found.version, folder, folder, _of_wheel(system, f"{folder}/{name}/RECORD"))
    for name, file in of_conda.items():
        if _CONDA_LIBRARY.match(name) and (found := dist_info.read_conda(file)):
            yield Owned(name, found.version, prefix, prefix, _of_conda(system, f"{meta}/{file}"))


_CONDA_LIBRARY = re.compile(r"^(?:cuda-|lib(?:cu|nv|torch|magma)|cudnn$|nccl$|cudatoolkit$|pytorch$|libtorch$|mkl$)")
_OF_CONDA = {"torch": "pytorch", "triton": "pytorch-triton"}


def counts(name: str) -> bool:
    return name in STACK or name in _OTHERS or name.startswith(("nvidia-", "jax-", "rocm-sdk", "triton", "cupy-"))


def _of_wheel(system: System, record: str) -> tuple[File, ...]:
    raw = system.read_bytes(record, length=wheel_record.MOST_BYTES).value
    return tuple(wheel_record.read(raw.decode("utf-8", "replace"), _LEFT_OUT)) if raw else ()


def _of_conda(system: System, record: str) -> tuple[File, ...]:
    raw = system.read_bytes(record, length=conda_record.MOST_BYTES).value
    try:
        files = conda_record.read(raw.decode("utf-8", "replace")) if raw else ()
        return tuple(file for file in files if not _LEFT_OUT.search(file.path))
    except ParserError:
        return ()
