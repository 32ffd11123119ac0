"""A record of conda-meta (JSON) -> the files of the package and their sizes.

>>> record = '{"paths_data": {"paths": [{"_path": "lib/libc10.so", "size_in_bytes": 9, "path_type": "hardlink"}]}}'
>>> read(record)
(File(path='lib/libc10.so', size=9, digest=None),)
"""

from __future__ import annotations

import json

from doctor.errors import ParserError
from doctor.parsers.python.wheel_record import File

MOST_BYTES = 32 << 20
_MOST_FILES = 100_000


def read(text: str) -> tuple[File, ...]:
    """Files in which conda puts its prefix have no size that can be compared. ParserError where it is no record."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParserError(f"broken JSON: {str(error)[:100]}") from None
    paths = data.get("paths_data", {}).get("paths") if isinstance(data, dict) else None
    if not isinstance(paths, list):
        raise ParserError("no paths_data: not a record of conda-meta")
    return tuple(_files(paths[:_MOST_FILES]))


def _files(paths: list[object]) -> list[File]:
    found = []
    for row in paths:
        path = row.get("_path") if isinstance(row, dict) else None
        if not isinstance(row, dict) or not isinstance(path, str) or path.startswith(("..", "/")):
            continue
        size = row.get("size_in_bytes")
        fixed = row.get("path_type") == "hardlink" and "prefix_placeholder" not in row
        found.append(File(path, size if type(size) is int and fixed else None))
    return found
