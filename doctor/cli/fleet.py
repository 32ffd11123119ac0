"""`doctor fleet`: many nodes: gather reports with an engine that is there, and judge them as one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from doctor.fleet.tally import Tally
    from doctor.fleet.verdict import Verdict

_FORMATS = ("text", "json", "markdown", "html", "nodes")


def add(app: typer.Typer) -> None:
    group = typer.Typer(help="Many nodes.", no_args_is_help=True, rich_markup_mode=None)
    for command in (report,):
        group.command(command.__name__)(command)
    app.add_typer(group, name="fleet")


def report(
    source: Annotated[str, typer.Argument(metavar="DIR|-", help="Folder with a NODE.json each; - is a stream.")],
    format_: Annotated[str, typer.Option("--format", help=f"{', '.join(_FORMATS)} (those to exclude).")] = "text",
    nodes: Annotated[str | None, typer.Option(help="Who should have answered: n[001-128], or @FILE of names.")] = None,
    gres: Annotated[Path | None, typer.Option(help="Slurm's gres.conf, to compare.")] = None,
    slurm: Annotated[Path | None, typer.Option(help="Output of `scontrol show node -o`, to compare.")] = None,
    kube: Annotated[Path | None, typer.Option(help="Output of `kubectl get nodes -o json`, to compare.")] = None,
    fail_on: Annotated[str, typer.Option(help="Exit 1 from this severity up: error, warning or never.")] = "error",
    output: Annotated[Path | None, typer.Option("-o", help="Write to this file, mode 0600.")] = None,
) -> int:
    """One verdict of any number of `doctor check --format json` reports: who is odd, and what exactly differs."""
    _one_of("--format", format_, _FORMATS)
    _one_of("--fail-on", fail_on, ("error", "warning", "never"))
    from doctor.cli.output import deliver
    from doctor.fleet import views
    from doctor.fleet.verdict import judged

    tally = _tally(source)
    tally.missing(_expected(nodes))
    told = [*views.of_gres(_text(gres)), *views.of_scontrol(_text(slurm)), *views.of_kubernetes(_text(kube))]
    verdict = judged(tally)
    verdict.disagreements += views.disagreements(tally, told)
    deliver(_rendered(verdict, format_), output)
    return _exit_code(verdict, fail_on)


def _one_of(option: str, value: str, known: tuple[str, ...]) -> None:
    from doctor.errors import InputError

    if value not in known:
        raise InputError(f"{option} {value}: one of {', '.join(known)} is wanted")


def _tally(source: str) -> Tally:
    import sys

    from doctor.errors import InputError
    from doctor.fleet.answers import of_folder, of_stream
    from doctor.fleet.tally import Tally

    if source == "-":
        return Tally().add_all(of_stream(sys.stdin.buffer))
    if not Path(source).is_dir():
        raise InputError(f"{source}: no such folder; `-` reads a stream of reports")
    return Tally().add_all(of_folder(Path(source)))


def _text(path: Path | None) -> str:
    """Of a file that was named; "" without one. InputError where it can't be read."""
    from doctor.errors import InputError

    if path is None:
        return ""
    try:
        if path.stat().st_size > 256 << 20:
            raise InputError(f"{path}: larger than 256 MiB")
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _expected(nodes: str | None) -> list[str]:
    """The names that a list or a file of lists stands for."""
    from doctor.fleet.names import expanded

    if nodes is None:
        return []
    return expanded(_text(Path(nodes[1:])) if nodes.startswith("@") else nodes)


def _rendered(verdict: Verdict, format_: str) -> str:
    import json

    from doctor.fleet import text
    from doctor.fleet.names import folded

    if format_ == "html":
        from doctor.fleet.page import render

        return render(verdict)
    if format_ == "json":
        return json.dumps(text.as_data(verdict), indent=2) + "\n"
    if format_ == "nodes":
        return folded(verdict.bad()) + "\n"
    return text.markdown(verdict) if format_ == "markdown" else text.render(verdict)


def _exit_code(verdict: Verdict, fail_on: str) -> int:
    from doctor.errors import ExitCode

    if fail_on == "never":
        return ExitCode.OK
    warned = any(p.severity == "warning" for p in verdict.tally.problems) or verdict.divided()
    if verdict.bad() or verdict.disagreements or (fail_on == "warning" and warned):
        return ExitCode.FINDINGS
    return ExitCode.OK
