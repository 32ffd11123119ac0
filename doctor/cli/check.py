"""`doctor check`: judge this machine, a capture of one, or a tree of its files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

MACHINE = ("json", "jsonl", "markdown", "sarif", "junit", "github", "prometheus", "html")
"""Formats for programs, of doctor/report/formats.py."""

if TYPE_CHECKING:
    from doctor.diagnosis.allow import Allowed
    from doctor.diagnosis.run import Options
    from doctor.findings import Report
    from doctor.system.base import System


def add(app: typer.Typer) -> None:
    app.command("check")(check)


def check(
    profile: Annotated[str | None, typer.Option(help="Known-good stack to judge against: a name or a file.")] = None,
    from_: Annotated[Path | None, typer.Option("--from", help="Judge this capture or bundle.")] = None,
    root: Annotated[Path | None, typer.Option(help="Judge the tree under this folder; no command is run.")] = None,
    python: Annotated[str | None, typer.Option(help="The Python whose packages are judged.")] = None,
    pid: Annotated[str | None, typer.Option(help="Judge this running process by what it has.")] = None,
    in_: Annotated[
        str | None, typer.Option("--in", help="Judge this container (docker, podman) or pod (crictl) from its host.")
    ] = None,
    format_: Annotated[str, typer.Option("--format", help=f"text, {', '.join(MACHINE)}.")] = "text",
    fail_on: Annotated[str, typer.Option(help="Exit 1 from this severity up: error, warning or never.")] = "error",
    strict: Annotated[bool, typer.Option("--strict", help="Exit 4 when GPUs could not be judged.")] = False,
    only: Annotated[list[str] | None, typer.Option(help="Only this rule or tag; may be repeated.")] = None,
    skip: Annotated[list[str] | None, typer.Option(help="Not this rule or tag; may be repeated.")] = None,
    allow: Annotated[Path | None, typer.Option(help="Allow-list (TOML); else that of your configuration.")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Words only: no colour, no drawing.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colour.")] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print the fixes as one ordered script; nothing of it is run.")
    ] = False,
    since: Annotated[
        str | None, typer.Option(help="Kernel log from then on (2h, 3d, 2026-11-20), over all boots; else this boot.")
    ] = None,
    verbose: Annotated[int, typer.Option("-v", count=True, help="-v GPU numbers and facts, -vv origins too.")] = 0,
    output: Annotated[Path | None, typer.Option("-o", help="Write to this file, mode 0600.")] = None,
    unredacted: Annotated[bool, typer.Option("--unredacted", help="Keep names and ids; only with -o.")] = False,
) -> int:
    """Judge this machine, and say what is wrong and what mends it."""
    from doctor.cli.output import deliver
    from doctor.diagnosis.run import Options, examine
    from doctor.errors import InputError

    _one_of("--format", format_, ("text", *MACHINE))
    _one_of("--fail-on", fail_on, ("error", "warning", "never"))
    if unredacted and output is None:
        raise InputError("--unredacted needs -o FILE: unredacted reports go to a file of mode 0600 only")
    if plan and format_ != "text":
        raise InputError("--plan prints a script; it goes without --format")
    for option, value in (("--pid", pid), ("--in", in_), ("--profile", profile), ("--python", python)):
        if value is not None and not value.strip():  # an unset variable of a script: this host was not meant
            raise InputError(f"{option} is empty; a value is wanted")
    if sum(map(bool, (from_, root, pid, in_))) > 1:
        raise InputError("--from, --root, --pid and --in exclude each other")
    _known_rules((*(only or ()), *(skip or ())))
    python = _python(python, live=not (from_ or root or pid or in_))
    chosen = None
    if profile:
        from doctor.profiles import load

        chosen = load(profile)
    source = from_ or root
    options = Options(
        profile=chosen,
        only=only or (),
        skip=skip or (),
        allowed=_allowed(allow),
        source=str(source) if source else None,
        python=python,
        since=_since(since),
    )
    system = _system(from_, root)
    if pid or in_:
        options = _of_process(system, options, pid, in_)
    report = examine(system, options)
    if plan:
        from doctor.report.plan import render as as_script

        deliver(as_script(report), output)
        return exit_code(report, fail_on, strict)
    deliver(_rendered(report, format_, plain, no_color or output is not None, verbose, unredacted), output)
    return exit_code(report, fail_on, strict)


def _since(since: str | None) -> str | None:
    """What --since asks for, once it is understood."""
    if since is not None:
        from doctor.probes.kernel_log import seconds

        seconds(since, None)
    return since


def _of_process(system: System, options: Options, pid: str | None, in_: str | None) -> Options:
    """The same with probes that look into that process or container, and into this host for the rest."""
    from dataclasses import replace

    from doctor.diagnosis import containers, inside
    from doctor.errors import InputError
    from doctor.system.process import ProcessSystem

    found = containers.find(system, in_) if in_ else None
    if pid and not (pid.isdecimal() and 0 < int(pid) < 1 << 31):
        raise InputError(f"--pid {pid[:20]!r}: a number is wanted")
    number = found.pid if found else int(pid or 0)
    process = ProcessSystem(number, found.opener if found else None)
    python = options.python or inside.interpreter(process)
    told = found.told if found else None
    if found and told is not None:
        told.put("process.container", f"{found.engine}:{found.name}", f"command:{found.engine} inspect")
    source = f"{found.engine} container {found.name}" if found else f"process {number}"
    return replace(options, probes=inside.probes(process, number, told, python), source=source)


def _one_of(option: str, value: str, known: tuple[str, ...]) -> None:
    from doctor.errors import InputError

    if value not in known:
        raise InputError(f"{option} {value}: one of {', '.join(known)} is wanted")


def _known_rules(words: tuple[str, ...]) -> None:
    """A misspelt --only would check nothing, and pass."""
    from doctor.errors import InputError

    if not words:
        return
    import difflib

    from doctor.diagnosis.registry import checks

    known = {word for c in checks() for word in (c.rule.id, *c.rule.tags)}
    for word in words:
        if word not in known:
            near = difflib.get_close_matches(word, known, 1, 0.4)
            hint = f"did you mean {near[0]}?" if near else "`doctor rules` lists them"
            raise InputError(f"no rule or tag {word!r}; {hint}")


def _python(named: str | None, live: bool) -> str | None:
    """The interpreter or environment that --python names; on this machine a relative path starts here."""
    if named is None or not live:
        return named
    import os
    from shutil import which

    from doctor.errors import InputError

    path = Path(named)
    if "/" not in named and not path.is_dir():
        if which(named) is None:
            raise InputError(f"--python {named}: no such program on PATH; a path is taken too")
        return named  # searched in PATH
    if not path.exists():
        raise InputError(f"--python {named}: no such file or folder")
    if path.is_dir() and not any((path / "bin" / name).exists() for name in ("python3", "python")):
        raise InputError(f"--python {named}: no environment; the folder has no bin/python")
    if not (path.is_dir() or os.access(path, os.X_OK)):
        raise InputError(f"--python {named}: no program; it can't be executed")
    if not path.is_dir() and not any("py" in each.name for each in (path, path.resolve())):
        raise InputError(f"--python {named}: no Python by its name; bin/python3 of the environment is wanted")
    return str(path.absolute())


def _system(from_: Path | None, root: Path | None) -> System:
    from doctor.errors import InputError

    for option, path in (("--from", from_), ("--root", root)):
        if path is not None and not path.exists():
            raise InputError(f"{option} {path}: no such file or folder")
    if from_ is not None and from_.is_file():
        from doctor.bundle.open import open_bundle

        return open_bundle(from_).system()
    if from_ is not None:
        from doctor.system.capture import CaptureSystem

        return CaptureSystem(from_)
    if root is not None:
        from doctor.system.tree import TreeSystem

        return TreeSystem(root)
    from doctor.system.live import LiveSystem

    return LiveSystem()


def _allowed(path: Path | None) -> tuple[Allowed, ...]:
    from doctor.diagnosis import allow

    chosen = path or allow.user_file()
    return allow.load(chosen) if chosen else ()


def _rendered(report: Report, format_: str, plain: bool, no_color: bool, verbose: int, unredacted: bool) -> str:
    if format_ != "text":
        from doctor.diagnosis.registry import checks
        from doctor.report import formats

        rules = tuple(check.rule for check in checks()) if format_ in formats.NEED_RULES else ()
        return formats.render(format_, report, rules, unredacted=unredacted)
    from doctor.report import terminal

    return terminal.render(report, terminal.Look.of_stdout(plain=plain, no_color=no_color), verbose)


def exit_code(report: Report, fail_on: str, strict: bool) -> int:
    """The contract of docs/exit-codes.md."""
    from doctor.errors import ExitCode
    from doctor.findings import Severity

    if fail_on != "never":
        limit = Severity(fail_on).rank
        if any(f.severity.rank <= limit for f in report.counted()):
            return ExitCode.FINDINGS
    if strict and not _judged(report):
        return ExitCode.UNJUDGED
    return ExitCode.OK


def _judged(report: Report) -> bool:
    """GPUs are found, and their driver, their device nodes and torch are known; a machine known to have no GPU has
    nothing to judge unless a profile was asked for."""
    machine = report.snapshot
    if not machine.gpus:
        return machine.gpus is not None and report.profile is None
    vendors = {g.vendor for g in machine.gpus}
    drivers = [machine.nvidia_driver.loaded] * ("nvidia" in vendors) + [machine.amdgpu_driver.loaded] * (
        "amd" in vendors
    )
    torch = machine.torch.installed is not None or machine.torch.version is not None
    return None not in drivers and machine.nodes is not None and torch
