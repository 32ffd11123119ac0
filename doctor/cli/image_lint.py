"""`doctor image lint`: what is wrong with other people's Dockerfiles and compose files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from doctor.images.lint import Fault


def lint(
    paths: Annotated[list[Path], typer.Argument(help="Dockerfiles, Containerfiles and compose files.")],
    format_: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
) -> int:
    """What is wrong with Dockerfiles and compose files for AMD's or NVIDIA's GPUs; exit 1 where there is an error."""
    import json
    from dataclasses import asdict

    from doctor.cli.output import deliver
    from doctor.errors import ExitCode, InputError
    from doctor.readers.printable import clean

    if format_ not in ("text", "json"):
        raise InputError(f"--format {format_}: text or json is wanted")
    read = [(path, _faults(path)) for path in paths]
    rows = [(path, fault) for path, faults in read for fault in faults or ()]
    if format_ == "json":
        told = [{"file": str(path), **asdict(fault)} for path, fault in rows]
        deliver(json.dumps({"schema": "doctor.image-lint/1", "faults": told}, indent=2) + "\n", None)
    else:
        lines = (f"{path}:{f.line}: {f.level} {f.rule}: {f.text}. To mend: {f.fix}" for path, f in rows)
        deliver("".join(f"{clean(line)}\n" for line in lines), None)
    if any(faults is None for _, faults in read):
        return ExitCode.USAGE
    return ExitCode.FINDINGS if any(fault.level == "error" for _, fault in rows) else ExitCode.OK


def _faults(path: Path) -> list[Fault] | None:
    """None where the file can't be read, which is said; the others are done all the same."""
    from doctor.cli.output import tell
    from doctor.errors import InputError
    from doctor.images.lint import lint as look
    from doctor.readers.printable import clean
    from doctor.system.given import read_given

    try:
        return list(look(read_given(path), path.name))
    except InputError as error:
        tell(f"doctor: {clean(str(error))}\n")
        return None
