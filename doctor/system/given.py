"""Files that the user hands over by name (allow-lists, profiles): a small regular file, or one line why not."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from doctor.errors import InputError

LIMIT = 1 << 20


def read_given(path: Path) -> str:
    """The file's text. Raises InputError when it is no regular file, too large, not readable or not UTF-8; a FIFO or a
    device is never waited for."""
    content = read_given_bytes(path, LIMIT, "such a file is written by hand")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from error


def read_given_bytes(path: Path, limit: int, why: str = "that is more than such a file can be") -> bytes:
    """The same as bytes; `why` says what is wrong with more than `limit` of them."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as held:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise InputError(f"{path}: not a regular file")
            content = held.read(limit + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    if len(content) > limit:
        raise InputError(f"{path}: larger than {limit >> 20} MiB; {why}")
    return content
