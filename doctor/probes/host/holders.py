"""Who holds the GPUs: processes with a device node of a GPU open, zombies of GPU programs, displays, MPS, monitors.

Cost: nothing where no GPU node is in /dev; else one small file a process, and within a second the open files of those
that are known by name or large (a program with a GPU context maps gigabytes) and that this account may look at. Without
root only this account's own open files are seen; inside a PID namespace (a container) only that one's processes.
`host.processes_seen` says which.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from doctor.errors import ParserError
from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.container import cgroup
from doctor.parsers.lib.printable import clean
from doctor.system.base import System

READS: tuple[str, ...] = (
    "dir:dev public",
    "dir:dev/dri public",
    "dir:proc public",
    "file:proc/*/{stat,status,cgroup} name",
    "dir:proc/*/fd public",
    "link:proc/*/fd/* name",
    "link:proc/self/ns/pid public",
    "account name",
)
_NODE = re.compile(
    r"^/dev/(?:kfd|nvidia\d{1,3}|nvidia-uvm|nvidiactl|dri/renderD\d{1,4}|dri/card\d{1,4}|dxg|accel/accel\d{1,3})$"
)
_GPU_NODE = re.compile(r"^(?:kfd|nvidia\d{1,3}|nvidiactl|dxg)$")
_STAT = re.compile(r"^(\d{1,10}) \((.{0,64})\) ([A-Za-z])", re.DOTALL)
_UID = re.compile(r"^Uid:\t(\d{1,10})", re.MULTILINE)
_KINDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("mps", frozenset({"nvidia-cuda-mps-control", "nvidia-cuda-mps-server", "nvidia-cuda-mps"})),
    (
        "monitor",
        frozenset({
            "nv-hostengine", "dcgm-exporter", "dcgmi", "nvidia-smi", "nvtop", "amd-smi", "rocm-smi", "gpuagent",
            "device-metrics-", "amdgpu_top", "nvidia_gpu_exporter", "nvidia_gpu_exp", "gpud", "node_exporter",
        }),
    ),
    (
        "service",
        frozenset({
            "nvidia-persistenced", "nvidia-persiste", "nv-fabricmanager", "nv-fabricmanage", "nvidia-imex",
            "nvidia-powerd",
            "nvidia-device-plugin", "nvidia-device-p", "k8s-device-plugin", "gpu-feature-discovery",
        }),
    ),
    (
        "display",
        frozenset({
            "Xorg", "X", "Xwayland", "gnome-shell", "kwin_wayland", "kwin_x11", "sway", "weston", "mutter", "hyprland",
            "Hyprland", "gdm-x-session", "sddm", "plasmashell", "cosmic-comp",
        }),
    ),
)  # fmt: skip
_GPU_PROGRAMS = re.compile(
    r"^(?:python|pt_main_thread|pt_data_worker|ray::|VLLM|vllm|sglang|torchrun|trtllm|ollama|llama)", re.IGNORECASE
)
_LARGE = 512 << 20
_PROCESSES_AT_MOST, _FILES_AT_MOST, _WITHIN_S = 30_000, 4096, 1.0


def probe(system: System, sheet: FactSheet) -> None:
    names = system.list_dir("dev")
    dri = system.list_dir("dev/dri").value if "dri" in (names.value or ()) else ()
    if not any(_GPU_NODE.match(n) for n in names.value or ()) and not any(n.startswith("render") for n in dri or ()):
        state = State.NOT_ASKED if names.known else names.state
        sheet.miss("holders", state, names.source, "no device node of a GPU is here to hold")
        return
    listing = system.list_dir("proc")
    pids = [n for n in listing.value or () if n.isdigit()][:_PROCESSES_AT_MOST]
    if not pids:
        sheet.miss("holders", State.UNREADABLE if listing.known else listing.state, listing.source, listing.detail)
        return
    refused, late = 0, False
    rows = []
    until = time.monotonic() + _WITHIN_S
    for pid in sorted(pids, key=int, reverse=True):
        if time.monotonic() > until:
            late = True
            break
        row, was_refused = _process(system, pid)
        refused += was_refused
        if row:
            rows.append(row)
    _put_seen(system, sheet, refused)
    sheet.put("holders", rows[:200], listing.source, "stopped after a second: not all" if late else None)


def _process(system: System, pid: str) -> tuple[dict[str, object] | None, bool]:
    """The row of a process that matters, and whether its open files were refused."""
    stat = _STAT.match(system.read_text(f"proc/{pid}/stat", limit=4096).value or "")
    if not stat:
        return None, False
    name, state = clean(stat[2], 64), stat[3]
    kind = kind_of(name)
    row: dict[str, object] = {"key": pid, "pid": int(pid), "name": name, "state": state}
    if state == "Z":
        # A zombie has no files any more; its memory on the GPU is free, unless a thread of it still lives.
        return ({**row, "kind": kind or "program", "nodes": []} if kind or _GPU_PROGRAMS.match(name) else None), False
    if kind is None and _mapped_bytes(stat.string, stat.end()) < _LARGE:
        return None, False
    files = system.list_dir(f"proc/{pid}/fd")
    if not files.known:
        known = {**row, "kind": kind} if kind and kind != "display" else None
        return known, files.state is State.DENIED
    nodes = sorted(set(_open_nodes(system, pid, (files.value or ())[:_FILES_AT_MOST])))
    if not nodes:
        return None, False
    row |= {"kind": kind or "program", "nodes": nodes}
    if uid := _UID.search(system.read_text(f"proc/{pid}/status", limit=1 << 16).value or ""):
        row["uid"] = int(uid[1])
    group = system.read_text(f"proc/{pid}/cgroup", limit=1 << 16).value
    if group is not None:
        row["in_container"] = _contained(group)
    return row, False


def _mapped_bytes(stat: str, state_end: int) -> int:
    """Field 23 of proc/PID/stat, counted from the state, which is field 3."""
    fields = stat[state_end:].split()
    return int(fields[19]) if len(fields) > 19 and fields[19].isdigit() else 0


def _contained(group: str) -> bool:
    try:
        return cgroup.engine(cgroup.read(group)) is not None
    except ParserError:
        return False


def _open_nodes(system: System, pid: str, files: tuple[str, ...]) -> Iterator[str]:
    for file in files:
        target = system.link(f"proc/{pid}/fd/{file}").value
        if target and target.startswith("/dev/") and _NODE.match(target):
            yield target


def kind_of(name: str) -> str | None:
    """What a process is by its name; None for a program like any other.

    >>> kind_of("nv-hostengine"), kind_of("python3")
    ('monitor', None)
    """
    return next((kind for kind, names in _KINDS if name in names), None)


def _put_seen(system: System, sheet: FactSheet, refused: int) -> None:
    """Without the kernel's own thread 2 in sight, the processes of the host and of other namespaces are hidden."""
    second = _STAT.match(system.read_text("proc/2/stat", limit=4096).value or "")
    if not second or second[2] != "kthreadd":
        sheet.put("host.processes_seen", "namespace", "file:/proc", "processes of other PID namespaces are unseen")
    elif refused:
        sheet.put(
            "host.processes_seen", "own", "file:/proc", f"the open files of {refused} processes are root's to see"
        )
    else:
        sheet.put("host.processes_seen", "all", "file:/proc")
