"""`doctor image`: a profile's container image: its files, lock and build, and what is wrong with others'."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from doctor.cli.choices import TextOrJson
from doctor.cli.image_lint import lint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from doctor.images.recipe import Recipe

_PROFILE = Annotated[str, typer.Argument(help="Name of a profile, or path of a .toml file.")]
_PROFILES = Annotated[list[str] | None, typer.Argument(help="Names of profiles, or paths of .toml files.")]
_ALL = Annotated[bool, typer.Option("--all", help="All shipped profiles.")]
_OUTPUT = Annotated[Path, typer.Option("-o", "--output", help="Parent of the folders, one for each profile.")]
_ENGINE = Annotated[
    str | None, typer.Option("--engine", metavar="docker|podman", help="Engine (default: whichever is installed).")
]
_BASE = Annotated[str | None, typer.Option("--base", help="Pull the base image from this mirror.")]
_SOURCES = Annotated[Path | None, typer.Option(help="Use this sources.list instead of the base image's.")]
FOLDER = Path("dockerfiles")


def add(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Write Dockerfiles; lock, build, verify and lint images.", no_args_is_help=True, rich_markup_mode=None
    )
    for command in (emit, lock, fetch, build, verify, scan, lint):
        group.command(command.__name__)(command)
    app.add_typer(group, name="image")


def emit(
    profiles: _PROFILES = None,
    all_: _ALL = False,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail where a folder is out of date.")] = False,
    doctor: Annotated[
        bool | None, typer.Option("--doctor/--no-doctor", help="Install doctor in the image, from a wheel.")
    ] = None,
    output: _OUTPUT = FOLDER,
) -> int:
    """Write a Dockerfile with its files, a folder for each profile.

    Exit 1 where --check finds a difference, with --all in any folder that is there."""
    from doctor.cli.output import tell
    from doctor.errors import ExitCode, InputError
    from doctor.images.emit import differences, wrote

    wrong = 0
    if check and all_ and output.is_dir():
        from doctor.profiles import knows

        folders = sorted(path.name for path in output.iterdir() if path.is_dir())
        for extra in (name for name in folders if not knows(name)):
            wrong += 1
            tell(f"doctor: {output / extra}: no profile has this name\n")
        profiles, all_ = [name for name in folders if knows(name)], False
        if not profiles:
            raise InputError(f"--all --check: {output} holds no folder of a profile")
    for recipe in _recipes(profiles, all_, output, doctor):
        folder = output / recipe.profile.plain_name
        if not check:
            wrote(recipe, folder)
            state = f"UNLOCKED: {', '.join(recipe.unlocked)}" if recipe.unlocked else "locked"
            _print(f"{folder}: {state}\n")
            continue
        for difference in differences(recipe, folder):
            wrong += 1
            tell(f"doctor: {folder}: {difference}; `doctor image emit {recipe.name}` writes it\n")
    return ExitCode.FINDINGS if wrong else ExitCode.OK


def _print(text: str) -> None:
    from doctor.cli.output import deliver

    deliver(text, None)


def _recipes(
    names: Sequence[str] | None,
    all_: bool,
    output: Path,
    doctor: bool | None = None,
) -> Iterator[Recipe]:
    """Each as its folder was emitted last, where nothing else is asked for."""
    from doctor.errors import InputError
    from doctor.images import lockfile
    from doctor.images.emit import has_doctor
    from doctor.images.inside import wheel
    from doctor.images.recipe import recipe, with_lock
    from doctor.knowledge import Knowledge
    from doctor.profiles import load
    from doctor.profiles.compose import is_shipped, named

    if bool(names) == all_:
        raise InputError("name a profile (`doctor profiles list` shows them), or pass --all")
    kb = Knowledge()
    for name in names or [n for n, what in named().items() if is_shipped(what)]:
        profile = load(name)
        image = profile.image
        if not names and not (image and image.base):
            continue  # for `doctor check` alone, or an image that is used as it is
        folder = output / profile.plain_name
        inner = has_doctor(folder) if doctor is None else doctor
        yield with_lock(recipe(profile, lockfile.read(folder), kb, wheel() if inner else None))


def _recipe(name: str, output: Path) -> Recipe:
    return next(_recipes([name], False, output))


def lock(
    profiles: _PROFILES = None,
    all_: _ALL = False,
    update: Annotated[
        bool, typer.Option("--update", help="Look everything up again; without --write only show what moved.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="With --update: write what moved.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Look everything up again, write nothing; fail where something moved.")
    ] = False,
    base: _BASE = None,
    wheels: Annotated[Path | None, typer.Option(help="Folder with wheels to use besides the index.")] = None,
    apt_sources: _SOURCES = None,
    ca: Annotated[Path | None, typer.Option(help="Certificates to trust for registry and apt.")] = None,
    platform: Annotated[
        str | None, typer.Option(metavar="linux/amd64|linux/arm64", help="Platform (default: the board's).")
    ] = None,
    engine: _ENGINE = None,
    output: _OUTPUT = FOLDER,
) -> int:
    """Lock a profile's base image, packages and wheels in lock.json. Many stacks have a lock that ships with doctor.

    Exit 1 when a part is missing, or --check finds that something moved."""
    import datetime
    from dataclasses import replace

    from doctor.errors import ExitCode, InputError
    from doctor.images.emit import wrote
    from doctor.images.engine import chosen
    from doctor.images.lock import Options, changes
    from doctor.images.lock import lock as make

    if check and (update or write):
        raise InputError("--check writes nothing: leave out --update and --write")
    rest = (update or check, base, apt_sources, ca, wheels, chosen(engine) if engine else None)
    now, missing, asked = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0), 0, set()
    for recipe in _recipes(profiles, all_, output):
        name = recipe.name
        if check and recipe.question in asked:
            continue  # another board of the same stack
        asked.add(recipe.question)
        _note(f"{name}: locking")
        made, failed = make(recipe, Options(platform or recipe.platform, *rest), now, _note)
        moved = changes(recipe.lock, made)
        for line in moved:
            _print(f"{name}: {line}\n")
        for line in failed:
            _note(f"{name}: {'left as it was' if update or check else 'not locked'}: {line}")
        missing += len(failed) + (len(moved) if check else 0)
        if check or (update and not write):
            continue
        wrote(replace(recipe, lock=made), output / recipe.profile.plain_name, lock=True)
    return ExitCode.FINDINGS if missing else ExitCode.OK


def _note(text: str) -> None:
    from doctor.cli.output import tell
    from doctor.parsers.lib.printable import clean

    tell(f"doctor: {clean(text)}\n")


def fetch(
    profile: _PROFILE,
    folder: Annotated[Path, typer.Argument(help="Folder for the files.")],
    base: _BASE = None,
    apt_sources: _SOURCES = None,
    ca: Annotated[Path | None, typer.Option(help="Certificates to trust for apt.")] = None,
    engine: _ENGINE = None,
    output: _OUTPUT = FOLDER,
) -> int:
    """Fetch all files of a profile's lock, for `build --offline`.

    Exit 1 when one is missing."""
    from doctor.errors import ExitCode
    from doctor.images.engine import chosen
    from doctor.images.fetch import fetch as bring

    missing = bring(_recipe(profile, output), folder, base, apt_sources, ca, _note, chosen(engine))
    for line in missing:
        _note(line)
    return ExitCode.FINDINGS if missing else ExitCode.OK


_SECRET = Annotated[
    list[str] | None,
    typer.Option("--secret", help="ca=FILE, pip_conf=FILE, netrc=FILE, apt_conf=FILE, apt_sources=FILE."),
]


def build(
    profile: _PROFILE,
    verify: Annotated[bool, typer.Option("--verify", help="Build twice without cache; compare digests.")] = False,
    unlocked: Annotated[bool, typer.Option("--unlocked", help="Build even if the lock is incomplete.")] = False,
    secret: _SECRET = None,
    wheels: Annotated[Path | None, typer.Option(help="Folder with wheels to use instead of an index.")] = None,
    base: _BASE = None,
    offline: Annotated[bool, typer.Option("--offline", help="No network in any step; needs --wheels.")] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Run every step again.")] = False,
    no_load: Annotated[bool, typer.Option("--no-load", help="Leave an OCI archive beside the record.")] = False,
    compression: Annotated[
        str, typer.Option(metavar="gzip|zstd", help="Compression of the layers; zstd is much faster.")
    ] = "gzip",
    engine: _ENGINE = None,
    push: Annotated[str | None, typer.Option(help="Push the image under this name too.")] = None,
    records: Annotated[Path, typer.Option(help="Folder for record and bill of materials.")] = Path("images"),
    output: _OUTPUT = FOLDER,
) -> int:
    """Build a profile's image, with a record and bill of materials.

    Exit 1 when --verify finds a difference."""
    from doctor.cli.image_output import ProgressOutput
    from doctor.errors import ExitCode
    from doctor.images.build import Options
    from doctor.images.build import build as make
    from doctor.images.engine import chosen

    options = Options(
        secrets=_pairs(secret),
        wheels=wheels,
        base=base,
        offline=offline,
        cache=not no_cache,
        unlocked=unlocked,
        verify=verify,
        load=not no_load,
        compression=compression,
        engine=chosen(engine),
        push=push,
    )
    progress = ProgressOutput(sys.stderr is not None and sys.stderr.isatty())
    built = make(_recipe(profile, output), records, options, progress, _note)
    progress.end()
    size = f"{built.found.bytes / 1e6:.0f} MB, {built.image.size / 1e6:.0f} MB compressed"
    _print(f"{built.tag} {built.image.digest}\n  {size}\n  {built.record}\n  {built.bom}\n")
    if built.verified:
        _print("  built twice without cache: the same digest\n")
    for difference in built.differences:
        _print(f"  differs: {difference}\n")
    return ExitCode.FINDINGS if built.verified is False else ExitCode.OK


def _pairs(words: Sequence[str] | None) -> dict[str, Path]:
    from doctor.errors import InputError

    found = {}
    for word in words or ():
        name, sign, path = word.partition("=")
        if not sign or not path:
            raise InputError(f"--secret {word[:60]}: expected NAME=FILE")
        found[name] = Path(path)
    return found


def verify(
    image: Annotated[str, typer.Argument(help="An image that the engine has, or a profile: its name or .toml file.")],
    engine: _ENGINE = None,
    format_: TextOrJson = "text",
) -> int:
    """Inspect an image and run it.

    It checks user, secrets, drivers, size, a smoke test, the doctor inside, and that torch is held."""
    import json
    import tempfile
    from dataclasses import asdict

    from doctor.errors import ExitCode
    from doctor.images.engine import chosen
    from doctor.images.verify import verify as look
    from doctor.parsers.lib.printable import clean
    from doctor.profiles import knows, load
    from doctor.system.engine_api import connected

    reference = image
    if image.endswith(".toml") or knows(image):
        stack = load(image)
        reference = (stack.image and stack.image.ready) or f"{stack.image_name}:latest"
    with tempfile.TemporaryDirectory() as work, connected(chosen(engine)) as api:
        checks = look(api, reference, Path(work))
    failed = any(c.outcome == "failed" for c in checks)
    if format_ == "json":
        table = {"schema": "doctor.image-verify/1", "image": reference, "checks": [asdict(c) for c in checks]}
        _print(json.dumps(table, indent=2) + "\n")
    else:
        _print("".join(f"{c.outcome:>11}  {c.name}: {clean(c.text)}\n" for c in checks))
    return ExitCode.FINDINGS if failed else ExitCode.OK


def scan(
    profile: _PROFILE,
    records: Annotated[Path, typer.Option(help="Folder with the bill of materials.")] = Path("images"),
) -> int:
    """Look up known vulnerabilities of a built image, by grype or trivy.

    The exit code is the scanner's."""
    from doctor.images.sbom import scanned
    from doctor.profiles import load

    return scanned(records / f"{load(profile).name}.cdx.json")
