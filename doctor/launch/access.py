"""The ways to hand GPUs to a container: a CDI spec, device nodes with the gid that owns them, NVIDIA's own runtime."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from doctor.facts.host import DeviceNode
from doctor.facts.snapshot import Snapshot
from doctor.launch.choose import Choice, Chosen
from doctor.launch.engine import Engine, Spec
from doctor.launch.spec import Part, Trouble

KFD = "/dev/kfd"
_KINDS = {"amd": "amd.com/gpu", "nvidia": "nvidia.com/gpu"}
_MAKE = {
    "amd": "sudo amd-ctk cdi generate --output=/etc/cdi/amd.json",
    "nvidia": "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
}
_NVIDIA_SHARED = {
    "/dev/nvidiactl": "the NVIDIA driver's control node, which every CUDA program opens",
    "/dev/nvidia-uvm": "unified memory, without which cuInit fails",
}


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


def by_cdi(machine: Snapshot, engine: Engine | None, choice: Choice) -> Access:
    """Empty where no spec of the vendor is there; with troubles where there is one that can't be used."""
    if engine is None or choice.vendor is None:
        return Access()
    kind = _KINDS[choice.vendor]
    specs = [spec for spec in engine.specs if spec.read.kind == kind]
    if not specs:
        make = _MAKE[choice.vendor]
        return Access(
            (), (Trouble(f"there is no CDI spec for {kind} in {' or '.join(engine.cdi_folders)}", make, True),)
        )
    if not engine.cdi:
        return Access((), (_no_cdi(engine),))
    spec = specs[0]
    wanted = ["all"] if choice.every and "all" in spec.read.devices else [chosen.name for chosen in choice.gpus]
    troubles = tuple(_faults(engine, spec, wanted, choice))
    parts = [Part("cdi", f"{kind}={name}", _cdi_reason(name, choice, spec)) for name in wanted]
    by_nodes = groups(machine, engine, _amd_nodes(choice)) if choice.vendor == "amd" else ()
    return Access((*parts, *by_nodes), troubles)


def _no_cdi(engine: Engine) -> Trouble:
    if engine.name == "docker" and engine.version.numbers >= (25,):
        return Trouble(
            f"Docker {engine.version} is not configured to read CDI specs",
            'add {"features": {"cdi": true}} to /etc/docker/daemon.json and restart docker',
        )
    return Trouble(f"{engine.name} {engine.version} can't read CDI specs", "Docker 25 or podman 4.1 and later can")


def _cdi_reason(name: str, choice: Choice, spec: Spec) -> str:
    what = "all GPUs" if name == "all" else f"GPU {name}"
    return f"{what} of {choice.vendor}, as {spec.path} describes it"


def _faults(engine: Engine, spec: Spec, wanted: Iterable[str], choice: Choice) -> Iterator[Trouble]:
    make = _MAKE[choice.vendor or "amd"]
    if not engine.reads(spec.read):
        newest = engine.newest_spec
        yield Trouble(
            f"{spec.path} is of CDI {spec.read.version}; {engine.name} {engine.version} reads up to {newest}",
            f"generate it for the older version, or pass nodes: --by nodes ({make})",
        )
    absent = [name for name in wanted if name not in spec.read.devices]
    if absent:
        known = ", ".join(sorted(spec.read.devices)[:12])
        yield Trouble(f"{spec.path} has no device {', '.join(absent[:8])}; it has {known}", make)
    if spec.missing:
        yield Trouble(f"{spec.path} is stale: it names {spec.missing[0]}, which is not there", make)


def amd_by_nodes(machine: Snapshot, engine: Engine | None, choice: Choice) -> Access:
    """/dev/kfd and the render node of each GPU. /dev/dri/card* is for displays, and not passed."""
    parts = [Part("device", KFD, "the compute interface of all AMD GPUs; ROCm opens it first")]
    troubles = []
    for chosen in choice.gpus:
        nodes = chosen.render_nodes
        if not nodes:
            troubles.append(Trouble(f"GPU {chosen.name} has no render node", "check the amdgpu driver: doctor check"))
        parts += [Part("device", f"/dev/dri/{node}", f"the render node of {_called(chosen)}") for node in nodes]
    troubles += _not_there(machine, (p.value for p in parts))
    return Access((*parts, *groups(machine, engine, _amd_nodes(choice))), tuple(troubles))


def _amd_nodes(choice: Choice) -> tuple[str, ...]:
    return (KFD, *(f"/dev/dri/{node}" for chosen in choice.gpus for node in chosen.render_nodes))


