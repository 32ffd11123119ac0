"""`doctor version`."""

from __future__ import annotations

import typer


def add(app: typer.Typer) -> None:
    app.command("version")(version)


def version() -> None:
    """Print the version."""
    from doctor import __version__

    typer.echo(__version__)
