"""Where COMMAND is tried: with a set of changes, on throwaway copies, under a deadline."""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from doctor.errors import InputError
from doctor.facts.origin import State
from doctor.system import commands, processes
from doctor.system.live import LIMITS
from doctor.why.copying import LEAST_FREE
from doctor.why.local import Local, attainable
from doctor.why.scratch import FOLDER, Change, Scratch, changes, folders_differ, value

_OUTPUT = 1 << 20


@dataclass(frozen=True)
class Ended:
    """How a run ended. `code` is None where there is none, and `why` says the reason."""

    code: int | None
    output: str = ""
    why: str = ""
    cut: bool = False
    """Only its first MiB is in `output`."""


class Trial(Protocol):
    """What can be carried over between two sides, and how COMMAND runs with some of it."""

    found: tuple[Change, ...]
    begins: str
    """What is done before the first run."""
    as_it_is: str
    """What to add where COMMAND works on BAD as it was tried."""
    identity: Any
    """What a run's outcome depends on besides COMMAND."""
    remains: tuple[str, str]
    """What is left where all of it changes nothing: if COMMAND works in GOOD itself, and what both have if it fails."""

    def run(self, which: Sequence[Change], command: list[str], seconds: float) -> Ended: ...
    def run_good(self, command: list[str], seconds: float) -> Ended: ...
    def values(self, change: Change) -> tuple[str | None, str | None]:
        """What GOOD and BAD have, as text; None where a side lacks it."""
        ...


class LocalTrial:
    as_it_is = ""

    def __init__(self, good: Local, bad: Local, folder: Path) -> None:
        self.good, self.bad, self.folder = good, bad, folder
        self.found = changes(good, bad)
        builds = [sorted((name, side.build(name)) for name in side.packages) for side in (good, bad)]
        places = [str(side.prefix and side.prefix.resolve()) for side in (good, bad)]
        self.begins = "copying the environment; " * bool(bad.prefix)
        self.identity = [places, builds, [(change, *self.values(change)) for change in self.found]]
        pythons = [str(side.prefix and (side.prefix / "bin/python").resolve()) for side in (good, bad)]
        python = f"the Python itself ({pythons[0]} and {pythons[1]}), then " if pythons[0] != pythons[1] else ""
        too_large = "the working directory, which is too large to be copied for each run, "
        too_large *= folders_differ(good, bad) and FOLDER not in self.found
        self.remains = f"{too_large}{python}files outside of site-packages", f"{too_large}what both environments have"
        self._scratches: list[Scratch] = []
        self._stopped = threading.Event()

    def values(self, change: Change) -> tuple[str | None, str | None]:
        return value(self.good, change), value(self.bad, change)

    def run(self, which: Sequence[Change], command: list[str], seconds: float) -> Ended:
        """On this thread, which Ctrl-C reaches wherever it is; an executor may lose a thread that it just begins."""
        with processes.keeping_orphans():
            return self._in(self._copies(1)[0], which, self._own(command), seconds)

    def side_by_side(self, sets: Sequence[Sequence[Change]], command: list[str], seconds: float) -> list[Ended]:
        """Each in a copy of its own. What they leave behind in sessions of their own ends when the last one has."""
        words, copies = self._own(command), self._copies(len(sets))
        with processes.keeping_orphans(), ThreadPoolExecutor(len(sets)) as pool:
            try:
                asked = zip(copies, sets, strict=True)
                running = [pool.submit(self._unless_stopped, copy, which, words, seconds) for copy, which in asked]
                return [one.result() for one in running]
            except BaseException:
                self._stopped.set()
                for scratch in self._scratches:  # the pool waits for no thread whose start was interrupted
                    with scratch.in_use:
                        pass
                raise

    def _copies(self, number: int) -> list[Scratch]:
        while len(self._scratches) < number:
            self._scratches.append(Scratch(self.good, self.bad, self.folder / f"copy-{len(self._scratches)}"))
        return self._scratches[:number]

    def run_good(self, command: list[str], seconds: float) -> Ended:
        folder = self.folder / "good"
        with processes.keeping_orphans():
            return self._in(Scratch(self.good, self.good, folder), (), self._own(command), seconds)

    def _unless_stopped(self, scratch: Scratch, *asked: Any) -> Ended:
        with scratch.in_use:
            return Ended(None) if self._stopped.is_set() else self._in(scratch, *asked)

    def _own(self, command: list[str]) -> list[str]:
        """A file beside the user stays that file in the scratch folder; in a copy of a working folder COMMAND's words
        are of that."""
        first = str(Path(command[0]).absolute()) if "/" in command[0] else command[0]
        if self.good.folder or self.bad.folder:
            return [first, *command[1:]]
        return [first, *map(_absolute, command[1:])]

    def _in(self, scratch: Scratch, which: Sequence[Change], command: list[str], seconds: float) -> Ended:
        scratch.folder.mkdir(exist_ok=True)  # a run may have removed it
        environment = scratch.carry(which)
        place = scratch.place(which) or Path(tempfile.mkdtemp(dir=scratch.folder, prefix="run-"))
        temporary = Path(tempfile.mkdtemp(dir=scratch.folder, prefix="tmp-"))
        if ("variable", "TMPDIR") not in self.found:
            environment["TMPDIR"] = str(temporary)
        ended = self._ran(scratch, environment, place, which, command, seconds)
        for folder in (place, temporary):
            with suppress(OSError):
                folder.chmod(0o700)
            shutil.rmtree(folder, ignore_errors=True)
        return ended

    def _ran(
        self,
        scratch: Scratch,
        environment: dict[str, str],
        place: Path,
        which: Sequence[Change],
        command: list[str],
        seconds: float,
    ) -> Ended:
        command = scratch.own(command)
        program = shutil.which(command[0], path=environment.get("PATH", os.defpath))
        if program is None:
            return Ended(None, why="no such program")
        before = _limited(scratch, {name for kind, name in which if kind == "limit"})
        full = Disk(scratch.folder)
        done = commands.execute(
            command, program, environment, seconds, _OUTPUT, cwd=str(place), before=before,
            halt=lambda: full() or self._stopped.is_set(),
        )  # fmt: skip
        full.check()
        if done.state is not State.VALUE or done.value is None:
            return Ended(None, why=done.detail or done.state.value)
        return Ended(done.value.code, done.value.stdout + done.value.stderr, cut=done.value.cut)


