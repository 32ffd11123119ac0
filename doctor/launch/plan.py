"""What a container gets so that the chosen GPUs work in it, and nothing more, each part with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from doctor.errors import InputError
from doctor.facts.snapshot import Snapshot
from doctor.launch import names
from doctor.launch.access import Access, amd_by_nodes, by_cdi, nvidia_by_nodes, nvidia_by_runtime, wsl
from doctor.launch.choose import Choice
from doctor.launch.engine import Engine
from doctor.launch.spec import Part, Spec, Trouble

GIB = 1 << 30
WAYS = ("auto", "cdi", "nodes", "runtime")
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
    access = _access(machine, engine, choice, request.way)
    asked = tuple(_asked(request))
    parts = _once((*access.parts, *_memory(choice, request, extra), *extra, *asked))
    troubles = (*access.troubles, *_unusable(engine, parts))
    if engine is not None and _capped(engine):
        parts = tuple(p for p in parts if not p.value.startswith("memlock="))
    return Spec(
        image=names.image(request.image),
        command=names.command(request.command),
        vendor=choice.vendor,
        gpus=tuple(chosen.name for chosen in choice.gpus),
        every=choice.every,
        parts=parts,
        troubles=troubles,
        name=names.label(request.image.rpartition("/")[2].partition("@")[0]),
    )


def _access(machine: Snapshot, engine: Engine | None, choice: Choice, way: str) -> Access:
    if way not in WAYS:
        raise InputError(f"--by {way}: one of {', '.join(WAYS)} is wanted")
    if choice.vendor is None:
        return Access()
    if machine.host.wsl:
        return wsl(machine, choice)
    cdi = by_cdi(machine, engine, choice) if engine and way in ("auto", "cdi") else Access()
    if cdi.usable or way == "cdi":
        return cdi
    if choice.vendor == "amd":
        return amd_by_nodes(machine, engine, choice).after(cdi)
    if way == "nodes" or (engine is not None and engine.name == "podman" and way == "auto"):
        return nvidia_by_nodes(machine, choice).after(cdi)
    return nvidia_by_runtime(engine, choice).after(cdi)


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


def _capped(engine: Engine) -> bool:
    return engine.memlock is not None and engine.memlock >= 0


def _unusable(engine: Engine | None, parts: Sequence[Part]) -> Iterator[Trouble]:
    if engine is None:
        return
    if _capped(engine) and any(p.kind == "ulimit" and p.value.startswith("memlock=") for p in parts):
        yield Trouble(
            f"the engine's own process may lock {engine.memlock} bytes only, so the container's limit can't be raised",
            "set LimitMEMLOCK=infinity in docker.service and restart it",
            fatal=False,
        )
    if engine.desktop and any(p.kind in ("device", "cdi") for p in parts):
        yield Trouble(
            "Docker Desktop runs containers in a virtual machine that has none of this machine's GPUs",
            "use the engine of the host: docker context use default",
        )
