"""GPUs by their device nodes, with the gids that own them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from doctor.facts.host import DeviceNode
from doctor.facts.snapshot import Snapshot
from doctor.launch.choose import Choice, Chosen
from doctor.launch.engine import Engine
from doctor.launch.spec import Part, Trouble

KFD = "/dev/kfd"
_CHECK = "check the driver: doctor check"
_NVIDIA_SHARED = {
    "/dev/nvidiactl": "the NVIDIA driver's control node, which every CUDA program opens",
    "/dev/nvidia-uvm": "unified memory, without which cuInit fails",
}
_UDEV = (
    'give it to group render, as ROCm\'s guide does: echo \'KERNEL=="kfd", GROUP="render", MODE="0660"\' | sudo tee '
    "/etc/udev/rules.d/70-amdgpu.rules, then: sudo udevadm control --reload && sudo udevadm trigger"
)


@dataclass(frozen=True)
class Access:
    """Parts and what is missing for them. `usable`: the parts lead to the GPUs."""

    parts: tuple[Part, ...] = ()
    troubles: tuple[Trouble, ...] = ()

    @property
    def usable(self) -> bool:
        return bool(self.parts) and not any(trouble.fatal for trouble in self.troubles)

    def after(self, first: Access) -> Access:
        """This way, taken because `first` was not usable: what was missing there is a remark now."""
        return replace(self, troubles=(*(replace(t, fatal=False) for t in first.troubles), *self.troubles))


def amd_by_nodes(machine: Snapshot, engine: Engine | None, choice: Choice) -> Access:
    """/dev/kfd and the render node of each GPU. /dev/dri/card* is for displays, and not passed."""
    parts = [Part("device", KFD, "the compute interface of all AMD GPUs; ROCm opens it first")]
    troubles = []
    for chosen in choice.gpus:
        nodes = chosen.render_nodes
        if not nodes:
            troubles.append(Trouble(f"GPU {chosen.name} has no render node", _CHECK))
        parts += [Part("device", f"/dev/dri/{node}", f"the render node of {called(chosen)}") for node in nodes]
    paths = [part.value for part in parts]
    owned = groups(machine, engine, paths)
    return Access((*parts, *owned.parts), (*troubles, *not_there(machine, paths), *owned.troubles))


def groups(
    machine: Snapshot, engine: Engine | None, paths: Iterable[str], gids: Mapping[str, int] | None = None
) -> Access:
    """The gids that own the nodes, as numbers read on the host: a name would be looked up inside the image. None for
    nodes that everybody may open. `gids` are those that a CDI spec gives its nodes instead."""
    wanted = set(paths)
    closed = [n for n in machine.nodes or () if n.key in wanted and is_closed(n)]
    ownerless = [n.key for n in machine.nodes or () if n.key in wanted and n.gid is None]
    if not closed:
        return Access((), tuple(_of_unknown_owner(engine, ownerless)))
    if engine is not None and engine.rootless:
        return _rootless(engine, closed)
    owned: dict[int, list[str]] = {}
    for node in closed:
        owned.setdefault((gids or {}).get(node.key, node.gid or 0), []).append(node.key)
    parts = tuple(
        Part(
            "group", str(gid), f"gid {gid} owns {paths[0]}{_more(paths)} on this host; a user who is not root needs it"
        )
        for gid, paths in sorted(owned.items())
        if gid
    )
    return Access(parts, tuple(_for_root_alone(closed, owned)))


def _of_unknown_owner(engine: Engine | None, nodes: list[str]) -> Iterator[Trouble]:
    """A tree that was copied without root holds plain files in place of its nodes."""
    if nodes and engine is not None:
        fix = f"--engine-arg=--group-add=GID, where GID is what `stat -c %g {nodes[0]}` prints on that machine"
        if engine.rootless:
            fix = "--engine-arg=--group-add=keep-groups (podman alone), if you may open it on that machine"
        yield Trouble(
            f"the group of {nodes[0]}{_more(nodes)} is not known; a user who is not root needs it", fix, False
        )


def _rootless(engine: Engine, closed: list[DeviceNode]) -> Access:
    """The engine's processes are this account's: what it can't open, no container of it can."""
    parts: tuple[Part, ...] = ()
    troubles = []
    refused = next((n for n in closed if n.openable is False and n.open_error in ("EACCES", "EPERM")), None)
    if refused is not None:
        group = refused.group or refused.gid
        troubles.append(
            Trouble(
                f"you may not open {refused.key} (group {group}, mode {refused.mode or 0:o}), so no rootless container "
                "of yours can",
                f"sudo usermod -aG {group} $USER, then log in again",
            )
        )
    if engine.name == "podman":
        parts = (
            Part("group", "keep-groups", "rootless podman keeps your groups, so that the nodes' owner still counts"),
        )
        if engine.oci_runtime and engine.oci_runtime != "crun":
            troubles.append(
                Trouble(f"podman starts containers with {engine.oci_runtime}, which can't keep groups", "install crun")
            )
    else:
        troubles.append(
            Trouble(
                f"rootless docker drops your groups, and {closed[0].key} is open to a group alone",
                "use rootless podman or the rootful engine (docker context use default)",
            )
        )
    return Access(parts, tuple(troubles))


