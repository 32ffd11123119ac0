"""The device nodes that GPU work opens: what they are, whose they are, and whether this account can open them.

Cost: a listing of dev and a stat a node; each node is opened read-write without blocking and closed at once, unless its
GPU is suspended (opening would wake it). Needs no root. `nodes` itself is given where all folders were listed: what is
not among its members is then known not to be there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.kernel import etc_group
from doctor.system.base import Stat, System

READS: tuple[str, ...] = (
    "dir:dev public",
    "dir:dev/dri public",
    "dir:dev/nvidia-caps public",
    "stat:dev/* public",
    "open:dev/* public",
    "link:sys/class/drm/*/device public",
    "file:sys/class/drm/*/device/power/runtime_status public",
    "dir:sys/bus/pci/drivers/nvidia public",
    "file:sys/bus/pci/drivers/nvidia/*/power/runtime_status public",
    "file:etc/group name",
)

_KINDS = (
    (re.compile(r"^kfd$"), "kfd"),
    (re.compile(r"^dri/renderD\d{1,4}$"), "render"),
    (re.compile(r"^dri/card\d{1,4}$"), "card"),
    (re.compile(r"^nvidia\d{1,3}$"), "nvidia"),
    (re.compile(r"^nvidiactl$"), "nvidiactl"),
    (re.compile(r"^nvidia-uvm$"), "nvidia-uvm"),
    (re.compile(r"^nvidia-modeset$"), "nvidia-modeset"),
    (re.compile(r"^nvidia-nvswitch(?:ctl|\d{1,3})$"), "nvswitch"),
    (re.compile(r"^(?:nvidia-uvm-tools|nvidia-caps/nvidia-cap\d{1,4})$"), "other"),
    (re.compile(r"^dxg$"), "dxg"),
)
_PCI = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
_MOST = 600


def probe(system: System, sheet: FactSheet) -> None:
    top = system.list_dir("dev")
    if not top.known or top.value is None:
        top.into(sheet, "nodes")
        return
    dri = system.list_dir("dev/dri") if "dri" in top.value else None
    found = list(_found(system, top.value, (dri and dri.value) or ()))[:_MOST]
    if dri is None or dri.known:
        sheet.put("nodes", [], top.source)
    else:
        dri.into(sheet, "nodes")
    if not found:
        return
    groups = system.read_text("etc/group", limit=4 << 20).then(etc_group.read)
    names = {g.gid: g.name for g in reversed(groups.value or ())}
    asleep = _nvidia_asleep(system) if any(kind == "nvidia" for _, kind in found) else None
    for name, kind in found:
        _node(system, sheet, name, kind, names)
        _open(system, sheet, name, asleep if kind.startswith("nvidia") else _drm_asleep(system, name, kind))
        if kind in ("render", "card"):
            _link(system, sheet, name, kind)


def _found(system: System, names: tuple[str, ...], dri: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(name below dev, kind) of each node of ours."""
    every = [*names, *(f"dri/{name}" for name in dri)]
    if "nvidia-caps" in names:
        every += [f"nvidia-caps/{name}" for name in system.list_dir("dev/nvidia-caps").value or ()]
    for name in every:
        for pattern, kind in _KINDS:
            if pattern.match(name):
                yield name, kind


def _node(system: System, sheet: FactSheet, name: str, kind: str, groups: dict[int, str]) -> None:
    node = f"nodes[/dev/{name}]"
    reading = system.stat(f"dev/{name}")
    sheet.put(f"{node}.kind", kind, reading.source)
    if not reading.known or reading.value is None:
        for fact in ("is_device", "mode", "uid", "gid"):
            sheet.miss(f"{node}.{fact}", reading.state, reading.source, reading.detail)
        return
    stat = reading.value
    if system.kind == "tree" and stat.kind == "file":
        # A copied tree can't hold devices without root: a plain file in it says nothing of the machine.
        sheet.miss(f"{node}.is_device", State.NOT_ASKED, reading.source, "a plain file in a copied tree")
        return
    sheet.put(f"{node}.is_device", stat.kind == "char", reading.source)
    _owner(sheet, node, stat, reading.source, groups)


def _owner(sheet: FactSheet, node: str, stat: Stat, source: str, groups: dict[int, str]) -> None:
    for fact, value in (
        ("major", stat.major),
        ("minor", stat.minor),
        ("mode", stat.mode),
        ("uid", stat.uid),
        ("gid", stat.gid),
        ("group", groups.get(stat.gid)),
    ):
        if value is not None:
            sheet.put(f"{node}.{fact}", value, source)


def _open(system: System, sheet: FactSheet, name: str, asleep: str | None) -> None:
    node = f"nodes[/dev/{name}]"
    if sheet.get(f"{node}.is_device") is not True:
        return
    if asleep:
        sheet.miss(f"{node}.openable", State.NOT_ASKED, asleep, "the GPU is suspended; opening would wake it")
        return
    reading = system.try_open(f"dev/{name}")
    if not reading.known or reading.value is None:
        state = State.FAILED if reading.is_absent else reading.state
        sheet.miss(f"{node}.openable", state, reading.source, reading.detail)
        return
    sheet.put(f"{node}.openable", reading.value == "ok", reading.source, reading.detail)
    if reading.value != "ok":
        sheet.put(f"{node}.open_error", reading.value, reading.source, reading.detail)


def _drm_asleep(system: System, name: str, kind: str) -> str | None:
    """Where it says that the GPU behind a DRM node is suspended; None when it is not, or unknown.

    dev/kfd is one node for all AMD GPUs, and opening it wakes none."""
    if kind not in ("render", "card"):
        return None
    status = system.read_text(f"sys/class/drm/{name[4:]}/device/power/runtime_status")
    return status.source if (status.value or "").strip() in ("suspended", "suspending") else None


def _nvidia_asleep(system: System) -> str | None:
    """Where it says that any NVIDIA GPU is suspended: the name nvidiaN does not tell which GPU it is."""
    for address in system.list_dir("sys/bus/pci/drivers/nvidia").value or ():
        if _PCI.match(address):
            status = system.read_text(f"sys/bus/pci/drivers/nvidia/{address}/power/runtime_status")
            if (status.value or "").strip() in ("suspended", "suspending"):
                return status.source
    return None


def _link(system: System, sheet: FactSheet, name: str, kind: str) -> None:
    """The GPU behind a DRM node, by the PCI address that the node's device link leads to."""
    real = system.real(f"sys/class/drm/{name[4:]}/device")
    address = (real.value or "").rpartition("/")[2].lower()
    if _PCI.match(address):
        sheet.put(f"gpus[{address}].{'render_node' if kind == 'render' else 'card_node'}", name[4:], real.source)
