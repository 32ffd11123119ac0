"""`doctor solve torch vllm …`: the command that installs a stack that fits, or why there is none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from doctor.cli.choices import Output

if TYPE_CHECKING:
    from doctor.facts import Snapshot
    from doctor.knowledge import Knowledge
    from doctor.resolve import Solution, Target
    from doctor.resolve.resolver import Asked


def add(app: typer.Typer) -> None:
    app.command("solve")(solve)


def solve(
    packages: Annotated[
        list[str] | None, typer.Argument(help="As pip writes them: torch, 'vllm>=0.20', torch==2.14.0+cu130.")
    ] = None,
    gpu: Annotated[str | None, typer.Option(help="gfx942, sm_90, a PCI id or a name (default: this one).")] = None,
    driver: Annotated[str | None, typer.Option(help="NVIDIA driver version, or amdgpu driver release.")] = None,
    rocm: Annotated[str | None, typer.Option(help="Installed ROCm version.")] = None,
    python: Annotated[str | None, typer.Option(help="Python version, such as 3.12.")] = None,
    os: Annotated[str | None, typer.Option("--os", help="Operating system, such as ubuntu-24.04.")] = None,
    machine: Annotated[str | None, typer.Option(help="Processor: x86_64 or aarch64.")] = None,
    glibc: Annotated[str | None, typer.Option(help="glibc version, such as 2.35.")] = None,
    from_: Annotated[
        Path | None, typer.Option("--from", help="Solve for the machine of this capture or bundle.")
    ] = None,
    tool: Annotated[str, typer.Option(metavar="pip|uv", help="Tool to install with.")] = "pip",
    offline: Annotated[bool, typer.Option("--offline", help="Open no connection; use recorded resolutions.")] = False,
    format_: Annotated[
        str, typer.Option("--format", metavar="text|json|requirements|uv|dockerfile", help="Output format.")
    ] = "text",
    lock: Annotated[
        Path | None,
        typer.Option(help="Write every package with hashes: requirements, or pylock where it ends in .toml."),
    ] = None,
    output: Output = None,
) -> int:
    """Print the install command that fits this GPU and driver.

    With --gpu and the like: of a machine you describe. Exit 1 when nothing fits."""
    from doctor.cli.output import deliver
    from doctor.cli.waiting import waiting
    from doctor.errors import ExitCode, InputError
    from doctor.knowledge import Knowledge
    from doctor.resolve import described, settle
    from doctor.resolve.formats import FORMATS

    if not packages:
        raise InputError("name a package, as in `doctor solve torch vllm`")
    words = {"--gpu": gpu, "--driver": driver, "--rocm": rocm, "--python": python, "--os": os, "--machine": machine,
             "--glibc": glibc}  # fmt: skip
    for option, word in words.items():
        if word is not None and not word.strip():  # an unset variable of a script: this machine was not meant
            raise InputError(f"{option} is empty; expected a value")
    kb = Knowledge()
    if from_ and (gpu or driver or rocm or os or machine or glibc):
        raise InputError("--from and a described machine exclude each other")
    if gpu or any((driver, rocm, os, machine, glibc)):
        target = described(kb, gpu, driver, rocm, python, os, machine, glibc)
        target = target if gpu else _merged(kb, target, machine)
    else:
        target = _own(kb, from_, python)
    ask = _resolver(offline)
    with waiting("Resolving packages"):
        found = settle(kb, target, packages, tool, ask)  # type: ignore[arg-type]
    if lock:
        _lock(found, ask, lock)
    deliver(FORMATS[format_](found), output, prose=format_ == "text")
    return ExitCode.OK if found.status == "solved" else ExitCode.FINDINGS


def _resolver(offline: bool) -> Asked:
    """uv, asked now; or the reason why it is not."""
    from doctor.resolve.resolver import Uv, absent, find_uv

    if offline:
        return absent("--offline")
    uv = find_uv()
    return Uv(uv) if uv else absent("uv is not installed (pip install uv)")


def _lock(found: Solution, ask: Asked, path: Path) -> None:
    """Every package of the stack with its hashes. Raises InputError where uv can't say them now."""
    from doctor.cli.output import deliver
    from doctor.errors import InputError
    from doctor.resolve.resolver import Uv, locked

    if found.status != "solved":
        raise InputError(f"--lock {path}: there is no stack to lock")
    if not isinstance(ask, Uv):
        raise InputError(f"--lock {path}: it is made by uv, with a connection")
    deliver(locked(ask, found, pylock=path.suffix == ".toml"), path)


def _merged(kb: Knowledge, described: Target, cpu: str | None) -> Target:
    """The description, completed with this machine's GPU and Python. Without a GPU of that vendor here: the description
    alone, with a note on stderr."""
    from dataclasses import replace

    from doctor.cli.output import tell
    from doctor.resolve.target import other_here

    machine, here = _probed(kb, None)
    if here.arch and described.vendor in (None, here.vendor):
        names = ("driver", "rocm", "python", "os", "os_version", "glibc", "libc")
        given = {name: getattr(described, name) for name in names} | {"machine": described.machine if cpu else None}
        merged = replace(here, **{name: value for name, value in given.items() if value})
        return replace(merged, interpreter=None, installed=()) if described.python else merged
    if described.vendor is None:
        tell("doctor: note: no GPU is named, so this is for the CPU alone; --gpu names one\n")
    elif note := other_here(described, machine):
        tell(f"doctor: note: {note}\n")
    return described


def _probed(kb: Knowledge, from_: Path | None) -> tuple[Snapshot, Target]:
    """The facts of this machine or of a capture, and its GPU, driver, Python and system."""
    import os

    from doctor.bundle.open import open_bundle
    from doctor.cli.measured import facts
    from doctor.errors import InputError
    from doctor.resolve import from_snapshot
    from doctor.system.base import System
    from doctor.system.capture import CaptureSystem
    from doctor.system.live import LiveSystem

    if from_ is not None and not from_.exists():
        raise InputError(f"--from {from_}: no such file or folder")
    system: System = LiveSystem()
    if from_ is not None:
        system = open_bundle(from_).system() if from_.is_file() else CaptureSystem(from_)
    machine = facts(system)
    return machine, from_snapshot(kb, machine, os.uname().machine if from_ is None else "x86_64")


def _own(kb: Knowledge, from_: Path | None, python: str | None) -> Target:
    """This machine, or a capture's. Raises InputError without a GPU."""
    from dataclasses import replace

    from doctor.errors import InputError
    from doctor.resolve.target import python_series

    _, target = _probed(kb, from_)
    if not target.arch:
        raise InputError("no usable GPU found here; describe one: --gpu gfx942, --gpu sm_90 or a name")
    return replace(target, python=python_series(python), interpreter=None, installed=()) if python else target
