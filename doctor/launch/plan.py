"""What a container gets so that the chosen GPUs work in it, and nothing more, each part with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from doctor.errors import InputError
from doctor.facts.snapshot import Snapshot
from doctor.launch import names
from doctor.launch.access import access
from doctor.launch.choose import Choice
from doctor.launch.engine import Engine
from doctor.launch.spec import Part, Spec, Trouble

GIB = 1 << 30
_GPU_KINDS = ("device", "cdi", "gpus", "runtime")
WISHES = {
    "ipc-host": Part("ipc", "host", "you asked for it: processes of several containers share /dev/shm"),
    "seccomp-unconfined": Part("security", "seccomp=unconfined", "you asked for it: every system call is open"),
    "privileged": Part("privileged", "true", "you asked for it: every device and capability of the host is open"),
    "numa": Part("cap", "SYS_NICE", "you asked for it: numactl and NUMA binding need set_mempolicy and mbind"),
    "ptrace": Part("cap", "SYS_PTRACE", "you asked for it: profilers and debuggers attach to processes"),
    "rdma": Part("ulimit", "memlock=-1", "you asked for RDMA: its buffers are locked memory"),
}
"""What nobody gets without asking. SYS_NICE and not seccomp=unconfined for NUMA: the default profile opens the memory
policy calls with that capability, for plain users too (measured on Docker 26.1.5)."""


@dataclass(frozen=True)
class Request:
    """What the user asked. `way` is one of WAYS, `wishes` of WISHES."""

    image: str
    command: tuple[str, ...] = ()
    way: str = "auto"
    env: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    user: str | None = None
    shm_bytes: int | None = None
    wishes: tuple[str, ...] = ()
    rdma_nodes: tuple[str, ...] = ()
    """Nodes of RDMA devices on this machine (`/dev/infiniband/uverbs0`, `/dev/infiniband/rdma_cm`)."""


def plan(
    machine: Snapshot,
    engine: Engine | None,
    choice: Choice,
    request: Request,
    extra: Sequence[Part] = (),
) -> Spec:
    """`engine` None: for an engine that is not here (a manifest, a batch script); by nodes then. `extra` is what a
    profile's workload needs. Raises InputError on names that no engine could take; what is missing on the machine is
    in `troubles`."""
    gpus = access(machine, engine, choice, request.way)
    _contradicted(gpus.parts, request)
    parts = _once((*gpus.parts, *extra, *_memory(choice, request, extra), *_asked(request)))
    if any(part.kind == "ipc" for part in parts):
        parts = tuple(part for part in parts if part.kind != "shm")  # the host's /dev/shm is taken; podman refuses both
    held = tuple(_held_back(engine, parts)) if engine is not None else ()
    troubles = (
        *gpus.troubles,
        *(trouble for _, trouble in held),
        *_unreachable(machine, engine, parts),
        *_inside(machine, engine),
        *_rdma(request),
    )
    parts = tuple(part for part in parts if part not in [held_part for held_part, _ in held])
    return Spec(
        image=names.image(request.image),
        command=names.command(request.command),
        vendor=choice.vendor,
        gpus=tuple(chosen.name for chosen in choice.gpus),
        every=choice.every,
        parts=parts,
        troubles=troubles,
        selectors=choice.selectors,
        name=names.label(request.image.rpartition("/")[2].partition("@")[0]),
    )


def _contradicted(parts: Sequence[Part], request: Request) -> None:
    """A variable that tells a vendor's runtime which GPUs to pass is set by `--gpus` alone."""
    set_here = {p.value.partition("=")[0] for p in parts if p.kind == "env" and "_VISIBLE_DEVICES=" in p.value}
    for pair in request.env:
        if pair.partition("=")[0] in set_here:
            raise InputError(f"-e {pair[:60]}: --gpus says which GPUs are passed; leave one of them out")


def _memory(choice: Choice, request: Request, extra: Sequence[Part]) -> Iterator[Part]:
    """Collectives of one node pass their data through /dev/shm, of which engines give 64 MiB. `--shm-size=1g` is what
    NCCL's guide asks for (docs.nvidia.com/deeplearning/nccl, troubleshooting, Docker)."""
    if request.shm_bytes is not None:
        yield Part("shm", str(request.shm_bytes), "you asked for this size of /dev/shm")
    elif len(choice.gpus) > 1 and not any(p.kind == "shm" for p in extra):
        size = max(1, len(choice.gpus)) * GIB
        vendor = "RCCL" if choice.vendor == "amd" else "NCCL"
        yield Part(
            "shm", str(size), f"{vendor} between {len(choice.gpus)} GPUs uses /dev/shm, which is 64 MiB otherwise"
        )


def _asked(request: Request) -> Iterator[Part]:
    for wish in request.wishes:
        if wish not in WISHES:
            raise InputError(f"--with {wish[:40]}: one of {', '.join(WISHES)} is wanted")
        yield WISHES[wish]
        if wish == "rdma":
            yield from (
                Part("device", node, "you asked for RDMA: its verbs go through it") for node in request.rdma_nodes
            )
    for pair in request.env:
        yield Part("env", names.env(pair), "you asked for it")
    for mount in request.mounts:
        yield Part("mount", names.mount(mount), "you asked for it")
    if request.user:
        yield Part("user", names.user(request.user), "you asked for it")


def _once(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The last word on a variable, a size or a limit stays; a device is passed once."""
    kept: dict[tuple[str, str], Part] = {}
    for part in parts:
        single = part.kind in ("shm", "user", "ipc", "gpus", "runtime")
        key = "" if single else part.value.partition("=")[0] if part.kind in ("env", "ulimit") else part.value
        kept[part.kind, key] = part
    return tuple(kept.values())


def _held_back(engine: Engine, parts: Sequence[Part]) -> Iterator[tuple[Part, Trouble]]:
    """Limits above what the engine's own process has: with them the container would not start."""
    for part in parts:
        name, _, wanted = part.value.partition("=")
        cap = engine.capped.get(name) if part.kind == "ulimit" else None
        if cap is not None and not 0 <= int(wanted.rpartition(":")[2]) <= cap:
            fix = (
                f"set Limit{name.upper()}=infinity in docker.service and restart it"
                if engine.name == "docker"
                else f"raise your hard limit of {name} in /etc/security/limits.conf, then log in again"
            )
            text = f"--ulimit {part.value} is left out: what starts the container is held to {name}={cap} itself"
            yield part, Trouble(text, fix, fatal=False)


def _unreachable(machine: Snapshot, engine: Engine | None, parts: Sequence[Part]) -> Iterator[Trouble]:
    if engine is not None and engine.desktop and not machine.host.wsl and any(p.kind in _GPU_KINDS for p in parts):
        yield Trouble(
            "Docker Desktop runs containers in a virtual machine that has none of this machine's GPUs",
            "use the engine of the host: docker context use default",
        )


def _inside(machine: Snapshot, engine: Engine | None) -> Iterator[Trouble]:
    if engine is not None and machine.container.inside:
        yield Trouble(
            "this runs in a container: the nodes and gids that are seen are its own, and the engine's are the host's",
            "run doctor on the host",
            fatal=False,
        )


def _rdma(request: Request) -> Iterator[Trouble]:
    if "rdma" in request.wishes and not request.rdma_nodes:
        yield Trouble(
            "--with rdma: there is no /dev/infiniband/uverbs* here", "load the driver of the network card: doctor check"
        )
