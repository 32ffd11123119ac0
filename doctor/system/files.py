"""Reads regular files by descriptor and says how an OSError counts. Shared by the live machine and trees."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Sequence
from typing import TypeVar

from doctor.errors import ParserError
from doctor.facts.origin import State
from doctor.system.base import ABSENT_FILE, NO_FILE, Reading, Stat
from doctor.system.deadline import TimedOut, within

T = TypeVar("T")

OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_CHUNK = 1 << 18
_SIZE_IS_TRUSTED_FROM = 1 << 16
"""sysfs shows 4096 as the size of each attribute, so a small size says nothing."""

_ABSENT = (errno.ENOENT, errno.ENOTDIR)
_DENIED = (errno.EACCES, errno.EPERM)
_UNREADABLE = (errno.ELOOP, errno.EISDIR, errno.EINVAL, errno.ENAMETOOLONG)
_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "dir",
    stat.S_IFCHR: "char",
    stat.S_IFBLK: "block",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFLNK: "link",
}


class Refused(Exception):
    """A thing that is not read; carries the state that the reading gets."""

    def __init__(self, state: State, detail: str) -> None:
        self.state = state
        super().__init__(detail)


def sizes_of(paths: Sequence[str], look: Callable[[str], os.stat_result], seconds: float) -> tuple[int, ...]:
    """See base.System.sizes; `look` stats one path."""
    found: list[int] = []

    def work() -> None:
        for path in paths:
            found.append(_size(path, look))  # noqa: PERF401  what was found stays where the deadline ends it

    with contextlib.suppress(TimedOut):
        within(seconds, work)
    return tuple(found)


def _size(path: str, look: Callable[[str], os.stat_result]) -> int:
    try:
        found = look(path)
    except OSError as error:
        return ABSENT_FILE if error.errno in _ABSENT else NO_FILE
    except (ValueError, Refused):  # a NUL in a path, links in a circle
        return NO_FILE
    return found.st_size if stat.S_ISREG(found.st_mode) else ABSENT_FILE


def errno_name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, f"errno {error.errno}")


def state_of(error: OSError) -> State:
    """ENOENT comes only where the parent could be searched, so it is knowledge; without that right it is EACCES."""
    if error.errno in _ABSENT:
        return State.ABSENT
    if error.errno in _DENIED:
        return State.DENIED
    return State.UNREADABLE if error.errno in _UNREADABLE else State.FAILED


def attempt(source: str, seconds: float, work: Callable[[], T]) -> Reading[T]:
    """The Reading of one piece of file work under a deadline."""
    try:
        return Reading(State.VALUE, source, within(seconds, work))
    except TimedOut as error:
        return Reading(State.TIMED_OUT, source, None, f"no answer within {error}")
    except Refused as error:
        return Reading(error.state, source, None, str(error))
    except ParserError as error:
        return Reading(State.UNREADABLE, source, None, str(error)[:200])
    except OSError as error:
        return Reading(state_of(error), source, None, errno_name(error))
    except ValueError as error:  # a NUL in a path
        return Reading(State.UNREADABLE, source, None, str(error)[:200])


def derive(source: str, work: Callable[[], T]) -> Reading[T]:
    """Like `attempt` for work that makes its own readings, each with a deadline of its own."""
    try:
        return Reading(State.VALUE, source, work())
    except ParserError as error:
        return Reading(State.UNREADABLE, source, None, str(error)[:200])
    except OSError as error:
        return Reading(state_of(error), source, None, errno_name(error))


def text_of(descriptor: int, limit: int) -> str:
    """The whole file as UTF-8; Refused when it is no regular file or holds more than `limit` bytes."""
    size = _regular_size(descriptor)
    if size > max(limit, _SIZE_IS_TRUSTED_FROM):
        raise Refused(State.TOO_LARGE, f"{size} bytes; the limit is {limit}")
    content = range_of(descriptor, 0, limit + 1)
    if len(content) > limit:
        raise Refused(State.TOO_LARGE, f"more than {limit} bytes")
    return content.rstrip(b"\0").decode("utf-8", "replace")


def bytes_of(descriptor: int, offset: int, length: int) -> bytes:
    _regular_size(descriptor)
    return range_of(descriptor, offset, length)


def range_of(descriptor: int, offset: int, length: int) -> bytes:
    """At most `length` bytes from `offset`, in as many reads as the file needs."""
    parts: list[bytes] = []
    while length > 0:
        part = os.pread(descriptor, min(length, _CHUNK), offset)
        if not part:
            break
        parts.append(part)
        offset, length = offset + len(part), length - len(part)
    return b"".join(parts)


class OpenFile:
    """See base.Ranges. Read ahead is turned off: a fat binary's headers lie megabytes apart."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.size = _regular_size(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)

    def at(self, offset: int, length: int) -> bytes:
        if offset < 0 or length <= 0 or offset >= self.size:
            return b""
        if length <= _CHUNK:
            found = os.pread(self._descriptor, length, offset)
            if len(found) == length:
                return found
        return range_of(self._descriptor, offset, min(length, self.size - offset))


def _regular_size(descriptor: int) -> int:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise Refused(State.UNREADABLE, f"a {kind_of(found.st_mode)}, not a regular file")
    return found.st_size


def kind_of(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "unknown")


def stat_of(found: os.stat_result) -> Stat:
    """The System's view of what `os.stat` gave."""
    device = stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode)
    return Stat(
        kind=kind_of(found.st_mode),
        mode=stat.S_IMODE(found.st_mode),
        uid=found.st_uid,
        gid=found.st_gid,
        size=found.st_size,
        major=os.major(found.st_rdev) if device else None,
        minor=os.minor(found.st_rdev) if device else None,
    )
