"""`doctor image`: a profile's container image: its files, lock and build, and what is wrong with others'."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from doctor.images.recipe import Recipe

_PROFILE = Annotated[str, typer.Argument(help="Name of a profile, or path of a .toml file.")]
_PROFILES = Annotated[list[str] | None, typer.Argument(help="Names of profiles, or paths of .toml files.")]
_ALL = Annotated[bool, typer.Option("--all", help="All shipped profiles.")]
_OUTPUT = Annotated[Path, typer.Option("-o", "--output", help="Folder that holds a folder for each profile.")]
_FORMAT = Annotated[str, typer.Option("--format", help="text or json.")]
FOLDER = Path("dockerfiles")


def add(app: typer.Typer) -> None:
    group = typer.Typer(help="Container images of profiles.", no_args_is_help=True, rich_markup_mode=None)
    for command in (emit,):
        group.command(command.__name__)(command)
    app.add_typer(group, name="image")


def emit(
    profiles: _PROFILES = None,
    all_: _ALL = False,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail where what is there differs.")] = False,
    healthcheck: Annotated[
        bool | None, typer.Option("--healthcheck/--no-healthcheck", help="`doctor check` as the image's HEALTHCHECK.")
    ] = None,
    output: _OUTPUT = FOLDER,
) -> int:
    """Write Dockerfile, requirements and the rest for each profile; exit 1 where --check finds a difference."""
    from doctor.errors import ExitCode
    from doctor.images.emit import differences, wrote

    wrong = 0
    for recipe in _recipes(profiles, all_, output, healthcheck):
        folder = output / recipe.name
        if not check:
            wrote(recipe, folder)
            state = f"UNLOCKED: {', '.join(recipe.unlocked)}" if recipe.unlocked else "locked"
            sys.stdout.write(f"{folder}: {state}\n")
            continue
        for difference in differences(recipe, folder):
            wrong += 1
            sys.stderr.write(f"doctor: {folder}: {difference}; `doctor image emit {recipe.name}` writes it\n")
    if check and all_ and output.is_dir():
        from doctor.profiles.places import files

        for extra in sorted(p.name for p in output.iterdir() if p.is_dir() and p.name not in files()):
            wrong += 1
            sys.stderr.write(f"doctor: {output / extra}: no profile has this name\n")
    return ExitCode.FINDINGS if wrong else ExitCode.OK


def _recipes(
    names: Sequence[str] | None, all_: bool, output: Path, healthcheck: bool | None = None
) -> Iterator[Recipe]:
    """Each as its folder was emitted last, where nothing else is asked for."""
    from doctor.errors import InputError
    from doctor.images import lockfile
    from doctor.images.emit import options_of
    from doctor.images.recipe import recipe
    from doctor.knowledge import Knowledge
    from doctor.profiles import load
    from doctor.profiles.places import files, is_shipped

    if bool(names) == all_:
        raise InputError("which profiles? Name some, or --all for those that are shipped (`doctor profiles list`)")
    kb = Knowledge()
    for name in names or [n for n, path in files().items() if is_shipped(path)]:
        profile = load(name)
        folder = output / profile.name
        health = options_of(folder).get("healthcheck", False) if healthcheck is None else healthcheck
        yield recipe(profile, lockfile.read(folder), kb, health)


def _recipe(name: str, output: Path) -> Recipe:
    return next(_recipes([name], False, output))
