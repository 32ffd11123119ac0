"""Runs COMMAND with a set of changes: in a scratch folder, under a deadline, with a budget and a log."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log2
from pathlib import Path

from doctor.errors import InputError
from doctor.facts.origin import State
from doctor.system import commands, processes
from doctor.why.local import LIMITS
from doctor.why.scratch import Change, Scratch, value

_OUTPUT = 1 << 20
_LOG_LIMIT = 16 << 20
_SCHEMA = "doctor.why-log/1"
_FULL = 16 << 20
"""Bytes left on the disk with which a run proves nothing."""


@dataclass(frozen=True)
class Limits:
    """`pattern` is searched in COMMAND's output; `log` has a line of JSON for each run."""

    runs: int = 60
    minutes: float = 60
    timeout_s: float = 300
    pattern: str | None = None
    log: Path | None = None


class OutOfBudget(Exception):
    """No further run is allowed."""


class Runner:
    """Runs COMMAND with a set of changes, and remembers. `differences` is how many there are."""

    def __init__(
        self,
        scratch: Scratch,
        command: Sequence[str],
        limits: Limits,
        tell: Callable[[str], None],
        found: Sequence[Change],
    ) -> None:
        self.scratch, self.limits, self.tell, self.differences = scratch, limits, tell, len(found)
        first = str(Path(command[0]).absolute()) if "/" in command[0] else command[0]
        self.command = [first, *map(_absolute, command[1:])]
        self.pattern = _compiled(limits.pattern)
        self.number, self.ends = 0, time.monotonic() + 60 * limits.minutes
        self.repeats = 1
        self.best: tuple[Change, ...] | None = None
        self.last = ""
        self._seconds: list[float] = []
        self._log = Log(limits.log, _identity(scratch, self.command, limits, found))
        self._expected = 4 + ceil(2 * log2(max(len(found), 1)))

    def passes(self, which: tuple[Change, ...]) -> bool:
        """Whether COMMAND works with these; more than half of the runs where it is flaky."""
        answers = [self.once(which, attempt) for attempt in range(self.repeats)]
        good = 2 * sum(answers) > len(answers)
        if good and (self.best is None or len(which) < len(self.best)):
            self.best = which
        return good

    def once(self, which: tuple[Change, ...], attempt: int) -> bool:
        """One run, or what the log says of it."""
        known = self._log.known.get(_key(which, attempt))
        if known is not None:
            return known
        if self.number >= self.limits.runs or time.monotonic() > self.ends:
            raise OutOfBudget
        self.number += 1
        good, took = self._timed(self.scratch, which)
        self._seconds.append(took)
        self._progress(len(which), "works" if good else "fails", took)
        self._log.add(which, attempt, good, self.last, took)
        return good

    def on_good(self) -> bool:
        """Whether COMMAND works in a copy of GOOD itself."""
        folder = self.scratch.folder / "good"
        folder.mkdir(parents=True, exist_ok=True)
        good, took = self._timed(Scratch(self.scratch.good, self.scratch.good, folder), ())
        self.number += 1
        self.tell(f"run {self.number}: GOOD itself: {'works' if good else 'fails'} ({self.last}, {took:.1f} s)\n")
        return good

    def _timed(self, scratch: Scratch, which: Sequence[Change]) -> tuple[bool, float]:
        scratch.folder.mkdir(exist_ok=True)  # a run may have removed it
        environment = scratch.carry(which)
        place = Path(tempfile.mkdtemp(dir=scratch.folder, prefix="run-"))
        began = time.monotonic()
        good, self.last = self._run(scratch, environment, place, {name for kind, name in which if kind == "limit"})
        took = time.monotonic() - began
        full = shutil.disk_usage(scratch.folder.parent).free < _FULL
        shutil.rmtree(place, ignore_errors=True)
        if full:
            raise InputError(f"COMMAND filled the disk under {self.scratch.folder.parent}; its outcome proves nothing")
        return good, took

    def _progress(self, carried: int, outcome: str, took: float) -> None:
        left = max(self._expected - self.number, 0) * statistics.median(self._seconds)
        estimate = f"; about {left:.0f} s left" if left >= 1 else ""
        about = f" of about {self._expected}" if self.number <= self._expected else ""
        of_all = f"{carried} of {self.differences} changes"
        self.tell(f"run {self.number}{about}: {of_all}: {outcome} ({self.last}, {took:.1f} s){estimate}\n")

    def _run(self, scratch: Scratch, environment: dict[str, str], place: Path, carried: set[str]) -> tuple[bool, str]:
        command = scratch.own(self.command)
        program = shutil.which(command[0], path=environment.get("PATH", os.defpath))
        if program is None:
            return False, "no such program"
        seconds = min(self.limits.timeout_s, max(1.0, self.ends - time.monotonic()))
        before = _limited(scratch, carried)
        with processes.keeping_orphans():
            done = commands.execute(command, program, environment, seconds, _OUTPUT, cwd=str(place), before=before)
        if done.state is not State.VALUE or done.value is None:
            return False, done.detail or done.state.value
        if done.value.code == 0 and self.pattern and not self.pattern.search(done.value.stdout + done.value.stderr):
            cut = " in its first MiB of output" if done.value.cut else ""
            return False, f"exit 0, no match of the pattern{cut}"
        return done.value.code == 0, f"exit {done.value.code}"


