"""`doctor run`: start a container with exactly the GPUs and flags that it needs, or write how another engine would."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doctor.cli.output import tell
from doctor.cli.run_engine import OWN
from doctor.errors import InputError

if TYPE_CHECKING:
    from doctor.launch.spec import Emitted, Spec
    from doctor.profiles import Profile

PROBES = ("pci", "amd", "nvidia", "device_nodes", "account", "host", "container", "engines")
"""What a run line needs of the machine."""


def add(app: typer.Typer) -> None:
    app.command("run", cls=_Run)(run)


_OF_DOCKER = {
    "--ipc": "write --with ipc-host, or --shm 8g for a larger /dev/shm",
    "--privileged": "write --with privileged; GPUs work without it",
    "--security-opt": "write --with seccomp-unconfined, or --engine-arg=--security-opt=VALUE",
    "--cap-add": "write --with ptrace or --with numa, or --engine-arg=--cap-add=NAME",
    "--device": "leave it out for GPUs; for others --engine-arg=--device=PATH",
    "--group-add": "leave it out for GPUs; for others --engine-arg=--group-add=GROUP",
    "--runtime": "leave it out, or write --by runtime",
}
"""What people paste, and how it is said here."""


class _Run(typer.core.TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            option = getattr(error, "option_name", None)
            if option is None:
                raise
            other = f"put -- before the program's own options; docker's go by --engine-arg={option}=VALUE"
            raise InputError(f"doctor run has no option {option}: {_OF_DOCKER.get(option, other)}") from error


def run(
    image: Annotated[
        str | None, typer.Argument(help="An image of any origin, or a profile whose image was built here.")
    ] = None,
    command: Annotated[list[str] | None, typer.Argument(help="-- COMMAND: the program to run in it.")] = None,
    gpus: Annotated[
        str,
        typer.Option(
            help="all, none, or numbers, PCI addresses, UUIDs, render nodes, GPU:PARTITION, MIG profiles or CDI names."
        ),
    ] = "all",
    vendor: Annotated[str | None, typer.Option(metavar="amd|nvidia", help="Which GPUs, if there are both.")] = None,
    engine: Annotated[
        str | None, typer.Option(metavar="docker|podman", help="Engine (default: whichever is installed).")
    ] = None,
    by: Annotated[str, typer.Option("--by", metavar="auto|cdi|nodes|runtime", help="How to expose GPUs.")] = "auto",
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
    shm: Annotated[str | None, typer.Option("--shm", "--shm-size", help="Size of /dev/shm, such as 8g.")] = None,
    as_ever: Annotated[  # noqa: ARG001
        bool, typer.Option("-i", "-t", "--interactive", "--tty", "--rm", hidden=True, help="docker's: given anyway.")
    ] = False,
    wish: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="ipc-host|seccomp-unconfined|privileged|numa|ptrace|rdma",
            help="Add this right; repeatable.",
        ),
    ] = None,
    mixed: Annotated[
        bool, typer.Option("--mixed", help="Kubernetes: the device plugin names MIG profiles and partitions.")
    ] = False,
    print_: Annotated[bool, typer.Option("--print", help="Print the command line; start nothing.")] = False,
    emit: Annotated[
        str | None,
        typer.Option(
            metavar="docker|podman|compose|kubernetes|kubernetes-job|apptainer|slurm|enroot|devcontainer",
            help="Print what starts it with this tool; start nothing.",
        ),
    ] = None,
    prove: Annotated[
        bool, typer.Option("--prove", help="Test the GPUs in the container, layer by layer; run no command.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print each flag with its reason; start nothing.")] = False,
    from_: Annotated[
        Path | None, typer.Option("--from", help="Plan for the machine of this capture or bundle.")
    ] = None,
    root: Annotated[Path | None, typer.Option(help="Plan for the machine whose files are under this folder.")] = None,
    output: Annotated[Path | None, typer.Option("-o", help="Write what is printed to this file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Start even if something is missing.")] = False,
) -> int:
    """Start a container with GPUs, or print it for Kubernetes, Slurm …"""
    from doctor.cli import run_engine
    from doctor.cli.check import _system
    from doctor.cli.measured import facts
    from doctor.cli.output import deliver
    from doctor.engine import registry
    from doctor.launch import formats, names
    from doctor.launch.ask import rdma_nodes
    from doctor.launch.asked import Request
    from doctor.launch.choose import choose
    from doctor.launch.plan import plan
    from doctor.launch.workload import parts

    if from_ and root:
        raise InputError("--from and --root each name a machine: leave one out")
    another = from_ or root
    if prove and (emit or print_ or explain or another):
        raise InputError("--prove starts a container here: leave out --emit, --print, --explain, --from and --root")
    image, stack = _image(image, profile)
    if image.startswith(OWN) and emit and not formats.is_local(emit):
        stack_name = image.removeprefix(OWN)
        raise InputError(
            f"{image} exists on this machine alone: push it with "
            f"`doctor image build {stack_name} --push REGISTRY/NAME:TAG`, then run REGISTRY/NAME:TAG"
        )
    system = _system(from_, root)
    machine = facts(system, probes=registry.probes(PROBES))
    if another:
        there = run_engine.of_another(system, machine, engine, emit)
    else:
        there = run_engine.of_here(system, engine, emit, starts=not (print_ or explain))
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
        mixed=mixed,
        user=user,
        shm_bytes=names.size(shm) if shm else None,
        wishes=tuple(wish or ()),
        rdma_nodes=rdma_nodes(system),
    )
    choice = choose(
        machine,
        gpus,
        vendor,
        elsewhere=emit is not None and not formats.is_local(emit),
        cdi=there.cdi_nodes() if there else None,
    )
    spec = plan(machine, there, choice, request, tuple(parts(stack)) if stack else ())
    if choice.unseen:  # what this machine lacks says nothing of the other
        spec = replace(spec, troubles=tuple(trouble for trouble in spec.troubles if not trouble.fatal))
    _say(spec)
    if there and not emit:
        formats.check_image(there.name, image)
    if there and not emit and not another:
        run_engine.say_what_stays_behind(system, there, spec)
    if emit or print_ or explain or another or there is None:
        if another and (not emit or formats.is_local(emit)):
            run_engine.say_what_is_not_known(there)
        if emit or there is None:
            shown = formats.emit(emit or engine or "docker", spec)
        else:
            shown = run_engine.as_line(there, spec)
        for what in () if explain else shown.left_out:
            if what.startswith("-"):  # an option that was written, and must not be dropped in silence
                tell(f"doctor: note: left out: {what}\n")
        deliver(_explained(shown, stack) if explain else shown.text, output, prose=explain)
        return 0
    if output is not None:
        raise InputError("-o holds what --print, --explain or --emit writes; the command's own output is the command's")
    if prove:
        return run_engine.proven(system, there, spec, force=force)
    if any(trouble.fatal for trouble in spec.troubles) and not force:
        raise InputError("not started; --force starts it anyway")
    run_engine.must_have(system, there, image)
    return run_engine.start(there, spec)


def _image(word: str | None, profile: str | None) -> tuple[str, Profile | None]:
    """An image stays what it is; a profile (a name, or a file ending in .toml) means the image built of it."""
    from doctor.profiles import knows, load

    if profile:
        stack = load(profile)
        return word or _of_profile(stack), stack
    if word is None:
        raise InputError("name an image or a profile, as in `doctor run IMAGE -- COMMAND`")
    if word.endswith(".toml") or knows(word):
        stack = load(word)
        return _of_profile(stack), stack
    return word, None


def _of_profile(profile: Profile) -> str:
    """The image that is built of it, or the one that it names and that is used as it is."""
    return (profile.image and profile.image.ready) or profile.image_name


def _say(spec: Spec) -> None:
    from doctor.parsers.lib.printable import clean

    for trouble in spec.troubles:
        word = "missing" if trouble.fatal else "note"
        tell(f"doctor: {word}: {clean(trouble.text)}. Fix: {clean(trouble.fix)}\n")


def _explained(emitted: Emitted, stack: Profile | None) -> str:
    from doctor.launch.workload import hints
    from doctor.parsers.lib.printable import clean

    rows = [f"{clean(line.text)}\n    {clean(line.reason)}" for line in emitted.lines]
    rows += [f"(left out) {clean(what)}" for what in emitted.left_out]
    rows += [f"(not unless you ask) {clean(what)}" for what in (hints(stack) if stack else ())]
    return "\n".join(rows) + "\n"
