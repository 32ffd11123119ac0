"""`doctor run`: start a container with exactly the GPUs and flags that it needs, or write how another engine would."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from doctor.cli.output import tell
from doctor.errors import InputError

if TYPE_CHECKING:
    from doctor.facts.snapshot import Snapshot
    from doctor.launch.engine import Engine
    from doctor.launch.spec import Emitted, Part, Spec
    from doctor.profiles import Profile
    from doctor.system.base import System

OWN = "doctor/"
"""What the images that are built of profiles are called; nobody's registry is asked for them."""
PROBES = ("pci", "amd", "nvidia", "device_nodes", "account", "host", "container", "engines")
"""What a run line needs of the machine."""


def add(app: typer.Typer) -> None:
    app.command("run")(run)


def run(
    image: Annotated[
        str | None, typer.Argument(help="An image of any origin, or a profile whose image was built here.")
    ] = None,
    command: Annotated[list[str] | None, typer.Argument(help="-- COMMAND: the program to run in it.")] = None,
    gpus: Annotated[
        str,
        typer.Option(
            help="all, none, or numbers, PCI addresses, UUIDs, render nodes, GPU:PARTITION, MIG profiles, CDI names."
        ),
    ] = "all",
    vendor: Annotated[str | None, typer.Option(help="amd or nvidia, on a machine with both.")] = None,
    engine: Annotated[str | None, typer.Option(help="docker or podman (default: whichever is installed).")] = None,
    by: Annotated[str, typer.Option("--by", help="How to expose GPUs: auto, cdi, nodes or runtime.")] = "auto",
    profile: Annotated[str | None, typer.Option(help="Add what this profile's workload needs.")] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("-e", "--env", help="NAME=VALUE, or NAME to pass its value from here; repeatable."),
    ] = None,
    env_file: Annotated[list[str] | None, typer.Option("--env-file", help="A file of NAME=VALUE lines.")] = None,
    volume: Annotated[
        list[str] | None,
        typer.Option("-v", "--volume", help="HOST:CONTAINER[:ro]; HOST is a path or the name of a volume."),
    ] = None,
    publish: Annotated[
        list[str] | None, typer.Option("-p", "--publish", help="[[IP:]HOSTPORT:]PORT[/udp]: open a port.")
    ] = None,
    network: Annotated[str | None, typer.Option("--network", help="host, none, or the name of a network.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the container.")] = None,
    workdir: Annotated[str | None, typer.Option("-w", "--workdir", help="Working directory in the container.")] = None,
    detach: Annotated[bool, typer.Option("-d", "--detach", help="Run in the background; print the id.")] = False,
    entrypoint: Annotated[
        str | None, typer.Option("--entrypoint", help="Program to start instead of the image's.")
    ] = None,
    engine_arg: Annotated[
        list[str] | None,
        typer.Option("--engine-arg", help="Any other option of docker or podman: --engine-arg=--restart=always."),
    ] = None,
    user: Annotated[str | None, typer.Option("-u", "--user", help="UID[:GID] in the container.")] = None,
    shm: Annotated[str | None, typer.Option(help="Size of /dev/shm, such as 8g.")] = None,
    wish: Annotated[
        list[str] | None,
        typer.Option("--with", help="ipc-host, seccomp-unconfined, privileged, numa, ptrace or rdma."),
    ] = None,
    print_: Annotated[bool, typer.Option("--print", help="Print the command line; start nothing.")] = False,
    emit: Annotated[
        str | None,
        typer.Option(
            help="Print for docker, podman, compose, kubernetes, kubernetes-job, apptainer, slurm, enroot, devcontainer"
        ),
    ] = None,
    prove: Annotated[
        bool, typer.Option("--prove", help="Test the GPUs in the container, layer by layer; run no command.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print each flag with its reason; start nothing.")] = False,
    from_: Annotated[
        Path | None, typer.Option("--from", help="Plan for the machine of this capture or bundle.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", help="Write what is printed to this file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Start even if something is missing.")] = False,
) -> int:
    """Start a container with the chosen GPUs, and no more rights than they need."""
    from doctor.cli.check import _system
    from doctor.cli.output import deliver
    from doctor.launch import formats, names
    from doctor.launch.ask import rdma_nodes
    from doctor.launch.asked import Request
    from doctor.launch.choose import choose
    from doctor.launch.plan import plan

    _known(vendor, engine, emit)
    if prove and (emit or print_ or explain or from_):
        raise InputError("--prove starts a container here: leave out --emit, --print, --explain and --from")
    image, stack = _image(image, profile)
    if image.startswith(OWN) and emit and not formats.is_local(emit):
        stack_name = image.removeprefix(OWN)
        raise InputError(
            f"{image} exists on this machine alone: push it with "
            f"`doctor image build {stack_name} --push REGISTRY/NAME:TAG`, then run REGISTRY/NAME:TAG"
        )
    system = _system(from_, None)
    there = None if from_ is not None else _engine(system, engine, emit, starts=not (print_ or explain))
    request = Request(
        image=image,
        command=tuple(command or ()),
        way=by,
        env=tuple(env or ()),
        env_files=tuple(env_file or ()),
        mounts=tuple(volume or ()),
        cwd=str(Path.cwd()),
        publish=tuple(publish or ()),
        network=network,
        name=name,
        workdir=workdir,
        detach=detach,
        entrypoint=entrypoint,
        engine_args=tuple(engine_arg or ()),
        user=user,
        shm_bytes=names.size(shm) if shm else None,
        wishes=tuple(wish or ()),
        rdma_nodes=rdma_nodes(system),
    )
    machine = _machine(system)
    choice = choose(
        machine,
        gpus,
        vendor,
        elsewhere=emit is not None and not formats.is_local(emit),
        cdi=there.cdi_nodes() if there else None,
    )
    spec = plan(machine, there, choice, request, _needs(stack))
    if choice.unseen:  # what this machine lacks says nothing of the other
        spec = replace(spec, troubles=tuple(trouble for trouble in spec.troubles if not trouble.fatal))
    _say(spec)
    if there and not emit:
        formats.check_image(there.name, image)
    if emit or print_ or explain or there is None:
        shown = _line(there, spec) if there and not emit else formats.emit(emit or engine or "docker", spec)
        for what in () if explain else shown.left_out:
            if what.startswith("-"):  # an option that was written, and must not be dropped in silence
                tell(f"doctor: note: left out: {what}\n")
        deliver(_explained(shown, stack) if explain else shown.text, output)
        return 0
    if prove:
        return _prove(system, there, spec, force=force)
    if output is not None:
        raise InputError("-o holds what --print, --explain or --emit writes; the command's own output is the command's")
    if any(trouble.fatal for trouble in spec.troubles) and not force:
        raise InputError("not started; --force starts it anyway")
    if image.startswith(OWN):
        _built(system, there, image)
    return _start(there, spec)


