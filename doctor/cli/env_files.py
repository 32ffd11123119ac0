"""The files that `doctor env` is given, each read and linted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doctor.facts.snapshot import Snapshot
    from doctor.flags.files import Looked

_SIZE_LIMIT = 8 << 20
"""Bytes that are read of a file: more than the reader takes of any, which then says that it was cut."""
_MOST_NAMES = 200
"""Files of a folder of drop-ins."""
_SETS = re.compile(rb"[A-Za-z_][A-Za-z0-9_.%()-]{0,127}=")


def looked(
    files: list[Path], kind: str | None, machine: Snapshot, stated: dict[str, bool], counted: bool
) -> Iterator[Looked]:
    """Each file that can be read; for another, a line says why not."""
    from functools import partial

    from doctor.cli.output import tell
    from doctor.errors import InputError, ParserError
    from doctor.flags.files import look
    from doctor.parsers.lib.printable import clean

    def one(file: Path) -> Looked | None:
        try:
            return look(str(file), _text(file), kind, machine, stated, counted=counted, named=partial(_beside, file))
        except (InputError, ParserError) as error:
            where = f"{file}: " if isinstance(error, ParserError) else ""
            tell(f"doctor: {clean(f'{where}{error}')}\n")
            return None

    yield from filter(None, map(one, files))


def patches(looked: list[Looked]) -> Iterator[str]:
    """The automatic fixes for each file, as unified diffs; nothing of standard input, which was read."""
    from doctor.flags.patch import diff
    from doctor.report.words import clean

    for one in looked:
        if one.source != "-":
            made = diff(one.source, _text(Path(one.source)), one.findings)
            yield "".join(f"{clean(line)}\n" for line in made.splitlines())


def _beside(file: Path, path: str) -> tuple[str, str] | None:
    """A file that another names, in its folder or by the whole path; a missing one is for who starts the program."""
    from doctor.errors import InputError

    other = file.parent / path
    try:
        if path.endswith("/"):
            names = sorted(each.name for each in other.iterdir()) if other.is_dir() else []
            return (str(other), "\n".join(names[:_MOST_NAMES])) if names else None
        return (str(other), _text(other)) if other.is_file() else None
    except (InputError, OSError, ValueError):
        return None


def _text(file: Path) -> str:
    """As text; what /proc tells of a process (`environ`) line by line. Raises InputError, also for no text."""
    from doctor.errors import InputError

    try:
        if str(file) == "-":
            from doctor.cli.output import stdin

            content = stdin().buffer.read(_SIZE_LIMIT)
        else:
            from doctor.system.given import open_given

            with open_given(file) as held:
                content = held.read(_SIZE_LIMIT)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error
    if b"\0" in content:
        parts = content.rstrip(b"\0").split(b"\0")
        if not all(_SETS.match(part) for part in parts):
            raise InputError(f"{file}: not a text file (it contains NUL bytes)")
        content = b"\n".join(part.replace(b"\n", b" ") for part in parts)
    return content.decode("utf-8", "replace")