def _limited(scratch: Scratch, carried: set[str]) -> Callable[[], None] | None:
    """Sets BAD's soft limits, and GOOD's of those that are carried, where they are not this shell's."""
    good, bad = scratch.good.limits, scratch.bad.limits
    values = [(LIMITS[name][0], good[name] if name in carried else own) for name, own in bad.items()]
    wanted = [(number, value) for number, value in values if resource.getrlimit(number)[0] != value]
    if not wanted:
        return None

    def before() -> None:
        for number, soft in wanted:
            resource.setrlimit(number, (soft, resource.getrlimit(number)[1]))

    return before


class Log:
    """A line of JSON for each run, behind one that says of which comparison. Values of variables do not go in."""

    def __init__(self, path: Path | None, identity: str) -> None:
        self.path, self.known = path, dict[str, bool]()
        if path is None:
            return
        try:
            text = path.read_text(encoding="utf-8")[:_LOG_LIMIT] if path.is_file() else ""
            whole = text[: text.rfind("\n") + 1]  # without a line that was cut when the machine stopped
            rows = [json.loads(line) for line in whole.splitlines()]
            if rows and (rows[0]["schema"], rows[0]["comparison"]) != (_SCHEMA, identity):
                raise InputError(f"--resume {path}: a log of other sides, COMMAND or --pattern; name a new file")
            for row in rows[1:]:
                self.known[_key([(kind, name) for kind, name in row["changes"]], row["attempt"])] = bool(row["works"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"--resume {path}: not a log of runs: {str(error)[:100]}") from None
        if len(whole) != len(text):
            self._write(whole, "w")
        if not rows:
            self._write(json.dumps({"schema": _SCHEMA, "comparison": identity}) + "\n", "a")

    def add(self, which: Sequence[Change], attempt: int, good: bool, why: str, took: float) -> None:
        """Remembers one run."""
        self.known[_key(which, attempt)] = good
        row = {"changes": sorted(which), "attempt": attempt, "works": good, "why": why, "seconds": round(took, 1)}
        self._write(json.dumps(row) + "\n", "a")

    def _write(self, text: str, mode: str) -> None:
        if self.path is None:
            return
        try:
            with self.path.open(mode, encoding="utf-8") as held:
                held.write(text)
        except OSError as error:
            raise InputError(f"--resume {self.path}: {error.strerror}") from None


def _key(which: Sequence[Change], attempt: int) -> str:
    return json.dumps([sorted(which), attempt])


def _identity(scratch: Scratch, command: Sequence[str], limits: Limits, found: Sequence[Change]) -> str:
    """Of what a run's outcome depends on: the builds of packages, the values of variables that differ, COMMAND."""
    good, bad = scratch.good, scratch.bad
    builds = [sorted((name, side.build(name)) for name in side.packages) for side in (good, bad)]
    places = [str(side.prefix and side.prefix.resolve()) for side in (good, bad)]
    values = [(change, value(good, change), value(bad, change)) for change in found]
    whole = [places, builds, values, list(command), limits.pattern, limits.timeout_s]
    return hashlib.sha256(json.dumps(whole, default=str).encode("utf-8", "surrogateescape")).hexdigest()


def _absolute(word: str) -> str:
    """A file beside the user stays that file in the scratch folder."""
    beside = not word.startswith(("/", "-")) and (Path(word).is_file() or ("/" in word and Path(word).exists()))
    return str(Path(word).absolute()) if beside else word


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern) if pattern else None
    except re.error as error:
        raise InputError(f"--pattern {pattern!r}: {error}") from None
