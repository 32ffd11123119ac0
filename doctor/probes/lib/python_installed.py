"""What the integrity of packages is told with: the files of one, and a row of what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from doctor.parsers.python.wheel_record import File


class Owned(NamedTuple):
    """A package's files. `folder`: what their paths are relative to; `site`: the folder of sys.path they are in."""

    package: str
    version: str
    folder: str
    site: str
    files: tuple[File, ...]


def row(
    package: str, version: str | None, kind: str, files: Sequence[str], detail: str, number: int | None = None
) -> dict[str, Any]:
    """`files`: whole paths, the first ones; `number`: of all of them."""
    return {
        "key": f"{package} {kind}",
        "package": package,
        "version": version,
        "kind": kind,
        "number": len(files) if number is None else number,
        "files": list(files),
        "detail": detail,
    }
