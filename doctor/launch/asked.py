"""What the user asked for beside GPUs: rights, variables, mounts, ports, and what else engines are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from doctor.errors import InputError
from doctor.launch import names
from doctor.launch.spec import Part, Trouble, bound

ASKED = "you asked for it"
WISHES = {
    "ipc-host": Part("ipc", "host", f"{ASKED}: processes of several containers share /dev/shm"),
    "seccomp-unconfined": Part("security", "seccomp=unconfined", f"{ASKED}: every system call is open"),
    "privileged": Part("privileged", "true", f"{ASKED}: every device and capability of the host is open"),
    "numa": Part("cap", "SYS_NICE", f"{ASKED}: numactl and NUMA binding need set_mempolicy and mbind"),
    "ptrace": Part("cap", "SYS_PTRACE", f"{ASKED}: profilers and debuggers attach to processes"),
    "rdma": Part("ulimit", "memlock=-1", "you asked for RDMA: its buffers are locked memory"),
}
"""What nobody gets without asking. SYS_NICE and not seccomp=unconfined for NUMA: the default profile opens the memory
policy calls with that capability, for plain users too (measured on Docker 26.1.5)."""


@dataclass(frozen=True)
class Request:
    """What the user asked. `way` is auto, cdi, nodes or runtime; `wishes` are of WISHES."""

    image: str
    command: tuple[str, ...] = ()
    way: str = "auto"
    env: tuple[str, ...] = ()
    """NAME=VALUE, or NAME alone: its value is the caller's."""
    env_files: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    cwd: str | None = None
    """Where relative mounts and files of variables are looked up; None: they are refused."""
    user: str | None = None
    shm_bytes: int | None = None
    wishes: tuple[str, ...] = ()
    rdma_nodes: tuple[str, ...] = ()
    """Nodes of RDMA devices on this machine (`/dev/infiniband/uverbs0`, `/dev/infiniband/rdma_cm`)."""
    publish: tuple[str, ...] = ()
    network: str | None = None
    name: str | None = None
    workdir: str | None = None
    detach: bool = False
    entrypoint: str | None = None
    engine_args: tuple[str, ...] = ()
    mixed: bool = False


def asked(request: Request) -> Iterator[Part]:
    """Raises InputError on what no engine could take."""
    yield from _rights(request)
    yield from _variables(request)
    for text in request.mounts:
        mount = names.mount(text, request.cwd)
        yield Part("mount" if mount.startswith("/") else "volume", mount, ASKED)
    if request.user:
        yield Part("user", names.user(request.user), ASKED)
    yield from (Part("publish", names.publish(port), ASKED) for port in request.publish)
    if request.network is not None:
        yield Part("network", names.network(request.network), ASKED)
    elif "rdma" in request.wishes:
        reason = "you asked for RDMA: RoCE's addresses and the sockets between nodes are the host's"
        yield Part("network", "host", reason)
    if request.name is not None:
        yield Part("name", names.container(request.name), ASKED)
    if request.workdir is not None:
        yield Part("workdir", names.workdir(request.workdir), ASKED)
    if request.detach:
        yield Part("detach", "true", f"{ASKED}: it runs in the background, and its log stays")
    if request.entrypoint is not None:
        yield Part("entrypoint", names.entrypoint(request.entrypoint), f"{ASKED}: instead of the image's own")
    yield from (Part("engine_arg", names.engine_arg(word), ASKED) for word in request.engine_args)


def _rights(request: Request) -> Iterator[Part]:
    for wish in request.wishes:
        yield WISHES[wish]
        if wish == "rdma":
            yield from (
                Part("device", node, "you asked for RDMA: its verbs go through it") for node in request.rdma_nodes
            )


def _variables(request: Request) -> Iterator[Part]:
    for path in request.env_files:
        yield Part("env_file", names.file(path, request.cwd), ASKED)
    for pair in request.env:
        if "=" in pair:
            yield Part("env", names.env(pair), ASKED)
        else:
            yield Part("pass_env", names.env_name(pair), f"{ASKED}: the value is read when it starts")


def check(parts: Sequence[Part]) -> None:
    """Raises InputError on two mounts of one path, or two ports of one number: no engine takes them."""
    inside = [bound(part).inside.rstrip("/") for part in parts if part.kind in ("mount", "volume")]
    for path in inside:
        if inside.count(path) > 1:
            raise InputError(f"-v: two mounts for {path or '/'} in the container")
    ports = [names.port(part.value) for part in parts if part.kind == "publish"]
    for one, other in combinations([port for port in ports if port.host is not None], 2):
        everywhere = None in (one.address, other.address)
        if one.host == other.host and one.protocol == other.protocol and (everywhere or one.address == other.address):
            raise InputError(f"-p: port {one.host}/{one.protocol} of the host is published twice")


def remarks(request: Request, parts: Sequence[Part]) -> Iterator[Trouble]:
    """What was asked for and does not go together, or is not here."""
    network = next((part.value for part in parts if part.kind == "network"), None)
    if "rdma" in request.wishes:
        if not request.rdma_nodes:
            fix = "load the driver of the network card: doctor check"
            yield Trouble("--with rdma: this machine has no /dev/infiniband/uverbs*", fix)
        if network != "host":
            text = f"--network {network} hides the host's RoCE addresses from RDMA"
            yield Trouble(text, "use --network host, unless the network is InfiniBand", fatal=False)
    if request.publish and network and network.startswith("container:"):
        text = f"-p and --network {network} exclude each other: the ports are that container's"
        yield Trouble(text, "publish them where that container is started")
    if request.publish and network in ("host", "none"):
        why = "the container has no network" if network == "none" else "the container's ports are the host's already"
        yield Trouble(f"-p does nothing with --network {network}: {why}", "leave out -p", fatal=False)
