"""`doctor image`: a profile's container image: its files, lock and build, and what is wrong with others'."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from doctor.cli.image_lint import lint

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
    for command in (emit, lock, fetch, build, verify, lint, context):
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
    from doctor.cli.output import tell
    from doctor.errors import ExitCode
    from doctor.images.emit import differences, wrote

    wrong = 0
    for recipe in _recipes(profiles, all_, output, healthcheck):
        folder = output / recipe.name
        if not check:
            wrote(recipe, folder)
            state = f"UNLOCKED: {', '.join(recipe.unlocked)}" if recipe.unlocked else "locked"
            _told(f"{folder}: {state}\n")
            continue
        for difference in differences(recipe, folder):
            wrong += 1
            tell(f"doctor: {folder}: {difference}; `doctor image emit {recipe.name}` writes it\n")
    if check and all_ and output.is_dir():
        from doctor.profiles.places import files

        for extra in sorted(p.name for p in output.iterdir() if p.is_dir() and p.name not in files()):
            wrong += 1
            tell(f"doctor: {output / extra}: no profile has this name\n")
    return ExitCode.FINDINGS if wrong else ExitCode.OK


def _told(text: str) -> None:
    from doctor.cli.output import deliver

    deliver(text, None)


def _text_or_json(format_: str) -> None:
    from doctor.errors import InputError

    if format_ not in ("text", "json"):
        raise InputError(f"--format {format_}: text or json is wanted")


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


def lock(
    profiles: _PROFILES = None,
    all_: _ALL = False,
    update: Annotated[bool, typer.Option("--update", help="Ask anew for all; without --write, only show it.")] = False,
    write: Annotated[bool, typer.Option("--write", help="With --update: write what moved.")] = False,
    base: Annotated[str | None, typer.Option(help="Where the base is pulled from instead: a mirror.")] = None,
    wheels: Annotated[Path | None, typer.Option(help="Folder with wheels beside those of the index.")] = None,
    apt_sources: Annotated[Path | None, typer.Option(help="apt's sources.list instead of the base's own.")] = None,
    ca: Annotated[Path | None, typer.Option(help="Certificates to trust while apt is asked.")] = None,
    platform: Annotated[str, typer.Option(help="linux/amd64 or linux/arm64.")] = "linux/amd64",
    output: _OUTPUT = FOLDER,
) -> int:
    """Find the bytes that a profile stands for, keep them in lock.json, emit anew; exit 1 if a part is missing."""
    import datetime
    from dataclasses import replace

    from doctor.errors import ExitCode, InputError
    from doctor.images import lockfile
    from doctor.images.emit import wrote
    from doctor.images.lock import Options, changes
    from doctor.images.lock import lock as make

    if platform not in ("linux/amd64", "linux/arm64"):
        raise InputError(f"--platform {platform}: linux/amd64 or linux/arm64 is wanted")
    options = Options(platform, update, base, apt_sources, ca, wheels)
    now, missing = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0), 0
    for recipe in _recipes(profiles, all_, output):
        name = recipe.name
        _note(f"{name}: locking")
        made, failed = make(recipe, options, now, _note)
        for line in changes(recipe.lock, made):
            _told(f"{name}: {line}\n")
        for line in failed:
            _note(f"{name}: not locked: {line}")
        missing += len(failed)
        if update and not write:
            continue
        folder = output / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / lockfile.NAME).write_text(made.text(), encoding="utf-8")
        wrote(replace(recipe, lock=made), folder)
    return ExitCode.FINDINGS if missing else ExitCode.OK


def _note(text: str) -> None:
    from doctor.cli.output import tell
    from doctor.readers.printable import clean

    tell(f"doctor: {clean(text)}\n")


def fetch(
    profile: _PROFILE,
    folder: Annotated[Path, typer.Argument(help="Folder for the files.")],
    base: Annotated[str | None, typer.Option(help="Where the base is pulled from instead: a mirror.")] = None,
    apt_sources: Annotated[Path | None, typer.Option(help="apt's sources.list instead of the base's own.")] = None,
    ca: Annotated[Path | None, typer.Option(help="Certificates to trust while apt is asked.")] = None,
    output: _OUTPUT = FOLDER,
) -> int:
    """Fetch all files of a profile's lock, for `build --offline --wheels FOLDER`; exit 1 if one is missing."""
    from doctor.errors import ExitCode
    from doctor.images.fetch import fetch as bring

    missing = bring(_recipe(profile, output), folder, base, apt_sources, ca, _note)
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
    unlocked: Annotated[bool, typer.Option("--unlocked", help="Build though the lock is not complete.")] = False,
    secret: _SECRET = None,
    wheels: Annotated[Path | None, typer.Option(help="Folder with wheels, taken instead of an index's.")] = None,
    base: Annotated[str | None, typer.Option(help="Where the base is pulled from instead: a mirror.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="No network in any step; needs --wheels.")] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Run every step anew.")] = False,
    no_load: Annotated[bool, typer.Option("--no-load", help="Leave an OCI archive beside the record.")] = False,
    compression: Annotated[str, typer.Option(help="Of the layers: gzip, or zstd, which is much quicker.")] = "gzip",
    engine: Annotated[str, typer.Option(help="docker (BuildKit) or podman (buildah).")] = "docker",
    records: Annotated[Path, typer.Option(help="Folder for record and bill of materials.")] = Path("images"),
    output: _OUTPUT = FOLDER,
) -> int:
    """Build the image, write its record and bill of materials; exit 1 where --verify finds a difference."""
    from doctor.cli.image_output import Told
    from doctor.errors import ExitCode
    from doctor.images.build import Options
    from doctor.images.build import build as make

    options = Options(
        _pairs(secret), wheels, base, offline, not no_cache, unlocked, verify, not no_load, compression, engine
    )
    told = Told(sys.stderr is not None and sys.stderr.isatty())
    built = make(_recipe(profile, output), records, options, told)
    told.end()
    size = f"{built.found.bytes / 1e6:.0f} MB, {built.image.size / 1e6:.0f} MB compressed"
    _told(f"{built.tag} {built.image.digest}\n  {size}\n  {built.record}\n  {built.bom}\n")
    if built.verified:
        _told("  built twice without cache: the same digest\n")
    for difference in built.differences:
        _told(f"  differs: {difference}\n")
    return ExitCode.FINDINGS if built.verified is False else ExitCode.OK


