"""Files that the user hands over by name (allow-lists, profiles): a small regular file, or one line why not."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import BinaryIO

from doctor.errors import InputError

LIMIT = 1 << 20
_PIPE_OF_OURS = re.compile(r"/proc/\d+/fd/pipe:\[\d+\]")
"""What `/dev/stdin`, `/dev/fd/63` and a shell's `<(command)` are: a pipe without a name."""
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def open_given(path: Path) -> BinaryIO:
    """A file that is read from its beginning on. Raises InputError, at once, when it is no regular file and no pipe of
    the caller's (`<(command)`): a FIFO or a device may never say anything, and opening a device may do something."""
    try:
        status = os.stat(path)
        pipe = stat.S_ISFIFO(status.st_mode) and _PIPE_OF_OURS.fullmatch(os.path.realpath(path))
        if not (stat.S_ISREG(status.st_mode) or pipe):
            kind = next((name for test, name in _KINDS if test(status.st_mode)), "something else")
            raise InputError(f"{path}: {kind} and no file; to read a pipe or a device, pass `-` and pipe it in")
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | (0 if pipe else os.O_NONBLOCK))
        now = os.fstat(descriptor)
        if (now.st_dev, now.st_ino) != (status.st_dev, status.st_ino):
            os.close(descriptor)
            raise InputError(f"{path}: replaced while it was opened")
        return os.fdopen(descriptor, "rb")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


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