def _known(vendor: str | None, engine: str | None, emit: str | None) -> None:
    from doctor.cli.check import _one_of
    from doctor.launch import formats

    for option, value, known in (
        ("--vendor", vendor, ("amd", "nvidia")),
        ("--engine", engine, ("docker", "podman")),
        ("--emit", emit, formats.names()),
    ):
        if value is not None:
            _one_of(option, value, known)


def _machine(system: System) -> Snapshot:
    from doctor.engine import registry
    from doctor.engine.gather import gather
    from doctor.engine.identify import identify
    from doctor.knowledge import Knowledge

    return identify(gather(system, registry.probes(PROBES)).machine, Knowledge())


def _engine(system: System, wanted: str | None, emit: str | None, *, starts: bool) -> Engine | None:
    """None where what is written is for an engine elsewhere, or for one of here that does not answer."""
    from doctor.launch import formats
    from doctor.launch.ask import ask

    if emit and not formats.is_local(emit):
        return None
    name = wanted or (emit if emit in ("docker", "podman") else None) or _first_there(system)
    try:
        return ask(system, "podman" if name == "podman" else "docker", os.environ)
    except InputError as error:
        if starts and not emit:
            raise
        tell(f"doctor: note: {error}; written without knowing the engine\n")
        return None


def _prove(system: System, engine: Engine, spec: Spec, *, force: bool) -> int:
    from doctor.cli.output import deliver
    from doctor.launch.prove import Proof, prove

    fatal = next((trouble for trouble in spec.troubles if trouble.fatal), None)
    proof = Proof(error=fatal.text) if fatal and not force else prove(system, engine, spec)
    rows = [f"{row.layer:8}{row.state:11}{row.text}\n" for row in proof.rows]
    deliver("".join([*rows, f"{proof.verdict}\n"]), None)
    return proof.code


