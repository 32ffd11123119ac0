"""Options whose value is one of a few words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TextOrJson = Annotated[str, typer.Option("--format", help="text or json.")]
FailOn = Annotated[str, typer.Option(help="Exit 1 from this severity up: error, warning or never.")]
SEVERITIES = ("error", "warning", "never")
Output = Annotated[Path | None, typer.Option("-o", help="Write to this file, mode 0600.")]


def one_of(option: str, value: str, known: tuple[str, ...] = ("text", "json")) -> None:
    """Raises InputError for any other word."""
    from doctor.errors import InputError

    if value not in known:
        raise InputError(f"invalid {option} {value!r} (choose from {', '.join(known)})")