def groups(machine: Snapshot, engine: Engine | None, paths: Iterable[str]) -> tuple[Part, ...]:
    """The gids that own the nodes, as numbers read on the host: a name would be looked up inside the image. None for
    nodes that everybody may open."""
    wanted = set(paths)
    closed = [n for n in machine.nodes or () if n.key in wanted and n.gid is not None and not _open_to_all(n)]
    if not closed:
        return ()
    if engine is not None and engine.name == "podman" and engine.rootless:
        return (
            Part("group", "keep-groups", "rootless podman keeps your groups, so that the nodes' owner still counts"),
        )
    owned: dict[int, list[str]] = {}
    for node in closed:
        owned.setdefault(node.gid or 0, []).append(node.key)
    return tuple(
        Part(
            "group", str(gid), f"gid {gid} owns {nodes[0]}{_more(nodes)} on this host; a user who is not root needs it"
        )
        for gid, nodes in sorted(owned.items())
        if gid
    )


def _more(nodes: list[str]) -> str:
    return f" and {len(nodes) - 1} more" if len(nodes) > 1 else ""


def _open_to_all(node: DeviceNode) -> bool:
    return node.mode is not None and node.mode & 0o006 == 0o006


def nvidia_by_nodes(machine: Snapshot, choice: Choice) -> Access:
    """The nodes alone: the driver's libraries must be in the image or mounted."""
    parts = [Part("device", path, reason) for path, reason in _NVIDIA_SHARED.items()]
    troubles = []
    for chosen in choice.gpus:
        if chosen.partition is not None:
            troubles.append(Trouble(f"MIG instance {chosen.name} can't be passed by nodes alone", _MAKE["nvidia"]))
        elif chosen.gpu.device_node:
            parts.append(Part("device", f"/dev/{chosen.gpu.device_node}", f"the node of {_called(chosen)}"))
        else:
            troubles.append(Trouble(f"GPU {chosen.name} has no node under /dev", "check the driver: doctor check"))
    troubles += _not_there(machine, (p.value for p in parts))
    troubles.append(
        Trouble(
            "nodes alone bring no libcuda.so: the image must hold that of exactly the host's driver",
            f"use CDI: {_MAKE['nvidia']}",
            fatal=False,
        )
    )
    return Access(tuple(parts), tuple(troubles))


def nvidia_by_runtime(engine: Engine | None, choice: Choice) -> Access:
    """NVIDIA's container toolkit. With an engine that is not here, its word is the standard one."""
    listed = ",".join(chosen.name for chosen in choice.gpus)
    wanted = "all" if choice.every else listed
    reason = f"{'all GPUs' if choice.every else f'GPU {listed}'} of NVIDIA, with the driver's libraries of this host"
    if engine is None or "nvidia" not in engine.runtimes:
        troubles = () if engine is None else (_no_toolkit(engine),)
        return Access((Part("gpus", wanted, reason),), troubles)
    return Access(
        (
            Part("runtime", "nvidia", "the NVIDIA container toolkit puts devices and driver libraries in"),
            Part("env", f"NVIDIA_VISIBLE_DEVICES={wanted}", reason),
            Part("env", "NVIDIA_DRIVER_CAPABILITIES=compute,utility", "CUDA and nvidia-smi, and no graphics libraries"),
        )
    )


def _no_toolkit(engine: Engine) -> Trouble:
    return Trouble(
        f"{engine.name} has no nvidia runtime and there is no CDI spec: the NVIDIA container toolkit is not installed "
        "or not configured",
        "install nvidia-container-toolkit, then: sudo nvidia-ctk runtime configure --runtime=docker && "
        "sudo systemctl restart docker",
    )


def wsl(machine: Snapshot, choice: Choice) -> Access:
    """One node for all GPUs, and the libraries that Windows brings."""
    parts = [
        Part("device", "/dev/dxg", "WSL's one node for all GPUs"),
        Part("mount", "/usr/lib/wsl:/usr/lib/wsl:ro", "the driver's libraries, which Windows puts there"),
        Part("env", "LD_LIBRARY_PATH=/usr/lib/wsl/lib", "so that the loader finds them"),
    ]
    if choice.vendor == "amd":
        parts.append(Part("env", "HSA_ENABLE_DXG_DETECTION=1", "ROCm before 7.13 looks for /dev/dxg only with it"))
    return Access(tuple(parts), tuple(_not_there(machine, ["/dev/dxg"])))


def _not_there(machine: Snapshot, paths: Iterable[str]) -> Iterator[Trouble]:
    if machine.nodes is None:
        return
    there = {node.key for node in machine.nodes if node.is_device is not False and node.mode is not None}
    for path in dict.fromkeys(paths):
        if path not in there:
            yield Trouble(f"{path} is not there", "check the driver: doctor check")


def _called(chosen: Chosen) -> str:
    """`GPU 2 (0000:c1:00.0, AMD Instinct MI300X)`."""
    part = f", partition {chosen.name.partition(':')[2]}" if chosen.partition is not None else ""
    known = ", ".join(filter(None, [chosen.gpu.pci_address, chosen.gpu.name]))
    return f"GPU {chosen.name.partition(':')[0]}{part}{f' ({known})' if known else ''}"
