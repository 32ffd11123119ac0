"""The tree of a machine under another root: a mounted disk, a container's root, an unpacked support archive.

Files, folders and links only. No command is run, no device opened, and no link leads out of the root: absolute targets
start at the root again and `..` stops there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from doctor.errors import InputError
from doctor.facts.origin import State
from doctor.system import asked, files
from doctor.system.base import READ_DEADLINE_S, READ_LIMIT, RUN_LIMIT, Output, Ranges, Reading, Stat

T = TypeVar("T")

LINKS_AT_MOST = 40
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_ASKED = "not asked of a tree"
_ALWAYS = (
    "sys/devices/system",
    *(f"sys/{name}" for name in ("bus", "class", "dev", "devices", "firmware", "fs", "kernel", "module", "power")),
)
"""Folders that every kernel's sysfs has: where a tree lacks one, it holds a part of sysfs only."""


class TreeSystem:
    """The machine whose root is the folder `root`. A path whose top folder the tree lacks (no `proc` at all) is
    `not-recorded`, and so is one below a folder that every machine's sysfs has and this tree has not; one that is
    missing in a folder which is there is `absent`."""

    kind = "tree"

    def __init__(self, root: Path, *, read_deadline_s: float = READ_DEADLINE_S) -> None:
        """InputError where `root` is not a folder."""
        if not root.is_dir():
            raise InputError(f"{root}: not a folder; --root takes the folder that holds proc, sys, etc")
        self._root = os.path.realpath(root)
        self._read_s = read_deadline_s

    def read_text(self, path: str, *, limit: int = READ_LIMIT, deadline_s: float | None = None) -> Reading[str]:
        def work() -> str:
            with self._opened(path) as descriptor:
                return files.text_of(descriptor, limit)

        return self._attempt(path, work, deadline_s)

    def read_bytes(
        self, path: str, *, offset: int = 0, length: int = READ_LIMIT, deadline_s: float | None = None
    ) -> Reading[bytes]:
        def work() -> bytes:
            with self._opened(path) as descriptor:
                return files.bytes_of(descriptor, offset, length)

        return self._attempt(path, work, deadline_s)

    def list_dir(self, path: str, *, deadline_s: float | None = None) -> Reading[tuple[str, ...]]:
        def work() -> tuple[str, ...]:
            with self._opened(path) as descriptor:
                if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                    raise files.Refused(State.UNREADABLE, "not a folder")
                return tuple(sorted(os.listdir(descriptor)))

        return self._attempt(path, work, deadline_s)

    def stat(self, path: str) -> Reading[Stat]:
        def work() -> Stat:
            try:
                return files.stat_of(self._lstat(self._resolve(path)))
            except FileNotFoundError:
                return files.stat_of(self._lstat(self._resolve(path, last=False)))  # a link that leads nowhere

        return self._attempt(path, work)

    def sizes(self, paths: Sequence[str], *, deadline_s: float) -> Reading[tuple[int, ...]]:
        folders: dict[str, str] = {}  # each folder's links are followed once

        def look(path: str) -> os.stat_result:
            folder, _, name = path.rpartition("/")
            if folder not in folders:
                folders[folder] = self._place(self._resolve(folder))
            status = os.lstat(f"{folders[folder]}/{name}")
            return self._lstat(self._resolve(path)) if stat.S_ISLNK(status.st_mode) or name == ".." else status

        found = files.sizes_of(paths, look, deadline_s)
        return Reading(State.VALUE, asked.file_source(paths[0] if paths else ""), found)

    def link(self, path: str) -> Reading[str]:
        return self._attempt(path, lambda: os.readlink(self._place(self._resolve(path, last=False))))

    def real(self, path: str) -> Reading[str]:
        def work() -> str:
            steps = self._resolve(path)
            self._lstat(steps)
            return "/".join(steps)

        return self._attempt(path, work)

    def _attempt(self, path: str, work: Callable[[], T], deadline_s: float | None = None) -> Reading[T]:
        reading = files.attempt(asked.file_source(path), self._read_s if deadline_s is None else deadline_s, work)
        if not reading.is_absent:
            return reading
        asked_for = asked.relative(path)
        for folder in (asked_for.split("/")[0], *(f for f in _ALWAYS if f"{asked_for}/".startswith(f"{f}/"))):
            if not os.path.lexists(self._place([folder])):
                return Reading(State.NOT_RECORDED, reading.source, None, f"the tree has no {folder}")
        return reading

    def _place(self, steps: Sequence[str]) -> str:
        return "/".join([self._root, *steps])

    def _lstat(self, steps: Sequence[str]) -> os.stat_result:
        return os.lstat(self._place(steps))

    def _resolve(self, path: str, last: bool = True) -> list[str]:
        """The steps below the root that the path leads to with all links followed; the last step may be missing, and
        is not followed with `last` false. Raises the OSError of a folder on the way; Refused on a loop."""
        todo = [step for step in reversed(path.split("/")) if step not in ("", ".")]
        done: list[str] = []
        links = 0
        while todo:
            step = todo.pop()
            if step == "..":
                del done[-1:]
                continue
            done.append(step)
            if not todo and not last:
                break
            try:
                mode = self._lstat(done).st_mode
            except FileNotFoundError:
                if todo:
                    raise
                break
            if not stat.S_ISLNK(mode):
                continue
            links += 1
            if links > LINKS_AT_MOST:
                raise files.Refused(State.UNREADABLE, "too many links")
            target = os.readlink(self._place(done))
            done = [] if target.startswith("/") else done[:-1]
            todo += [step for step in reversed(target.split("/")) if step not in ("", ".")]
        return done

    @contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        """Opens step by step without following links, so that a tree which changes meanwhile can't lead us out."""
        steps = self._resolve(path)
        descriptor = os.open(self._root, _FOLDER)
        try:
            for number, step in enumerate(steps, 1):
                flags = _FOLDER if number < len(steps) else files.OPEN_FLAGS | os.O_NOFOLLOW
                inner = os.open(step, flags, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    def try_open(self, path: str) -> Reading[str]:
        return Reading(State.NOT_ASKED, asked.file_source(path), None, _NOT_ASKED)

    def run(self, argv: Sequence[str], *, deadline_s: float | None = None, limit: int = RUN_LIMIT) -> Reading[Output]:  # noqa: ARG002
        return Reading(State.NOT_ASKED, asked.command_source(argv), None, _NOT_ASKED)

    def which(self, name: str) -> Reading[str]:
        return Reading(State.NOT_ASKED, asked.command_source([name]), None, _NOT_ASKED)

    def environ(self) -> Reading[Mapping[str, str]]:
        return Reading(State.NOT_ASKED, "environment", None, _NOT_ASKED)

    def account(self) -> Reading[Mapping[str, Any]]:
        return Reading(State.NOT_ASKED, "account", None, _NOT_ASKED)

    def limits(self) -> Reading[Mapping[str, int]]:
        return Reading(State.NOT_ASKED, "limits", None, _NOT_ASKED)

    def nvml(self, *, deadline_s: float | None = None) -> Reading[Mapping[str, Any]]:  # noqa: ARG002
        return Reading(State.NOT_ASKED, "nvml", None, _NOT_ASKED)

    def derived(self, name: str, path: str, work: Callable[[], T]) -> Reading[T]:  # noqa: ARG002  name is a recorder's key
        return files.derive(asked.file_source(path), work)

    def derived_from(
        self,
        name: str,  # noqa: ARG002  name is a recorder's key
        path: str,
        work: Callable[[Ranges], T],
        *,
        deadline_s: float | None = None,
    ) -> Reading[T]:
        def on_open_file() -> T:
            with self._opened(path) as descriptor:
                return work(files.OpenFile(descriptor))

        return self._attempt(path, on_open_file, deadline_s)
