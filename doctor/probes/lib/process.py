"""One running process: what it has mapped and open. Three files and a listing of /proc; no root for one's own process.

Called with a pid by `check --pid` and `--in`; no part of a plain check.
"""

from __future__ import annotations

import re

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.kernel import proc_maps
from doctor.parsers.lib.printable import clean
from doctor.system.base import System

READS: tuple[str, ...] = (
    "file:proc/*/maps name",
    "dir:proc/*/fd public",
    "link:proc/*/fd/* name",
    "link:proc/*/exe name",
    "file:proc/*/comm public",
)
_GPU_NODE = re.compile(r"/dev/(?:kfd|dxg|dri/renderD\d{1,4}|nvidia(?:\d{1,3}|ctl|-uvm|-caps/nvidia-cap\d{1,4}))$")
_FILES_AT_MOST = 20_000


def probe(system: System, sheet: FactSheet, pid: int) -> None:
    """As the host sees it. What may not be read (another account's process) is marked denied."""
    base = f"proc/{pid}"
    sheet.put("process.pid", pid, f"file:/{base}")
    comm = system.read_text(f"{base}/comm", limit=256)
    if comm.value:
        sheet.put("process.name", clean(comm.value, 64), comm.source)
    executable = system.link(f"{base}/exe")
    if executable.value:
        sheet.put("process.executable", clean(executable.value, 1000), executable.source)
    else:
        sheet.miss("process.executable", executable.state, executable.source, executable.detail)
    maps = system.read_text(f"{base}/maps", limit=32 << 20)
    if maps.value is None:
        sheet.miss("process.libraries", maps.state, maps.source, maps.detail)
    else:
        sheet.put("process.libraries", list(proc_maps.read(maps.value)), maps.source)
    _devices(system, sheet, base)


def _devices(system: System, sheet: FactSheet, base: str) -> None:
    files = system.list_dir(f"{base}/fd")
    if files.value is None:
        sheet.miss("process.devices", files.state, files.source, files.detail)
        return
    targets = (system.link(f"{base}/fd/{name}").value or "" for name in files.value[:_FILES_AT_MOST])
    nodes = sorted({target for target in targets if _GPU_NODE.match(target)})
    cut = f"of the first {_FILES_AT_MOST} files" if len(files.value) > _FILES_AT_MOST else None
    sheet.put("process.devices", nodes, files.source, cut)
    if not files.value:
        sheet.miss("process.devices", State.UNREADABLE, files.source, "no open file is listed")
