"""`doctor version`."""

from __future__ import annotations

import typer


def add(app: typer.Typer) -> None:
    app.command("version")(version)


def version() -> None:
    """Print the version."""
    from doctor import __version__
    from doctor.cli.output import deliver

    deliver(f"{__version__}\n", None)
