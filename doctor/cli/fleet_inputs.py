"""What the commands of `doctor fleet` read beside the machine: reports, lists of names, what nodes should be like."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from doctor.fleet.expected import Expected
    from doctor.fleet.tally import Tally

Golden = Annotated[list[Path] | None, typer.Option(help="Report of a known-good node, one for each kind; repeatable.")]
Profile = Annotated[str | None, typer.Option(help="Known-good stack to compare with: a name or a file.")]


def tally_of(source: str, expected: Expected | None) -> Tally:
    from doctor.errors import InputError
    from doctor.fleet.answers import of_folder, of_stream
    from doctor.fleet.tally import Tally

    if source == "-":
        from doctor.cli.output import stdin

        return Tally(expected=expected).add_all(of_stream(stdin().buffer))
    if not Path(source).is_dir():
        raise InputError(f"{source}: no such folder; `-` reads a stream of reports")
    return Tally(expected=expected).add_all(of_folder(Path(source)))


def text_of(path: Path | None) -> str:
    """Of a file that was named; "" without one. InputError where it can't be read."""
    from doctor.errors import InputError
    from doctor.system.given import open_given

    if path is None:
        return ""
    try:
        with open_given(path) as held:
            content = held.read((256 << 20) + 1)
        if len(content) > 256 << 20:
            raise InputError(f"{path}: larger than 256 MiB")
        return content.decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def names_of(nodes: str | None) -> list[str]:
    """The names that a list or a file of lists means."""
    from doctor.fleet.names import expanded

    if nodes is None:
        return []
    return expanded(text_of(Path(nodes[1:])) if nodes.startswith("@") else nodes)


def expected_state(golden: list[Path] | None, profile: str | None) -> tuple[list[dict[str, Any]], Expected | None]:
    """What --golden and --profile name. InputError for what is none."""
    from doctor.errors import InputError

    if profile is None:
        return _golden(golden), None
    if not profile.strip():  # an unset variable of a script
        raise InputError("--profile is empty; expected a value")
    from doctor.fleet.expected import Expected
    from doctor.profiles import load

    return _golden(golden), Expected(load(profile))


def _golden(paths: list[Path] | None) -> list[dict[str, Any]]:
    """Reports of nodes that are as they should be. InputError for what is no report."""
    from doctor.bundle.open import parsed
    from doctor.errors import InputError
    from doctor.fleet.answers import SCHEMAS
    from doctor.fleet.configuration import all_facts, identity
    from doctor.system.given import read_given_bytes

    made: dict[tuple[str, ...], dict[str, Any]] = {}
    for path in paths or ():
        data = parsed(str(path), "report", read_given_bytes(path, 64 << 20))
        try:
            kind = identity(data["snapshot"]) if data.get("schema") in SCHEMAS and all_facts(data) else None
        except (AttributeError, KeyError, TypeError, ValueError):
            kind = None
        if kind is None:
            raise InputError(f"--golden {path}: not a report of `doctor check --format json`")
        if kind in made:
            raise InputError(f"--golden {path}: another golden report has the same GPUs; name one for each kind")
        made[kind] = data
    return list(made.values())
