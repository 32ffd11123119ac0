"""`doctor run`: start a container with exactly the GPUs and flags that it needs, or write how another engine would."""

from __future__ import annotations

import os
import re
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
PROBES = ("pci", "amd", "nvidia", "device_nodes", "account", "host", "container")
"""What a run line needs of the machine."""


def add(app: typer.Typer) -> None:
    app.command("run")(run)


def run(
    image: Annotated[
        str | None, typer.Argument(help="An image of any origin, or a profile whose image was built here.")
    ] = None,
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
            help="Print for docker, podman, compose, kubernetes, kubernetes-job, apptainer, slurm, enroot, devcontainer"
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
    from doctor.launch.choose import choose
    from doctor.launch.formats import LOCAL
    from doctor.launch.plan import Request, plan

    _known(vendor, engine, emit)
    image, stack = _image(image, profile)
    system = _system(from_, None)
    there = None if from_ is not None else _engine(system, engine, emit, starts=not (print_ or explain))
    request = Request(
        image=image,
        command=tuple(command or ()),
        way=by,
        env=tuple(env or ()),
        mounts=tuple(volume or ()),
        user=user,
        shm_bytes=_bytes(shm) if shm else None,
        wishes=tuple(wish or ()),
        rdma_nodes=_rdma_nodes(system),
    )
    machine = _machine(system)
    choice = choose(machine, gpus, vendor, elsewhere=emit is not None and emit not in LOCAL)
    spec = plan(machine, there, choice, request, _needs(stack))
    if choice.unseen:  # what this machine lacks says nothing of the other
        spec = replace(spec, troubles=tuple(trouble for trouble in spec.troubles if not trouble.fatal))
    _say(spec)
    if emit or print_ or explain or there is None:
        shown = _line(there, spec) if there and not emit else _emitted(emit or engine or "docker", spec)
        deliver(_explained(shown, stack) if explain else shown.text, output)
        return 0
    if output is not None:
        raise InputError("-o holds what --print, --explain or --emit writes; the command's own output is the command's")
    if any(trouble.fatal for trouble in spec.troubles) and not force:
        raise InputError("not started; --force starts all the same")
    if image.startswith(OWN):
        _built(system, there, image)
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

    return identify(gather(system, registry.probes(PROBES)).machine, Knowledge())


def _engine(system: System, wanted: str | None, emit: str | None, *, starts: bool) -> Engine | None:
    """None where what is written is for an engine elsewhere, or for one of here that does not answer."""
    from doctor.launch.ask import ask
    from doctor.launch.formats import LOCAL

    if emit and emit not in LOCAL:
        return None
    name = wanted or (emit if emit in ("docker", "podman") else None) or _first_there(system)
    try:
        return ask(system, "podman" if name == "podman" else "docker", os.environ)
    except InputError as error:
        if starts and not emit:
            raise
        tell(f"doctor: note: {error}; written without knowing the engine\n")
        return None


def _first_there(system: System) -> str:
    return "podman" if system.which("docker").value is None and system.which("podman").value else "docker"


def _rdma_nodes(system: System) -> tuple[str, ...]:
    """What verbs open: not `umad` and `issm`, which manage the fabric."""
    names = system.list_dir("dev/infiniband").value or ()
    return tuple(f"/dev/infiniband/{name}" for name in names if re.fullmatch(r"uverbs\d{1,4}|rdma_cm", name))


def _bytes(text: str) -> int:
    """`8g`, `512m`, or bytes."""
    number, unit = (text[:-1], text[-1].lower()) if text[-1:].isalpha() else (text, "b")
    factor = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(unit)
    if factor is None or not number.isdecimal() or not 0 < int(number) * factor < 1 << 50:
        raise InputError(f"--shm {text[:40]!r}: a size such as 8g or 512m is wanted")
    return int(number) * factor


def _image(word: str | None, profile: str | None) -> tuple[str, Profile | None]:
    """An image stays what it is; a profile (a name, or a file ending in .toml) stands for the image built of it."""
    from doctor.profiles import load, names

    if profile:
        stack = load(profile)
        return word or f"{OWN}{stack.name}", stack
    if word is None:
        raise InputError("say what to run: doctor run IMAGE -- COMMAND (or a profile: doctor profiles list)")
    if word.endswith(".toml") or word in names():
        stack = load(word)
        return f"{OWN}{stack.name}", stack
    return word, None


def _built(system: System, engine: Engine, image: str) -> None:
    """Raises InputError where the image is not there: the engine would look for the name in a public registry."""
    asked = system.run((*engine.base, "image", "inspect", "--format", "{{.Id}}", image), deadline_s=8.0)
    if asked.value is None or asked.value.code:
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
    from doctor.readers.printable import clean

    for trouble in spec.troubles:
        word = "missing" if trouble.fatal else "note"
        tell(f"doctor: {word}: {clean(trouble.text)}. To mend: {clean(trouble.fix)}\n")


def _emitted(name: str, spec: Spec) -> Emitted:
    from doctor.launch.formats import emit

    return emit(name, spec)


def _line(engine: Engine, spec: Spec) -> Emitted:
    """What would be executed, as a shell line."""
    from doctor.launch.formats.command_line import as_line, as_run

    podman = engine.name == "podman"
    return as_line([*engine.base, "run"], as_run(spec, terminal=_terminal(), podman=podman), spec)


def _terminal() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _explained(emitted: Emitted, stack: Profile | None) -> str:
    from doctor.launch.workload import hints
    from doctor.readers.printable import clean

    rows = [f"{clean(line.text)}\n    {clean(line.reason)}" for line in emitted.lines]
    rows += [f"(left out) {clean(what)}" for what in emitted.left_out]
    rows += [f"(not unless you ask) {clean(what)}" for what in (hints(stack) if stack else ())]
    return "\n".join(rows) + "\n"


def _start(engine: Engine, spec: Spec) -> NoReturn:
    """In this process's place, so that exit code, signals and terminal are the command's own."""
    from doctor.launch.formats.command_line import argv

    words = argv(engine.base, spec, terminal=_terminal(), podman=engine.name == "podman")
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and whoever is executed would inherit it
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execv(engine.program, words)  # noqa: S606  no shell
    except OSError as error:
        raise InputError(f"{engine.program}: {error.strerror}") from error
