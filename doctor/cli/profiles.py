"""`doctor profiles`: the known-good stacks."""

from __future__ import annotations

from typing import Annotated

import typer


def add(app: typer.Typer) -> None:
    group = typer.Typer(help="Known-good stacks.", no_args_is_help=True, rich_markup_mode=None)
    group.command("list")(list_)
    group.command("validate")(validate)
    app.add_typer(group, name="profiles")


def list_() -> None:
    """List the shipped profiles."""
    from doctor.profiles import load, names

    for name in names():
        profile = load(name)
        typer.echo(f"{name:<24} {profile.status:<14} {profile.about}")


def validate(name: Annotated[list[str], typer.Argument(help="Names of profiles, or paths of .toml files.")]) -> None:
    """Check profiles and list every fault."""
    from doctor.errors import DataFileError, InputError
    from doctor.profiles import load

    def faults_of(each: str) -> int:
        try:
            load(each)
        except DataFileError as error:
            for fault in error.faults:
                typer.echo(f"{error.path}: {fault}", err=True)
            return 1
        typer.echo(f"{each}: valid")
        return 0

    wrong = sum(faults_of(each) for each in name)
    if wrong:
        raise InputError(f"{wrong} of {len(name)} profiles are wrong")
