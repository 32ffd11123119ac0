"""What the rules ask of a machine again and again: whose GPUs are there, which nodes are there, who may open them."""

from __future__ import annotations

import re

from doctor.facts.gpu import Gpu
from doctor.facts.host import DeviceNode
from doctor.facts.origin import State
from doctor.facts.snapshot import Snapshot
from doctor.versions import Dotted

COMPUTE_VENDORS = ("nvidia", "amd")
ROOT_UID = 0
_GONE = ("ENOENT", "ENOTDIR")


def named_gpu(gpu: Gpu) -> str:
    """`gfx1031 (RX 6700 XT)`"""
    return f"{(gpu.arch or 'this GPU')[:20]}{f' ({gpu.name[:40]})' if gpu.name else ''}"


def compute_gpus(machine: Snapshot) -> tuple[Gpu, ...]:
    """The known GPUs that CUDA or ROCm could run on; a display chip of another vendor is none."""
    return tuple(g for g in machine.gpus or () if g.vendor in COMPUTE_VENDORS)


def vendors_there(machine: Snapshot) -> frozenset[str]:
    """Vendors known to have a GPU here, from the GPUs or from a driver that is loaded for one."""
    seen = {g.vendor for g in compute_gpus(machine) if g.vendor}
    if machine.nvidia_driver.loaded and machine.gpus is None:
        seen.add("nvidia")
    if any(n.gfx and n.simd_count for n in machine.kfd.nodes or ()):
        seen.add("amd")
    return frozenset(seen)


def discrete(machine: Snapshot, vendor: str) -> bool:
    """Whether a GPU of that vendor is there that is not known to be integrated into the CPU."""
    gpus = machine.of_vendor(vendor)
    return any(not g.integrated for g in gpus) if gpus else vendor in vendors_there(machine)


def stands(node: DeviceNode) -> bool:
    """Whether the node itself is there. A plain file or folder in its place is none."""
    if node.is_device is False or node.open_error in _GONE:
        return False
    return any(v is not None for v in (node.is_device, node.mode, node.major, node.openable))


def nodes_of(machine: Snapshot, *kinds: str) -> tuple[DeviceNode, ...]:
    return tuple(n for n in machine.nodes or () if n.kind in kinds and stands(n))


def has_no(machine: Snapshot, *kinds: str) -> bool:
    """Whether it is known that no node of those kinds is there: all of /dev was listed, or the nodes that were asked
    for by name are gone. A pasted text that shows some nodes proves nothing of the others."""
    if machine.nodes is None or nodes_of(machine, *kinds):
        return False
    listed = [n for n in machine.nodes if n.kind in kinds]
    if listed:
        return all(n.is_device is False or n.open_error in _GONE for n in listed)
    origin = machine.origins.get("nodes")
    whole = origin is not None and origin.state in (State.VALUE, State.ABSENT)
    return whole and origin is not None and not origin.source.startswith("text:")


def needed_nodes(machine: Snapshot) -> tuple[DeviceNode, ...]:
    """The nodes that GPU work opens here. A render node counts when its GPU is AMD's, or when /dev/kfd stands beside it
    and its GPU is not known: CUDA opens none."""
    wanted = nodes_of(machine, "kfd", "nvidia", "nvidiactl", "nvidia-uvm", "dxg")
    beside_kfd = any(n.kind == "kfd" for n in wanted)
    owners = (machine.gpus or () if beside_kfd else machine.of_vendor("amd")) if nodes_of(machine, "render") else ()
    owner = {f"/dev/dri/{g.render_node}": g.vendor for g in owners if g.render_node}
    render = (n for n in nodes_of(machine, "render") if owner.get(n.key, "amd" if beside_kfd else None) == "amd")
    return (*wanted, *render)


def mode_permits(machine: Snapshot, node: DeviceNode) -> bool | None:
    """Whether owner, group and mode let this account read and write the node; None when one of them is unknown."""
    who = machine.account
    if node.mode is None:
        return None
    if who.uid == ROOT_UID or node.mode & 0o006 == 0o006:
        return True
    if node.gid is None and node.group:
        return _group_permits(machine, node)
    if who.uid is None or who.gids is None or node.gid is None:
        return None
    if who.uid == node.uid:
        return node.mode & 0o600 == 0o600
    mine = node.gid in who.gids or node.gid == who.gid
    return node.mode & 0o060 == 0o060 if mine else False


def _group_permits(machine: Snapshot, node: DeviceNode) -> bool | None:
    """By the names of groups, where a text shows no numbers. An account that is in root's group may be root."""
    mine = machine.account.member_of
    if mine is None or node.mode is None or "root" in mine:
        return None
    return node.mode & 0o060 == 0o060 if node.group in mine else False


def refused(machine: Snapshot, node: DeviceNode) -> bool:
    """Whether owner and mode keep this account out. What opening answered comes first: an access list may allow what
    the mode alone does not."""
    if node.openable is not None:
        return node.openable is False and (node.open_error == "EACCES")
    return mode_permits(machine, node) is False


def named(paths: list[str]) -> str:
    """`/dev/kfd`, or `/dev/kfd and 8 other nodes`."""
    return " and ".join(paths) if len(paths) < 3 else f"{paths[0]} and {len(paths) - 1} other nodes"


def gfx_version(gfx: str) -> tuple[int, int, int] | None:
    """(10, 3, 1) of `gfx1031`, (9, 0, 10) of `gfx90a`; None for a text that is no target."""
    body = gfx.split(":")[0].removeprefix("gfx")
    if len(body) < 3 or not body[:-2].isdigit():
        return None
    try:
        return int(body[:-2]), int(body[-2], 16), int(body[-1], 16)
    except ValueError:
        return None


_RUNTIME_WITHOUT_GFX8 = "7.0"
"""From this ROCm on the runtime itself takes no GPU with the doorbells of gfx7 and gfx8, whatever code libraries have
for it. Source: github.com/ROCm/clr/issues/269, as of 2026-03."""


def runtime_refuses(arch: str | None, rocm: str | None) -> bool:
    """Whether the runtime of that ROCm leaves an AMD GPU out, whatever the kernel's driver."""
    return re.match(r"gfx[78]\d\d$", arch or "") is not None and Dotted(rocm or "0") >= _RUNTIME_WITHOUT_GFX8