def _pairs(words: Sequence[str] | None) -> dict[str, Path]:
    from doctor.errors import InputError

    found = {}
    for word in words or ():
        name, sign, path = word.partition("=")
        if not sign or not path:
            raise InputError(f"--secret {word[:60]}: NAME=FILE is wanted")
        found[name] = Path(path)
    return found


def context(
    folder: Annotated[Path, typer.Argument(help="An empty folder, or one that is not there yet.")],
) -> None:
    """Write the doctor as a build context, for `docker buildx bake`."""
    from doctor.images.inside import write

    _told(f"sha256:{write(folder, 0)}\n")


def verify(
    image: Annotated[str, typer.Argument(help="An image that the engine has, or a profile's name.")],
    budget: Annotated[str | None, typer.Option(help="Size at most, uncompressed, such as 8G.")] = None,
    engine: Annotated[str, typer.Option(help="docker or podman.")] = "docker",
    format_: _FORMAT = "text",
) -> int:
    """Look an image through and run it: user, secrets, drivers, size, smoke test, the doctor inside, torch held."""
    import json
    import tempfile
    from dataclasses import asdict

    from doctor.errors import ExitCode, InputError
    from doctor.images.verify import verify as look
    from doctor.profiles import names
    from doctor.readers.printable import clean

    reference = f"doctor/{image}" if image in names() else image
    if engine not in ("docker", "podman"):
        raise InputError(f"--engine {engine}: docker or podman is wanted")
    _text_or_json(format_)
    with tempfile.TemporaryDirectory() as work:
        checks = look(reference, Path(work), _bytes(budget) if budget else None, name=engine)
    failed = any(c.outcome == "failed" for c in checks)
    if format_ == "json":
        table = {"schema": "doctor.image-verify/1", "image": reference, "checks": [asdict(c) for c in checks]}
        _told(json.dumps(table, indent=2) + "\n")
    else:
        _told("".join(f"{c.outcome:>11}  {c.name}: {clean(c.text)}\n" for c in checks))
    return ExitCode.FINDINGS if failed else ExitCode.OK


def _bytes(text: str) -> int:
    """`8G` is 8e9 bytes, as images are measured."""
    from doctor.errors import InputError

    number, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "")
    factor = {"": 1, "M": 10**6, "G": 10**9}.get(unit)
    if factor is None or not number.replace(".", "", 1).isdecimal():
        raise InputError(f"--budget {text[:40]!r}: a size such as 8G or 900M is wanted")
    return int(float(number) * factor)
