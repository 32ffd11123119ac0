"""Why a running process has the GPU libraries that it has: the loader's search is followed for the program and for each
library of the stack that is mapped, with the process's own variables, and held against what is mapped.

Part of `check --pid` and `--in`. Reads ELF headers of the program and of at most 60 libraries; no root for one's own
process.
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.sheet import FactSheet
from doctor.parsers.elf import gpu_library
from doctor.parsers.kernel import proc_maps
from doctor.parsers.lib.printable import clean
from doctor.probes.lib.python_loader import Answer, Loader
from doctor.system.base import System

READS: tuple[str, ...] = (
    "file:proc/self/maps name",
    "link:proc/self/exe name",
    "environment secret-bearing",
    "derived:elf-dynamic of the program and its GPU libraries public",
    "dir:* of RPATH, RUNPATH, LD_LIBRARY_PATH and the default folders name",
)
_LIBRARIES = 60
_OWN = ("RUNPATH of ", "RPATH of ")


def probe(inside: System, sheet: FactSheet) -> None:
    """`process.displaced`: libraries that LD_LIBRARY_PATH or LD_PRELOAD put before a copy of the program's own."""
    maps = inside.read_text("proc/self/maps", limit=32 << 20)
    program = inside.link("proc/self/exe")
    if maps.value is None or not program.value:
        sheet.miss("process.displaced", maps.state, maps.source, maps.detail)
        return
    mapped = [path for path in proc_maps.read(maps.value) if not path.endswith(" (deleted)")][:_LIBRARIES]
    loader = Loader(inside, inside.environ().value or {})
    loader.open(program.value.lstrip("/"))
    for path in mapped:
        loader.open(path.lstrip("/"))
    there = {loader.real(path.lstrip("/")) for path in mapped}
    rows = {row["key"]: row for answer in loader.answers for row in _displaced(loader, answer, there)}
    sheet.put("process.displaced", list(rows.values()), maps.source)


def _displaced(loader: Loader, answer: Answer, there: set[str]) -> Iterator[dict[str, object]]:
    """Only what is mapped indeed counts: the search alone says what another start would get."""
    if not gpu_library.read(answer.name) or answer.path is None or loader.real(answer.path) not in there:
        return
    own = next((other for other in answer.others if other.by.startswith(_OWN)), None)
    if own is None or answer.by not in ("LD_LIBRARY_PATH", "LD_PRELOAD", "/etc/ld.so.preload"):
        return
    ours, theirs = loader.info(own.path), loader.info(answer.path)
    yield {
        "key": clean(answer.name, 100),
        "path": clean(f"/{answer.path.lstrip('/')}", 1000),
        "by": answer.by,
        "wanted_by": clean(f"/{answer.asker.lstrip('/')}", 1000),
        "intended": clean(f"/{own.path.lstrip('/')}", 1000),
        "same_build": bool(ours and theirs and ours.build_id and ours.build_id == theirs.build_id),
    }
