"""What a container gets so that the chosen GPUs work in it, and nothing more, each part with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.errors import InputError
from doctor.facts.snapshot import Snapshot
from doctor.launch import names, security
from doctor.launch.access import access
from doctor.launch.asked import Request, asked, check, remarks
from doctor.launch.choose import Choice
from doctor.launch.engine import Engine
from doctor.launch.spec import Part, Spec, Trouble, bound

GIB = 1 << 30
_SHM = "/dev/shm"  # noqa: S108  the container's own
_SINGLE = ("shm", "user", "ipc", "gpus", "runtime", "network", "name", "workdir", "detach", "entrypoint")


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
    parts = _once((*gpus.parts, *extra, *_memory(choice, request, extra), *asked(request)))
    check(parts)
    if any(part.kind == "ipc" or (part.kind in ("mount", "volume") and bound(part).inside == _SHM) for part in parts):
        parts = tuple(part for part in parts if part.kind != "shm")  # another /dev/shm is taken; podman refuses both
    held = tuple(_held_back(engine, parts)) if engine is not None else ()
    troubles = (
        *gpus.troubles,
        *(trouble for _, trouble in held),
        *_unreachable(machine, engine, parts),
        *_inside(machine, engine),
        *(security.remarks(machine, engine, parts, choice.nodes) if engine is not None else ()),
        *remarks(request, parts),
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
        resources=tuple(chosen.resource for chosen in choice.gpus),
        mixed=request.mixed,
        nodes=("/dev/dxg",) if machine.host.wsl and choice.vendor else choice.nodes,
        name=names.label(request.name or request.image.rpartition("/")[2].partition("@")[0]),
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
    elif (size := len(choice.gpus) * GIB) > GIB and not any(p.kind == "shm" and int(p.value) >= size for p in extra):
        vendor = "RCCL" if choice.vendor == "amd" else "NCCL"
        yield Part(
            "shm", str(size), f"{vendor} between {len(choice.gpus)} GPUs uses /dev/shm, which is 64 MiB otherwise"
        )


def _once(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The last word on a variable, a size or a limit stays; a device is passed once."""
    kept: dict[tuple[str, str], Part] = {}
    for part in parts:
        single = part.kind in _SINGLE
        by_name = part.kind in ("env", "pass_env", "ulimit")
        key = "" if single else part.value.partition("=")[0] if by_name else part.value
        kind = "env" if part.kind == "pass_env" else part.kind
        kept[kind, key] = part
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
    if (
        engine is not None
        and engine.desktop
        and not machine.host.wsl
        and any(p.kind in security.GPU_KINDS for p in parts)
    ):
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
