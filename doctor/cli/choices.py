"""Options that several commands have. `metavar="text|json"` names all that an option takes: it is what a help text
shows, what completion offers, and what plain_options.py checks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TextOrJson = Annotated[str, typer.Option("--format", metavar="text|json", help="Output format.")]
FailOn = Annotated[str, typer.Option(metavar="error|warning|never", help="Exit 1 from this severity up.")]
Output = Annotated[Path | None, typer.Option("-o", help="Write to this file, mode 0600.")]


def choices(parameter: object) -> tuple[str, ...]:
    """All that an option takes; () where it is not one of a few words."""
    words = (getattr(parameter, "metavar", None) or "").split("|")
    return tuple(words) if len(words) > 1 and getattr(parameter, "param_type_name", "") == "option" else ()