class Disk:
    """Asked while COMMAND runs: whether the disk that `folder` is on is full but for a tenth of what was free."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.is_full = folder.parent, False
        self.least = max(LEAST_FREE, self._free() // 10)
        if self():
            least = f"fewer than {LEAST_FREE >> 20} MiB are free under {self.folder}"
            raise InputError(f"{least}; free some, or set TMPDIR")

    def _free(self) -> int:
        return shutil.disk_usage(self.folder).free

    def __call__(self) -> bool:
        self.is_full = self.is_full or self._free() < self.least
        return self.is_full

    def check(self) -> None:
        """Raises InputError where COMMAND was stopped for it."""
        if self():
            raise InputError(f"COMMAND filled the disk under {self.folder}; it was stopped, and this proves nothing")


def _absolute(word: str) -> str:
    beside = not word.startswith(("/", "-")) and (Path(word).is_file() or ("/" in word and Path(word).exists()))
    return str(Path(word).absolute()) if beside else word


def _limited(scratch: Scratch, carried: set[str]) -> Callable[[], None] | None:
    """Sets BAD's soft limits, and GOOD's of those that are carried, where they are not this shell's."""
    good, bad = scratch.good.limits, scratch.bad.limits
    values = {name: good[name] if name in carried else own for name, own in bad.items()}
    wanted = [(LIMITS[name], value) for name, value in values.items() if attainable(name, value)]
    if not wanted:
        return None

    def before() -> None:
        for number, soft in wanted:
            resource.setrlimit(number, (soft, resource.getrlimit(number)[1]))

    return before
