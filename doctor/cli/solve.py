"""`doctor solve torch vllm …`: the command that installs a stack that fits, or why there is none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doctor.knowledge import Knowledge
    from doctor.resolve import Solution, Target


def add(app: typer.Typer) -> None:
    app.command("solve")(solve)


def solve(
    packages: Annotated[
        list[str] | None, typer.Argument(help="As pip writes them: torch, 'vllm>=0.20', torch==2.14.0+cu130.")
    ] = None,
    gpu: Annotated[str | None, typer.Option(help="gfx942, sm_90, a PCI id or a name; else this machine's.")] = None,
    driver: Annotated[str | None, typer.Option(help="NVIDIA's driver, or the release of the amdgpu driver.")] = None,
    rocm: Annotated[str | None, typer.Option(help="The ROCm that is installed.")] = None,
    python: Annotated[str | None, typer.Option(help="3.12")] = None,
    os: Annotated[str | None, typer.Option("--os", help="ubuntu-24.04")] = None,
    machine: Annotated[str | None, typer.Option(help="x86_64 or aarch64.")] = None,
    glibc: Annotated[str | None, typer.Option(help="2.35")] = None,
    from_: Annotated[Path | None, typer.Option("--from", help="For the machine of this capture or bundle.")] = None,
    tool: Annotated[str, typer.Option(help="pip or uv.")] = "pip",
    dry_run_resolver: Annotated[
        bool, typer.Option("--dry-run-resolver", help="Ask pip's or uv's resolver too; opens connections.")
    ] = False,
    format_: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
    output: Annotated[Path | None, typer.Option("-o", help="Write to this file, mode 0600.")] = None,
) -> int:
    """The exact install command for this machine or a described one; exit 1 where there is none."""
    import json
    from dataclasses import replace

    from doctor.cli.output import deliver
    from doctor.errors import ExitCode, InputError
    from doctor.knowledge import Knowledge
    from doctor.resolve import described
    from doctor.resolve import solve as answer

    if not packages:
        raise InputError("which packages? doctor solve torch vllm")
    for option, value, known in (("--tool", tool, ("pip", "uv")), ("--format", format_, ("text", "json"))):
        if value not in known:
            raise InputError(f"{option} {value}: one of {', '.join(known)} is wanted")
    words = {"--gpu": gpu, "--driver": driver, "--rocm": rocm, "--python": python, "--os": os, "--machine": machine,
             "--glibc": glibc}  # fmt: skip
    for option, word in words.items():
        if word is not None and not word.strip():  # an unset variable of a script: this machine was not meant
            raise InputError(f"{option} is empty; a value is wanted")
    kb = Knowledge()
    if gpu or driver or rocm or os or machine or glibc:
        if from_:
            raise InputError("--from and a described machine exclude each other")
        target = described(kb, gpu, driver, rocm, python, os, machine, glibc)
        if gpu is None:
            _note(kb, target)
    else:
        target = _probed(kb, from_, python)
    found = answer(kb, target, packages, tool)  # type: ignore[arg-type]
    if dry_run_resolver and found.commands:
        from doctor.resolve.dry_run import check
        from doctor.system.live import LiveSystem

        found = replace(found, checked=check(LiveSystem(), found, tool))  # type: ignore[arg-type]
    text = json.dumps(as_data(found), indent=2) + "\n" if format_ == "json" else "\n".join(_text(found)) + "\n"
    deliver(text, output)
    wrong = found.status != "solved" or (found.checked or "").startswith("does not resolve")
    return ExitCode.FINDINGS if wrong else ExitCode.OK


def _note(kb: Knowledge, target: Target) -> None:
    """On stderr: what was described has no GPU, or one of another vendor than this machine."""
    from doctor.cli.output import tell
    from doctor.diagnosis import registry
    from doctor.diagnosis.gather import gather
    from doctor.diagnosis.identify import identify
    from doctor.resolve.target import other_here
    from doctor.system.live import LiveSystem

    if target.vendor is None:
        tell("doctor: note: no GPU is named, so this is for the CPU alone; --gpu names one\n")
        return
    machine = identify(gather(LiveSystem(), registry.probes(("pci",)), 5.0).machine, kb)
    if said := other_here(target, machine):
        tell(f"doctor: note: {said}\n")


def _probed(kb: Knowledge, from_: Path | None, python: str | None) -> Target:
    """This machine's GPU, driver, Python and system, or a capture's."""
    import os
    from dataclasses import replace

    from doctor.bundle.open import open_bundle
    from doctor.diagnosis import registry
    from doctor.diagnosis.gather import gather
    from doctor.diagnosis.identify import identify
    from doctor.errors import InputError
    from doctor.resolve import from_snapshot
    from doctor.resolve.target import python_series
    from doctor.system.base import System
    from doctor.system.capture import CaptureSystem
    from doctor.system.live import LiveSystem

    if from_ is not None and not from_.exists():
        raise InputError(f"--from {from_}: no such file or folder")
    system: System = LiveSystem()
    if from_ is not None:
        system = open_bundle(from_).system() if from_.is_file() else CaptureSystem(from_)
    machine = identify(gather(system, registry.probes(), 15.0).machine, kb)
    target = from_snapshot(kb, machine, os.uname().machine if from_ is None else "x86_64")
    if not target.arch:
        raise InputError("no GPU that computes was found here; describe one: --gpu gfx942, --gpu sm_90 or a name")
    return replace(target, python=python_series(python), interpreter=None) if python else target


def as_data(found: Solution) -> dict[str, Any]:
    """`doctor.solution/1`."""
    from dataclasses import asdict

    from doctor.resolve import explain

    def plain(one: Solution) -> dict[str, Any]:
        data = asdict(one)
        data["stack"], data["summary"] = one.stack, explain(one)
        data["nearest"] = plain(one.nearest) if one.nearest else None
        return data

    return {"schema": "doctor.solution/1", **plain(found)}


def _text(found: Solution) -> Iterator[str]:
    from doctor.resolve import explain

    yield explain(found)
    for need in found.needs:
        yield f"  needs {need}"
    yield from _commands(found)
    if found.checked:
        yield f"  resolver: {found.checked}"
    if found.status != "solved":
        yield from (f"  {r.verdict}: {r.text}{_source(r.source, r.as_of)}" for r in found.reasons if r.verdict != "yes")
        yield from (f"  would do: {c.text} -> {c.stack}" for c in found.changes)
        if found.nearest:
            yield f"nearest that works ({found.differs}): {found.nearest.stack}"
            yield from _commands(found.nearest)
    for pick in found.picks:
        if pick.note and found.status == "solved":
            yield f"  note: {pick.package}: {pick.note}"
    if found.knowledge.get("file"):
        yield f"  knowledge: release {found.knowledge['release']} of {found.knowledge['file']}"


def _commands(found: Solution) -> Iterator[str]:
    import shlex

    yield from (f"  $ {shlex.join(command)}" for command in found.commands)


def _source(source: str, as_of: str) -> str:
    return f" [{source[:120]}{f', {as_of}' if as_of else ''}]" if source else ""
