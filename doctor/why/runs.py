"""Runs COMMAND with a set of changes, within a budget, and keeps a log."""

from __future__ import annotations

import hashlib
import json
import re
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, log, log2
from pathlib import Path

from doctor.errors import InputError
from doctor.why.scratch import Change, shown
from doctor.why.trial import Ended, LocalTrial, Trial

_LOG_LIMIT = 16 << 20
_ONCE_IN = 20
"""Searches of a flaky command of which one may go wrong in its steps; what is found is run ten times after it."""
_SCHEMA = "doctor.why-log/1"
_NAMED = 3
"""Changes that a line of progress names."""


@dataclass(frozen=True)
class Limits:
    """`pattern` is searched in COMMAND's output; `log` has a line of JSON for each run; `jobs` run side by side."""

    runs: int = 100
    minutes: float = 60
    jobs: int = 1
    timeout_s: float = 300
    pattern: str | None = None
    log: Path | None = None


class OutOfBudget(Exception):
    """No further run is allowed."""


class Runner:
    """Runs COMMAND with a set of changes, and remembers."""

    def __init__(self, trial: Trial, command: Sequence[str], limits: Limits, tell: Callable[[str], None]) -> None:
        self.trial, self.limits, self.tell, self.differences = trial, limits, tell, len(trial.found)
        self.command = list(command)
        self.pattern = _compiled(limits.pattern)
        self.number, self.ends = 0, time.monotonic() + 60 * limits.minutes
        self.flaky, self.jobs = "", limits.jobs
        self._says, self._enough = (1.0, -1.0), 1.0
        self._levels = ceil(log2(max(self.differences, 1)))
        self.best: tuple[Change, ...] | None = None
        self.last = ""
        self._seconds: list[float] = []
        self._log = Log(limits.log, _identity(trial, self.command, limits))
        self._expected = 8 + self._levels

    def is_flaky(self, of_bad: int, carried: int, runs: int) -> None:
        """So often COMMAND worked in that many runs of BAD, and with all of GOOD's. From now on each set is run until
        one of these two rates is so much likelier than the other that a whole search goes wrong once in twenty times
        (Wald's sequential test)."""
        rates = [(works + 1) / (runs + 2) for works in (of_bad, carried)]
        self.jobs = 1  # they may disturb each other
        self._says = log(rates[1] / rates[0]), log((1 - rates[1]) / (1 - rates[0]))
        self._enough = log(_ONCE_IN * max(self._levels, 1))
        self._expected = 2 * runs + 12 + 4 * self._levels
        self.flaky = f"COMMAND is flaky: it works in {of_bad} of {runs} runs on BAD. "

    def passes(self, which: tuple[Change, ...]) -> bool:
        """Whether COMMAND works with these."""
        sure, attempt = 0.0, 0
        while abs(sure) < self._enough:
            sure += self._says[0] if self.once(which, attempt) else self._says[1]
            attempt += 1
        if sure > 0 and (self.best is None or len(which) < len(self.best)):
            self.best = which
        return sure > 0

    def working(self, which: tuple[Change, ...], runs: int) -> int:
        """In how many of its first runs COMMAND works with these."""
        return sum(self.once(which, attempt) for attempt in range(runs))

    def once(self, which: tuple[Change, ...], attempt: int) -> bool:
        """One run, or what the log says of it."""
        known = self._log.known.get(_key(which, attempt))
        if known is not None:
            return known
        if self.number >= self.limits.runs or time.monotonic() > self.ends:
            raise OutOfBudget
        began = time.monotonic()
        return self._took_in(which, attempt, self.trial.run(which, self.command, self._seconds_left()), began)

    def ahead(self, asked: Iterable[tuple[tuple[Change, ...], int]]) -> None:
        """Runs these sets and attempts side by side, where that was asked for: `once` then knows the answers."""
        rows = [row for row in dict.fromkeys(asked) if _key(*row) not in self._log.known]
        while len(rows) > 1 and self.jobs > 1 and isinstance(self.trial, LocalTrial) and time.monotonic() <= self.ends:
            now, rows = rows[: self.jobs], rows[self.jobs :]
            now, began = now[: self.limits.runs - self.number], time.monotonic()
            ended = self.trial.side_by_side([which for which, _ in now], self.command, self._seconds_left())
            for (which, attempt), one in zip(now, ended, strict=True):
                self._took_in(which, attempt, one, began)

    def _took_in(self, which: tuple[Change, ...], attempt: int, ended: Ended, began: float) -> bool:
        took = time.monotonic() - began
        self.number += 1
        good, self.last = self._outcome(ended)
        self._seconds.append(took / self.jobs)
        self._progress(which, "works" if good else "fails", took)
        self._log.add(which, attempt, good, self.last, took)
        return good

    def on_good(self) -> bool:
        """Whether COMMAND works in a copy of GOOD itself."""
        began = time.monotonic()
        good, self.last = self._outcome(self.trial.run_good(self.command, self._seconds_left()))
        self.number, took = self.number + 1, time.monotonic() - began
        self.tell(f"run {self.number}: GOOD itself: {'works' if good else 'fails'} ({self.last}, {took:.1f} s)\n")
        return good

    def _seconds_left(self) -> float:
        return min(self.limits.timeout_s, max(1.0, self.ends - time.monotonic()))

    def _outcome(self, ended: Ended) -> tuple[bool, str]:
        if ended.code is None:
            return False, ended.why
        if ended.code == 0 and self.pattern and not self.pattern.search(ended.output):
            cut = " in its first MiB of output" if ended.cut else ""
            return False, f"exit 0, no match of the pattern{cut}"
        return ended.code == 0, f"exit {ended.code}"

    def _progress(self, which: Sequence[Change], outcome: str, took: float) -> None:
        left = max(self._expected - self.number, 0) * statistics.median(self._seconds)
        estimate = f"; about {left:.0f} s left" if left >= 1 else ""
        about = f" of about {self._expected}" if self.number <= self._expected else ""
        names = f" ({', '.join(shown(change) for change in which)})" if 0 < len(which) <= _NAMED else ""
        of_all = f"{len(which)} of {self.differences} changes{names}"
        self.tell(f"run {self.number}{about}: {of_all}: {outcome} ({self.last}, {took:.1f} s){estimate}\n")


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


def _identity(trial: Trial, command: Sequence[str], limits: Limits) -> str:
    """Of what a run's outcome depends on: what the two sides have, COMMAND, and when it counts as working."""
    whole = [trial.identity, list(command), limits.pattern, limits.timeout_s]
    return hashlib.sha256(json.dumps(whole, default=str).encode("utf-8", "surrogateescape")).hexdigest()


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern) if pattern else None
    except re.error as error:
        raise InputError(f"--pattern {pattern!r}: {error}") from None