def _first_there(system: System) -> str:
    return "podman" if system.which("docker").value is None and system.which("podman").value else "docker"


def _image(word: str | None, profile: str | None) -> tuple[str, Profile | None]:
    """An image stays what it is; a profile (a name, or a file ending in .toml) stands for the image built of it."""
    from doctor.profiles import knows, load

    if profile:
        stack = load(profile)
        return word or _of_profile(stack), stack
    if word is None:
        raise InputError("say what to run: doctor run IMAGE -- COMMAND (or a profile: doctor profiles list)")
    if word.endswith(".toml") or knows(word):
        stack = load(word)
        return _of_profile(stack), stack
    return word, None


def _of_profile(profile: Profile) -> str:
    """The image that is built of it, or the one that it names and that is used as it is."""
    return (profile.image and profile.image.ready) or profile.image_name


def _built(system: System, engine: Engine, image: str) -> None:
    """Raises InputError where the image is not there: the engine would look for the name in a public registry."""
    if engine.name == "podman":
        asked = system.run((*engine.base, "image", "exists", image), deadline_s=8.0)
        there = asked.value is not None and asked.value.code == 0
    else:
        from doctor.system.engine_api import connected

        with connected("docker") as api:
            there = api.image(image) is not None
    if not there:
        name = image.removeprefix(OWN)
        raise InputError(
            f"{image}: no image of that profile is here; build it (doctor image build {name}) or name another image"
        )


def _needs(profile: Profile | None) -> tuple[Part, ...]:
    if profile is None:
        return ()
    from doctor.launch.workload import parts

    return tuple(parts(profile))


def _say(spec: Spec) -> None:
    from doctor.parsers.lib.printable import clean

    for trouble in spec.troubles:
        word = "missing" if trouble.fatal else "note"
        tell(f"doctor: {word}: {clean(trouble.text)}. Fix: {clean(trouble.fix)}\n")


def _line(engine: Engine, spec: Spec) -> Emitted:
    """What would be executed, as a shell line."""
    from doctor.launch.formats.docker import as_line, as_run

    podman = engine.name == "podman"
    return as_line([*engine.base, "run"], as_run(spec, terminal=_terminal(), podman=podman), spec)


def _terminal() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _explained(emitted: Emitted, stack: Profile | None) -> str:
    from doctor.launch.workload import hints
    from doctor.parsers.lib.printable import clean

    rows = [f"{clean(line.text)}\n    {clean(line.reason)}" for line in emitted.lines]
    rows += [f"(left out) {clean(what)}" for what in emitted.left_out]
    rows += [f"(not unless you ask) {clean(what)}" for what in (hints(stack) if stack else ())]
    return "\n".join(rows) + "\n"


def _start(engine: Engine, spec: Spec) -> NoReturn:
    """In this process's place, so that exit code, signals and terminal are the command's own."""
    from doctor.launch.formats.docker import argv

    words = argv(engine.base, spec, terminal=_terminal(), podman=engine.name == "podman")
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and whoever is executed would inherit it
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execv(engine.program, words)  # noqa: S606  no shell
    except OSError as error:
        raise InputError(f"{engine.program}: {error.strerror}") from error