def _for_root_alone(closed: list[DeviceNode], owned: Mapping[int, list[str]]) -> Iterator[Trouble]:
    shut = [n.key for n in closed if n.key in owned.get(0, ()) or (n.mode or 0) & 0o060 != 0o060]
    if shut:
        yield Trouble(
            f"{shut[0]}{_more(shut)} is open to root alone: no group lets another user of the container in",
            _UDEV,
            fatal=False,
        )


def _more(nodes: list[str]) -> str:
    return f" and {len(nodes) - 1} more" if len(nodes) > 1 else ""


def is_closed(node: DeviceNode) -> bool:
    """Open to its owner and a group alone."""
    return node.gid is not None and (node.mode is None or node.mode & 0o006 != 0o006)


def nvidia_by_nodes(machine: Snapshot, choice: Choice, make: str) -> Access:
    """The nodes alone: the driver's libraries must be in the image or mounted. `make` writes a CDI spec."""
    parts = [Part("device", path, reason) for path, reason in _NVIDIA_SHARED.items()]
    troubles = []
    for chosen in choice.gpus:
        if chosen.partition is not None:
            troubles.append(Trouble(f"MIG instance {chosen.name} can't be passed by nodes alone", make))
        elif chosen.gpu.device_node:
            parts.append(Part("device", f"/dev/{chosen.gpu.device_node}", f"the node of {called(chosen)}"))
        else:
            troubles.append(Trouble(f"GPU {chosen.name} has no node under /dev", _CHECK))
    troubles += not_there(machine, [p.value for p in parts])
    troubles.append(
        Trouble(
            "nodes alone bring no libcuda.so: the image must hold that of exactly the host's driver",
            f"use CDI: {make}",
            fatal=False,
        )
    )
    return Access(tuple(parts), tuple(troubles))


def not_there(machine: Snapshot, paths: Iterable[str]) -> Iterator[Trouble]:
    """Silent where the nodes of the machine were not looked at."""
    if machine.nodes is None:
        return
    there = {node.key for node in machine.nodes if node.is_device is not False}
    for path in dict.fromkeys(paths):
        if path not in there:
            yield Trouble(f"{path} is not there", _CHECK)


def called(chosen: Chosen) -> str:
    """`GPU 2 (0000:c1:00.0, AMD Instinct MI300X)`."""
    part = f", partition {chosen.name.partition(':')[2]}" if chosen.partition is not None else ""
    known = ", ".join(filter(None, [chosen.gpu.pci_address, chosen.gpu.name]))
    return f"GPU {chosen.name.partition(':')[0]}{part}{f' ({known})' if known else ''}"
