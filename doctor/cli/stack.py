"""`doctor stack`: every part of the GPU stack that is here, with the verdict on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def add(app: typer.Typer) -> None:
    app.command("stack")(stack)


def stack(
    python: Annotated[str | None, typer.Option(help="The Python whose packages count.")] = None,
    from_: Annotated[Path | None, typer.Option("--from", help="Judge this capture or bundle.")] = None,
    root: Annotated[Path | None, typer.Option(help="Judge the tree under this folder instead of this machine.")] = None,
    format_: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
    output: Annotated[Path | None, typer.Option("-o", help="Write to this file, mode 0600.")] = None,
) -> int:
    """List frameworks, libraries, compilers and profilers that are here, each judged against what is around it."""
    import json

    from doctor.cli.check import _python, _system
    from doctor.cli.output import deliver
    from doctor.diagnosis.run import Options, examine
    from doctor.errors import ExitCode, InputError
    from doctor.report import stack as parts

    if format_ not in ("text", "json"):
        raise InputError(f"--format {format_}: text or json is wanted")
    if from_ and root:
        raise InputError("--from and --root exclude each other")
    python = _python(python, live=not (from_ or root))
    report = examine(_system(from_, root), Options(python=python))
    told = parts.text(report) if format_ == "text" else json.dumps(parts.redacted(report), indent=2) + "\n"
    deliver(told, output)
    faulty = any(v.severity == "error" for each in parts.found(report) for v in each.verdicts)
    return int(ExitCode.FINDINGS if faulty else ExitCode.OK)
