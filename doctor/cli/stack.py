"""`doctor stack`: every part of the GPU stack that is here, with the verdict on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from doctor.cli.choices import Output, TextOrJson
from doctor.cli.site_options import Domain, Hide, Key, site_of, without_names


def add(app: typer.Typer) -> None:
    app.command("stack")(stack)


def stack(
    python: Annotated[str | None, typer.Option(help="The Python whose packages are read.")] = None,
    from_: Annotated[Path | None, typer.Option("--from", help="Check this capture or bundle.")] = None,
    root: Annotated[Path | None, typer.Option(help="Check the tree under this folder instead of this machine.")] = None,
    format_: TextOrJson = "text",
    output: Output = None,
    hide: Hide = None,
    domain: Domain = None,
    key: Key = None,
) -> int:
    """List the GPU software that is installed, and what does not fit."""
    import json

    from doctor.cli.check import _python, _system
    from doctor.cli.output import deliver
    from doctor.cli.waiting import waiting
    from doctor.engine.run import Options, examine
    from doctor.errors import ExitCode, InputError
    from doctor.report import stack as parts
    from doctor.report.formats.json import private

    if from_ and root:
        raise InputError("--from and --root exclude each other")
    site = site_of(hide, domain, key)
    python = _python(python, live=not (from_ or root))
    with waiting("Reading this machine"):
        report = examine(_system(from_, root), Options(python=python))
    shown = private(report, site)
    text = parts.text(shown) if format_ == "text" else json.dumps(parts.redacted(shown), indent=2) + "\n"
    deliver(without_names(text, site), output, prose=format_ == "text")
    faulty = any(v.severity == "error" for each in parts.found(report) for v in each.verdicts)
    return int(ExitCode.FINDINGS if faulty else ExitCode.OK)
