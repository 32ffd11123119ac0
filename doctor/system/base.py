"""The only door to the machine. Everything a probe learns comes through one of these calls, and each call says how it
failed instead of raising.

Paths are relative to the machine's root and have no leading slash: `proc/driver/nvidia/version`. Every call returns a
`Reading`; none raises for what the machine does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from doctor.errors import ParserError
from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet

T = TypeVar("T")
U = TypeVar("U")

READ_LIMIT = 1 << 20
"""Bytes of one file that are read unless a probe asks for another limit; more is `too-large`."""
READ_DEADLINE_S = 2.0
RUN_DEADLINE_S = 6.0
RUN_LIMIT = 4 << 20
"""Bytes of each stream of a command that are kept; the rest is read and dropped, and `Output.cut` is set."""


@dataclass(frozen=True)
class Reading(Generic[T]):
    """A value, or why there is none. `source` is `file:/…`, `command:…`, `environment:…`, `nvml`."""

    state: State
    source: str
    value: T | None = None
    detail: str | None = None

    @property
    def known(self) -> bool:
        return self.state is State.VALUE

    @property
    def is_absent(self) -> bool:
        return self.state is State.ABSENT

    def then(self, reader: Callable[[T], U]) -> Reading[U]:
        """The reader's result; a ParserError makes the reading `unreadable`."""
        if self.state is not State.VALUE or self.value is None:
            return Reading(self.state, self.source, None, self.detail)
        try:
            return Reading(State.VALUE, self.source, reader(self.value))
        except ParserError as error:
            return Reading(State.UNREADABLE, self.source, None, str(error)[:200])

    def into(self, sheet: FactSheet, name: str, absent: Any = None) -> T | None:
        """Put the value, or the reason there is none, on a sheet; returns the value. `absent` is what a missing file
        means (False, [] …); without it absence is recorded and the fact stays unknown."""
        if self.state is State.VALUE and self.value is not None:
            sheet.put(name, self.value, self.source, self.detail)
        elif self.state is State.ABSENT:
            sheet.absent(name, self.source, absent, self.detail)
        else:
            sheet.miss(name, State.UNREADABLE if self.state is State.VALUE else self.state, self.source, self.detail)
        return self.value

    def named(self, source: str) -> Reading[T]:
        """The same under another source."""
        return replace(self, source=source)


@dataclass(frozen=True)
class Stat:
    """Of the thing itself (links are followed inside the root). `major`/`minor` are None unless it is a device."""

    kind: str
    """`file`, `dir`, `char`, `block`, `fifo`, `socket`, `link` (one that leads nowhere)."""
    mode: int
    """Permission bits only."""
    uid: int
    gid: int
    size: int
    major: int | None = None
    minor: int | None = None


class Ranges(Protocol):
    """An open regular file, of which a reader takes the pieces it needs. Only valid while the work that got it runs."""

    size: int
    """Bytes of the whole file."""

    def at(self, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset`; fewer at the end of the file, none behind it. May raise OSError."""
        ...


@dataclass(frozen=True)
class Output:
    """What a command printed. `code` is negative for a signal."""

    code: int
    stdout: str
    stderr: str
    seconds: float
    cut: bool = False


ABSENT_FILE, NO_FILE = -1, -2
"""In the answer of `System.sizes`."""


class System(Protocol):
    """A machine to ask. Implementations: live.LiveSystem, tree.TreeSystem, capture.CaptureSystem, recorder.Recorder."""

    kind: str
    """`live`, `tree`, `capture`."""

    def read_text(self, path: str, *, limit: int = READ_LIMIT, deadline_s: float | None = None) -> Reading[str]:
        """A regular file as UTF-8 (bad bytes replaced, NUL padding stripped). Anything else is `unreadable`."""
        ...

    def read_bytes(
        self, path: str, *, offset: int = 0, length: int = READ_LIMIT, deadline_s: float | None = None
    ) -> Reading[bytes]:
        """At most `length` bytes from `offset`; a short answer means the end of the file."""
        ...

    def list_dir(self, path: str, *, deadline_s: float | None = None) -> Reading[tuple[str, ...]]: ...

    def stat(self, path: str) -> Reading[Stat]: ...

    def sizes(self, paths: Sequence[str], *, deadline_s: float) -> Reading[tuple[int, ...]]:
        """The size in bytes of each file, in that order; ABSENT_FILE where none is there, NO_FILE for one that
        may not be looked at. Where the deadline comes first the answer is shorter than the question. Thousands
        of files cost a few µs each. Within `derived` alone: a recorder keeps what was worked out, not this."""
        ...

    def link(self, path: str) -> Reading[str]:
        """Target text of a symbolic link; `absent` where there is nothing, `unreadable` where it is no link."""
        ...

    def real(self, path: str) -> Reading[str]:
        """The path with all links followed inside the root, relative to the root."""
        ...

    def try_open(self, path: str) -> Reading[str]:
        """Opens a device node read-write without blocking and closes it: `ok`, or the name of the errno
        (`EACCES`, `EPERM`, `ENXIO` …) as the value. `not-asked` on a tree or where it can't be tried."""
        ...

    def run(self, argv: Sequence[str], *, deadline_s: float | None = None, limit: int = RUN_LIMIT) -> Reading[Output]:
        """A command found on the trusted PATH, without a shell, in its own process group, killed as a group. `absent`
        when there is no such program; a non-zero exit is a value. `not-asked` on a tree."""
        ...

    def which(self, name: str) -> Reading[str]: ...

    def environ(self) -> Reading[Mapping[str, str]]:
        """The environment of the account that asks. `not-asked` on a tree."""
        ...

    def account(self) -> Reading[Mapping[str, Any]]:
        """{"uid", "gid", "gids"} of this process. `not-asked` on a tree."""
        ...

    def nvml(self, *, deadline_s: float | None = None) -> Reading[Mapping[str, Any]]:
        """NVML's inventory, made in a child (docs/captures.md gives its shape). `absent` without the library."""
        ...

    def limits(self) -> Reading[Mapping[str, int]]:
        """{"memlock", "nofile"} soft limits of this process, -1 for unlimited. `not-asked` on a tree."""
        ...

    def derived(self, name: str, path: str, work: Callable[[], T]) -> Reading[T]:
        """A value worked out from a large file; a recorder keeps the value under `name` and `path`, not the bytes.
        `work` may raise ParserError or OSError. The value is plain JSON data."""
        ...

    def derived_from(
        self, name: str, path: str, work: Callable[[Ranges], T], *, deadline_s: float | None = None
    ) -> Reading[T]:
        """`derived` of one file that is opened once and read in pieces: a library of gigabytes costs what its headers
        cost. The deadline is for the whole work."""
        ...
