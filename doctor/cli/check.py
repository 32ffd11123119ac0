"""`doctor check`: check this machine, a capture of one, or a tree of its files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from doctor.cli.choices import FailOn, Output
from doctor.cli.site_options import Domain, Hide, Key, site_of, without_names
from doctor.report import formats

if TYPE_CHECKING:
    from doctor.engine.allow import Allowed
    from doctor.findings import Report
    from doctor.system.base import System


Format = Annotated[str, typer.Option("--format", metavar="|".join(("text", *formats.names())), help="Output format.")]


def add(app: typer.Typer) -> None:
    app.command("check")(check)


def check(
    profile: Annotated[str | None, typer.Option(help="Known-good stack to compare with: a name or a file.")] = None,
    from_: Annotated[Path | None, typer.Option("--from", help="Check this capture or bundle.")] = None,
    root: Annotated[Path | None, typer.Option(help="Check the tree under this folder; run no command.")] = None,
    python: Annotated[str | None, typer.Option(help="Check the packages of this Python; it is not run.")] = None,
    pid: Annotated[
        str | None, typer.Option(help="Check a running process (environment, libraries, devices, limits).")
    ] = None,
    in_: Annotated[
        str | None,
        typer.Option(
            "--in", metavar="NAME", help="Check this container (docker, podman) or pod (crictl) from its host."
        ),
    ] = None,
    format_: Format = "text",
    fail_on: FailOn = "error",
    strict: Annotated[bool, typer.Option("--strict", help="Exit 4 when a layer that matters was not checked.")] = False,
    expect_gpus: Annotated[
        int | None, typer.Option(min=0, help="How many GPUs should be usable; 0: none is expected here.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="RULE", help="Run only this rule or tag.")] = None,
    skip: Annotated[list[str] | None, typer.Option(metavar="RULE", help="Skip this rule or tag.")] = None,
    allow: Annotated[
        Path | None, typer.Option(help="Allow-list (TOML); default: the one in your configuration.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print the fixes as one script; run nothing.")] = False,
    choose: Annotated[
        list[str] | None,
        typer.Option(metavar="RULE=B", help="With --plan: take alternative B of this rule or fingerprint; repeatable."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Read the kernel log since then (2h, 3d, 2026-11-20); default: this boot."),
    ] = None,
    verbose: Annotated[
        int, typer.Option("-v", count=True, show_default=False, help="Show GPUs and facts; -vv: where each was read.")
    ] = 0,
    output: Output = None,
    unredacted: Annotated[bool, typer.Option("--unredacted", help="Keep names and ids; only with -o.")] = False,
    hide: Hide = None,
    domain: Domain = None,
    key: Key = None,
) -> int:
    """Check this machine's GPU setup and show how to fix problems."""
    from doctor.cli.output import deliver
    from doctor.cli.waiting import waiting
    from doctor.engine.run import Options, examine
    from doctor.errors import InputError

    if unredacted and output is None:
        raise InputError("--unredacted needs -o FILE: unredacted reports go to a file of mode 0600 only")
    site = site_of(hide, domain, key)
    if site and unredacted:
        raise InputError("--unredacted and --hide, --domain, --key exclude each other")
    if plan and format_ != "text":
        raise InputError("--plan prints a script and takes no --format")
    if choose and not plan:
        raise InputError("--choose needs --plan")
    for option, value in (("--pid", pid), ("--in", in_), ("--profile", profile), ("--python", python)):
        if value is not None and not value.strip():  # an unset variable of a script: this host was not meant
            raise InputError(f"{option} is empty; expected a value")
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
        expect_gpus=expect_gpus,
    )
    system = _system(from_, root)
    if pid or in_:
        from doctor.engine.target import of_process

        options = of_process(system, options, _number(pid), in_)
    elif python and source:
        from doctor.engine.target import has_python

        has_python(system, python, str(source))
    with waiting("Reading this machine" if not source else f"Reading {source}"):
        report = examine(system, options)
    from doctor.engine.verdict import exit_code  # with the models of the facts: the probes were started before

    code = exit_code(report, fail_on, strict=strict)
    if site:
        from doctor.report.formats.json import private

        report = private(report, site)
    if plan:
        from doctor.report.plan import render as as_script

        deliver(without_names(as_script(report, choose or ()), site), output)
        return code
    text = _rendered(report, format_, verbose, unredacted, to_file=output is not None)
    deliver(without_names(text, site), output)
    return code


def _since(since: str | None) -> str | None:
    """What --since asks for, once it is understood."""
    if since is not None:
        from doctor.probes.host.kernel_log import seconds

        seconds(since, None)
    return since


def _known_rules(words: tuple[str, ...]) -> None:
    """A misspelt --only would check nothing, and pass."""
    from doctor.errors import InputError

    if not words:
        return
    import difflib

    from doctor.engine.registry import checks

    known = {word for c in checks() for word in (c.rule.id, *c.rule.tags)}
    for word in words:
        if word not in known:
            near = difflib.get_close_matches(word, known, 1, 0.4)
            hint = f"did you mean {near[0]}?" if near else "`doctor rules` lists them"
            raise InputError(f"no rule or tag {word!r}; {hint}")


def _number(pid: str | None) -> int | None:
    from doctor.errors import InputError

    if pid and not (pid.isdecimal() and 0 < int(pid) < 1 << 31):
        raise InputError(f"--pid {pid[:20]!r}: not a process number")
    return int(pid) if pid else None


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
        raise InputError(f"--python {named}: no Python by its name; expected bin/python3 of the environment")
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
    from doctor.engine import allow

    chosen = path or allow.user_file()
    return allow.load(chosen) if chosen else ()


def _rendered(report: Report, format_: str, verbose: int, unredacted: bool, *, to_file: bool) -> str:
    if format_ != "text":
        from doctor.engine.registry import rules

        return formats.render(format_, report, rules, unredacted=unredacted)
    from doctor.report import terminal

    return terminal.render(report, terminal.Look.of_stdout(colour=not to_file), verbose)
