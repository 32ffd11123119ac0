"""`doctor image lint`: what is wrong with other people's Dockerfiles, compose files and manifests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from doctor.images.lint import Fault


def lint(
    paths: Annotated[list[Path], typer.Argument(help="Dockerfiles, Containerfiles and compose files.")],
    format_: Annotated[str, typer.Option("--format", metavar="text|json|sarif", help="Output format.")] = "text",
) -> int:
    """Lint Dockerfiles, compose files and manifests for GPUs. `# doctor: ignore RULE reason` above it allows one.

    Exit 1 when there is an error."""
    import json
    from dataclasses import asdict

    from doctor.cli.output import deliver, print_prose
    from doctor.errors import ExitCode
    from doctor.images.lint import RULES
    from doctor.parsers.lib.printable import clean
    from doctor.report.in_files import Row, sarif

    read = [(path, _faults(path)) for path in paths]
    rows = [(path, fault) for path, faults in read for fault in faults or ()]
    if format_ == "json":
        listed = [{"file": str(path), **asdict(fault)} for path, fault in rows]
        deliver(json.dumps({"schema": "doctor.image-lint/1", "faults": listed}, indent=2) + "\n", None)
    elif format_ == "sarif":
        found = [
            Row(f.rule, f.level, f"{f.text}. Fix: {f.fix}", str(path), f.line, allowed=f.ignored) for path, f in rows
        ]
        deliver(sarif("doctor image lint", found, RULES), None)
    else:
        shown = [(path, f) for path, f in rows if not f.ignored]
        lines = [f"{path}:{f.line}: {f.level} {f.rule}: {f.text}. Fix: {f.fix}" for path, f in shown if not _tag(f)]
        tags = [f for _, f in shown if _tag(f)]
        if tags:
            many = f"{len(tags)} files name" if tags[1:] else "1 file names"
            lines.append(f"{many} base images by tag, and a tag moves (info, image-base-moves). Fix: {tags[0].fix}")
        if len(shown) < len(rows):
            lines.append(f"{len(rows) - len(shown)} ignored by comments")
        print_prose("".join(f"{clean(line)}\n" for line in lines))
    if any(faults is None for _, faults in read):
        return ExitCode.USAGE
    return ExitCode.FINDINGS if any(f.level == "error" and not f.ignored for _, f in rows) else ExitCode.OK


def _tag(fault: Fault) -> bool:
    """A base with a version, and without a digest: true of nearly every file, so that the text says it once."""
    return fault.rule == "image-base-moves" and fault.level == "info"


def _faults(path: Path) -> list[Fault] | None:
    """None where the file can't be read; a line says so, and the others are read all the same."""
    from doctor.cli.output import tell
    from doctor.errors import InputError
    from doctor.images.lint import lint as look
    from doctor.parsers.lib.printable import clean
    from doctor.system.given import read_given

    try:
        return list(look(read_given(path), path.name, lambda name: _beside(path, name)))
    except InputError as error:
        tell(f"doctor: {clean(str(error))}\n")
        return None


def _beside(file: Path, name: str) -> str | None:
    """A file of the build context, which is the Dockerfile's folder or the one above it. None where neither has one, or
    it leads out of there."""
    from doctor.errors import InputError
    from doctor.system.given import read_given

    folder = file.absolute().parent
    try:
        for context in (folder, folder.parent):
            path = (context / name).resolve()
            if path.is_relative_to(folder.parent.resolve()) and path.is_file():
                return read_given(path)
    except (OSError, ValueError, InputError):
        return None
    return None
