"""Which build of a package or library this is, whatever its version says: what comparing two machines needs, and a
check does not. Called where a bundle is made with --for-why, and where `doctor why` compares.

Cost: the RECORD of each package, and what is read of each library that the loader takes: all of it up to 32 MiB, else
both ends.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from doctor.facts.sheet import FactSheet
from doctor.parsers.python import wheel_record
from doctor.parsers.python.dist_info import read as metadata
from doctor.probes.python import python_env
from doctor.probes.toolkits import installs
from doctor.system.base import Ranges, System

READS: tuple[str, ...] = (
    "derived:package-build:* name",
    "derived:package-modules:* name",
    "derived:library-build:* name",
    "derived:variable:* name",
)
_WHOLE = 32 << 20
_END = 1 << 20
_MOST_LIBRARIES = 200
_MOST_MODULES = 30
_LIBRARY_S = 4.0
_LENGTH = 20
_KEY = os.urandom(32)
"""Of this run: digests say whether both sides have the same value, and nothing to anybody else."""
_OF_THE_INSTALLER = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"})


def probe_live(system: System, sheet: FactSheet, python: str | None = None) -> None:
    """Where both sides are looked at now: with digests of the variables' values, some of which are hidden."""
    probe(system, sheet, python, system.environ().value or {})


def probe(system: System, sheet: FactSheet, python: str | None = None, values: Mapping[str, str] = {}) -> None:
    """`python`: the interpreter that the user named."""
    found = FactSheet()
    python_env.probe(system, found, python)
    installs.probe(system, found)
    rows = [*_packages(system, found.get("packages") or ()), *_libraries(system, found)]
    for name in sorted(values):
        digest = system.derived("variable", name, partial(_of_value, values[name])).value
        rows += [{"key": f"variable:{name}", "digest": digest}] if digest else []
    if found.get("packages") is None and not rows:
        return
    sheet.put("builds", rows, "file:/", "RECORD files, and the libraries that the loader takes")


def _of_value(value: str) -> str:
    return hashlib.blake2b(value.encode("utf-8", "surrogateescape"), key=_KEY, digest_size=_LENGTH // 2).hexdigest()


def _packages(system: System, packages: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    folders = sorted({str(row["location"]).lstrip("/") for row in packages if row.get("location")})
    seen: set[str] = set()
    for folder in folders:
        for name in system.list_dir(folder).value or ():
            held = metadata(name)
            if held is None or held.name in seen or not name.endswith(".dist-info"):
                continue
            path = f"{folder}/{name}/RECORD"
            digest = system.derived("package-build", path, partial(_of_record, system, path)).value
            if isinstance(digest, str) and digest:
                seen.add(held.name)
                modules = system.derived("package-modules", path, partial(_modules, system, path, held.name)).value
                row = {"key": f"package:{held.name}", "digest": digest, "path": f"/{folder}/{name}"}
                yield {**row, "modules": modules.split()} if isinstance(modules, str) and modules else row


def _record(system: System, path: str) -> Iterator[wheel_record.File]:
    raw = system.read_bytes(path, length=wheel_record.MOST_BYTES).value or b""
    return wheel_record.read(raw.decode("utf-8", "replace"))


def _modules(system: System, path: str, package: str) -> str:
    """`google.protobuf` of `google/protobuf/__init__.py`: the outermost packages and the modules beside them, but for
    the one that is called as the distribution is."""
    files = [row.path for row in _record(system, path) if row.path.endswith((".py", ".so"))]
    packages = {file.rpartition("/")[0] for file in files if file.endswith("/__init__.py")}
    outermost = {name for name in packages if not any(above in packages for above in _above(name))}
    alone = {file.partition(".")[0] for file in files if "/" not in file}
    names = sorted(name.replace("/", ".") for name in outermost | alone if name and name != package.replace("-", "_"))
    return " ".join(names[:_MOST_MODULES])


def _above(folder: str) -> Iterator[str]:
    while folder := folder.rpartition("/")[0]:
        yield folder


def _of_record(system: System, path: str) -> str:
    """Of the files that it lists, without what the installer adds; empty where nothing is listed."""
    rows = _record(system, path)
    listed = sorted((row.path, row.digest) for row in rows if row.digest and not _is_the_installers(row.path))
    return hashlib.sha256(repr(listed).encode()).hexdigest()[:_LENGTH] if listed else ""


def _is_the_installers(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return folder.endswith(".dist-info") and name in _OF_THE_INSTALLER


def _libraries(system: System, found: FactSheet) -> Iterator[dict[str, str]]:
    rows = [*(found.get("loader") or ()), *(found.get("libraries") or ())]
    taken = {str(row["key"]): str(row["path"]) for row in rows if row.get("path")}
    for name, path in list(taken.items())[:_MOST_LIBRARIES]:
        digest = system.derived_from("library-build", path.lstrip("/"), _of_library, deadline_s=_LIBRARY_S).value
        if isinstance(digest, str):
            yield {"key": f"library:{name}", "digest": digest, "path": path}


def _of_library(file: Ranges) -> str:
    made = hashlib.sha256(str(file.size).encode())
    ends = [(0, _END), (file.size - _END, _END)]
    pieces = ends if file.size > _WHOLE else [(start, _END) for start in range(0, file.size, _END)]
    for start, length in pieces:
        made.update(file.at(start, length))
    return made.hexdigest()[:_LENGTH]
