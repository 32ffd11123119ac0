"""`doctor fleet diff BEFORE AFTER`: what changed in a fleet between two times."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from doctor.cli.choices import Output, TextOrJson
from doctor.cli.site_options import Domain, Hide, Key, site_of, without_names

if TYPE_CHECKING:
    from doctor.fleet.changes import Side

_WHAT = "Folder of reports, or a file of `doctor fleet report --format json`."


def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help=_WHAT)],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The same, of a later time.")],
    format_: TextOrJson = "text",
    output: Output = None,
    hide: Hide = None,
    domain: Domain = None,
    key: Key = None,
) -> int:
    """Show what changed between two times.

    Exit 1 when something got worse."""
    import json

    from doctor.cli.output import deliver
    from doctor.errors import ExitCode
    from doctor.fleet.changes import as_data, compared
    from doctor.fleet.changes_text import render

    site = site_of(hide, domain, key)
    found = compared(_side(before), _side(after))
    text = json.dumps(as_data(found), indent=2) + "\n" if format_ == "json" else render(found)
    deliver(without_names(text, site), output, prose=format_ == "text")
    return ExitCode.FINDINGS if found.worse() else ExitCode.OK


def _side(path: Path) -> Side:
    """InputError for what is neither a folder of reports nor a fleet report."""
    from doctor.errors import InputError
    from doctor.fleet.answers import of_folder
    from doctor.fleet.changes import side
    from doctor.fleet.schema import read
    from doctor.fleet.tally import Tally
    from doctor.fleet.text import as_data
    from doctor.fleet.verdict import judged
    from doctor.system.given import read_given_bytes

    if path.is_dir():
        tally = Tally().add_all(of_folder(path))
        if not tally.nodes and not tally.silent:
            raise InputError(f"{path}: no NODE.json, NODE.jsonl or NODE.out is in it")
        return side(as_data(judged(tally)))
    return side(read(read_given_bytes(path, 256 << 20), str(path)))
