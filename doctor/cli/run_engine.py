"""The engine of `doctor run`: which one it is, what it would execute, and starting it."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from doctor.cli.output import tell
from doctor.errors import InputError

if TYPE_CHECKING:
    from doctor.facts.snapshot import Snapshot
    from doctor.launch.engine import Engine
    from doctor.launch.spec import Emitted, Spec
    from doctor.system.base import System


OWN = "doctor/"
"""What the images that are built of profiles are called; nobody's registry is asked for them."""


def of_here(system: System, wanted: str | None, emit: str | None, *, starts: bool) -> Engine | None:
    """None where what is written is for an engine elsewhere, or for one of here that does not answer."""
    from doctor.launch import formats
    from doctor.launch.ask import ask

    if emit and not formats.is_local(emit):
        return None
    first = "podman" if system.which("docker").value is None and system.which("podman").value else "docker"
    name = wanted or (emit if emit in ("docker", "podman") else first)
    try:
        return ask(system, "podman" if name == "podman" else "docker", os.environ)
    except InputError as error:
        if starts and not emit:
            raise
        tell(f"doctor: note: {error}; written without knowing the engine\n")
        return None


def of_another(system: System, machine: Snapshot, wanted: str | None, emit: str | None) -> Engine | None:
    """None where what is written is read elsewhere, or the facts name no such engine."""
    from doctor.launch import formats
    from doctor.launch.ask import known

    if emit and not formats.is_local(emit):
        return None
    first = "docker" if any(one.key == "docker" for one in machine.engines or ()) else "podman"
    name = wanted or (emit if emit in ("docker", "podman") else first)
    return known(system, machine, "podman" if name == "podman" else "docker")


def say_what_is_not_known(engine: Engine | None) -> None:
    """Of another machine's engine, where a file for it is written."""
    if engine is None:
        tell("doctor: note: the engine of that machine is not known; written without its version and mode\n")
    elif engine.version.numbers == (0,):
        tell(f"doctor: note: that machine's version of {engine.name} is not known; written for one without CDI\n")


def say_what_stays_behind(system: System, engine: Engine, spec: Spec) -> None:
    """Variables that are set here and that the container will not have, or that were named and are not set here."""
    from doctor.engine.ways import left_behind
    from doctor.launch.formats.docker import argv

    words = argv(engine.base, spec, terminal=False, podman=engine.name == "podman")
    here = system.environ().value or {}
    for part in spec.of("pass_env"):
        if part.value not in here:
            tell(f"doctor: note: -e {part.value}: it is not set here, so the container does not get it\n")
    if names := left_behind(here, words):
        options = " ".join(f"-e {name}" for name in names)
        tell(f"doctor: note: set here, but not in the container: {', '.join(names)}. Fix: pass {options}\n")


def must_have(system: System, engine: Engine, image: str) -> None:
    """Raises NotThere where a profile's image is not here: the engine would look for its name in a public registry."""
    from doctor.system.engine_api import NotThere, connected

    if not image.startswith(OWN):
        return
    if engine.name == "podman":
        asked = system.run((*engine.base, "image", "exists", image), deadline_s=8.0)
        there = asked.value is not None and asked.value.code == 0
    else:
        with connected("docker") as api:
            there = api.image(image) is not None
    if not there:
        name = image.removeprefix(OWN)
        raise NotThere(
            f"{image}: no image of that profile is here; build it (doctor image build {name}) or name another image"
        )


def as_line(engine: Engine, spec: Spec) -> Emitted:
    from doctor.launch.formats.docker import as_line, as_run

    podman = engine.name == "podman"
    return as_line([*engine.base, "run"], as_run(spec, terminal=_terminal(), podman=podman), spec)


def _terminal() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def proven(system: System, engine: Engine, spec: Spec, *, force: bool) -> int:
    """Prints what each layer answered; returns the exit code."""
    from doctor.cli.output import print_prose
    from doctor.launch.prove import Proof, prove
    from doctor.system.engine_api import NotThere

    fatal = next((trouble for trouble in spec.troubles if trouble.fatal), None)
    if fatal and not force:
        proof = Proof(error=fatal.text)
    else:
        try:
            must_have(system, engine, spec.image)
            proof = prove(system, engine, spec, os.environ, lambda line: tell(f"doctor: {line}\n"))
        except NotThere as error:
            proof = Proof(error=str(error))
    rows = [f"{row.layer:8}{row.state:11}{row.text}\n" for row in proof.rows]
    print_prose("".join([*rows, f"{proof.verdict}\n"]))
    return proof.code


def start(engine: Engine, spec: Spec) -> NoReturn:
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
