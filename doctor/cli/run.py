"""`doctor run`: start a container with exactly the GPUs and flags that it needs, or write how another engine would."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from doctor.facts.snapshot import Snapshot
    from doctor.launch.engine import Engine
    from doctor.launch.spec import Emitted, Part, Spec
    from doctor.profiles import Profile
    from doctor.system.base import System

_LOCAL = ("docker", "podman", "compose", "devcontainer")
"""Formats that an engine of this machine will read."""
_PROBES = ("pci", "amd", "nvidia", "device_nodes", "account", "host", "container")


def add(app: typer.Typer) -> None:
    app.command("run", context_settings={"allow_interspersed_args": False})(run)


def run(
    image: Annotated[str, typer.Argument(help="An image of any origin, or a profile whose image was built here.")],
    command: Annotated[list[str] | None, typer.Argument(help="-- COMMAND: what runs in it.")] = None,
    gpus: Annotated[str, typer.Option(help="all, none, or numbers, PCI addresses, UUIDs, GPU:PARTITION.")] = "all",
    vendor: Annotated[str | None, typer.Option(help="amd or nvidia, on a machine with both.")] = None,
    engine: Annotated[str | None, typer.Option(help="docker or podman; the one that is there without it.")] = None,
    by: Annotated[str, typer.Option("--by", help="How GPUs are passed: auto, cdi, nodes or runtime.")] = "auto",
    profile: Annotated[str | None, typer.Option(help="What this profile's workload needs too.")] = None,
    env: Annotated[list[str] | None, typer.Option("-e", "--env", help="NAME=VALUE; may be repeated.")] = None,
    volume: Annotated[list[str] | None, typer.Option("-v", "--volume", help="HOST:CONTAINER[:ro].")] = None,
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
            help="Print for: docker, podman, compose, kubernetes, kubernetes-job, apptainer, slurm, devcontainer."
        ),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print each flag with its reason; start nothing.")] = False,
    from_: Annotated[
        Path | None, typer.Option("--from", help="Plan for the machine of this capture or bundle.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", help="Write what is printed to this file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Start though something is missing.")] = False,
) -> int:
    """Start a container with the GPUs, and no more rights than they need."""
    from doctor.cli.check import _system
    from doctor.cli.output import deliver
    from doctor.launch.choose import Choice, choose
    from doctor.launch.plan import Request, plan

    _known(vendor, engine, emit)
    image, stack = _image(image, profile)
    system = _system(from_, None)
    there = None if from_ is not None else _engine(system, engine, emit)
    request = Request(
        image=image,
        command=tuple(command[1:] if command and command[0] == "--" else command or ()),
        way=by,
        env=tuple(env or ()),
        mounts=tuple(volume or ()),
        user=user,
        shm_bytes=_bytes(shm) if shm else None,
        wishes=tuple(wish or ()),
    )
    machine = _machine(system)
    choice = Choice(None, (), False) if gpus.strip().lower() == "none" else choose(machine, gpus, vendor)
    spec = plan(machine, there, choice, request, _needs(stack))
    _say(spec)
    if emit or print_ or explain or there is None:
        shown = _emitted(emit or (there.name if there else "docker"), spec)
        deliver(_explained(shown) if explain else shown.text, output)
        return 0
    if any(trouble.fatal for trouble in spec.troubles) and not force:
        from doctor.errors import InputError

        raise InputError("not started; --force starts all the same")
    return _start(there, spec)


def _known(vendor: str | None, engine: str | None, emit: str | None) -> None:
    from doctor.cli.check import _one_of
    from doctor.launch.formats import FORMATS

    for option, value, known in (
        ("--vendor", vendor, ("amd", "nvidia")),
        ("--engine", engine, ("docker", "podman")),
        ("--emit", emit, tuple(FORMATS)),
    ):
        if value is not None:
            _one_of(option, value, known)


def _machine(system: System) -> Snapshot:
    from doctor.diagnosis import registry
    from doctor.diagnosis.gather import gather
    from doctor.diagnosis.identify import identify
    from doctor.knowledge import Knowledge

    return identify(gather(system, registry.probes(_PROBES)).machine, Knowledge())


def _engine(system: System, wanted: str | None, emit: str | None) -> Engine | None:
    """None where what is written is for an engine elsewhere, or for one of here that does not answer."""
    from doctor.errors import InputError
    from doctor.launch.engine import ask

    if emit and emit not in _LOCAL:
        return None
    name = wanted or (emit if emit in ("docker", "podman") else None) or _first_there()
    try:
        return ask(system, "podman" if name == "podman" else "docker", os.environ.get("DOCKER_HOST"))
    except InputError as error:
        if not emit:
            raise
        sys.stderr.write(f"doctor: {error}; written without knowing the engine\n")
        return None


def _first_there() -> str:
    return "docker" if shutil.which("docker") or not shutil.which("podman") else "podman"


def _bytes(text: str) -> int:
    """`8g`, `512m`, or bytes."""
    from doctor.errors import InputError

    number, unit = (text[:-1], text[-1].lower()) if text[-1:].isalpha() else (text, "b")
    factor = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(unit)
    if factor is None or not number.isdecimal() or not 0 < int(number) * factor < 1 << 50:
        raise InputError(f"--shm {text[:40]!r}: a size such as 8g or 512m is wanted")
    return int(number) * factor


def _image(word: str, profile: str | None) -> tuple[str, Profile | None]:
    """An image stays what it is; a profile's name stands for the image that is built of it."""
    from doctor.profiles import load, names

    if profile:
        return word, load(profile)
    if word in names():
        return f"doctor/{word}", load(word)
    return word, None


def _needs(profile: Profile | None) -> tuple[Part, ...]:
    if profile is None:
        return ()
    from doctor.launch.workload import parts

    return tuple(parts(profile))


def _say(spec: Spec) -> None:
    from doctor.readers.printable import clean

    for trouble in spec.troubles:
        word = "missing" if trouble.fatal else "note"
        sys.stderr.write(f"doctor: {word}: {clean(trouble.text)}. To mend: {clean(trouble.fix)}\n")


def _emitted(name: str, spec: Spec) -> Emitted:
    from doctor.launch.formats import emit

    return emit(name, spec)


def _explained(emitted: Emitted) -> str:
    from doctor.readers.printable import clean

    rows = [f"{clean(line.text)}\n    {clean(line.reason)}" for line in emitted.lines]
    rows += [f"(left out) {clean(what)}" for what in emitted.left_out]
    return "\n".join(rows) + "\n"


def _start(engine: Engine, spec: Spec) -> NoReturn:
    """In this process's place, so that exit code, signals and terminal are the command's own."""
    from doctor.errors import InputError
    from doctor.launch.formats.command_line import argv

    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    words = argv(engine.base, spec, terminal=terminal, podman=engine.name == "podman")
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(words[0], words)  # noqa: S606  no shell
    except OSError as error:
        raise InputError(f"{words[0]}: {error.strerror}") from error
