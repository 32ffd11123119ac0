"""`doctor why GOOD BAD --prove -- COMMAND`: the smallest change of BAD with which COMMAND works.

Driver, kernel, firmware and hardware are never changed. COMMAND runs in a scratch folder, under a deadline, and
all that it started is ended with it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from doctor.errors import InputError
from doctor.redaction import secrets
from doctor.why.boxes import Box, tried
from doctor.why.local import Local
from doctor.why.minimal import minimal
from doctor.why.runs import Limits, OutOfBudget, Runner
from doctor.why.scratch import Change, shown
from doctor.why.trial import LocalTrial, Trial

Side = Local | Box

_TWICE = 2
"""Runs of each end before the search: a command that answers both ways is flaky."""
_AGAIN = 3
"""Runs of what was found, and of it without each part, before it is named."""
_OFTEN, _APART = 10, 6
"""Runs of each end where it is flaky, and how many more of GOOD's have to work: a coin gets there in 1 of 170 cases."""
_NONE = {"package": "not installed", "device": "not passed", "layer": "no such layer", "folder": "empty"}
_LONGEST = 200
"""Characters of a value that are printed."""


@dataclass(frozen=True)
class Proof:
    """`minimal` is the result, () where there is none; `note` says why, or what is uncertain."""

    minimal: tuple[Change, ...]
    note: str
    runs: int
    tried: int
    """How many differences there are that can be carried."""
    values: dict[Change, tuple[str | None, str | None]] = field(default_factory=dict)
    """Of each change what GOOD and BAD have; secrets are masked."""
    left_out: tuple[str, ...] = ()
    """What differs and can't be carried over."""
    interrupted: bool = False

    def text(self, names: tuple[str, str]) -> str:
        lines = [f"With {_plural(len(self.minimal), 'change')} COMMAND works on {names[1]}:"] if self.minimal else []
        lines += [f"  {shown(change)}: {self._change(change)}" for change in self.minimal]
        lines += [self.note] if self.note else []
        if self.left_out:
            lines.append(f"Differs and can't be carried over: {', '.join(self.left_out)}.")
        lines.append(f"{_plural(self.runs, 'run')} over {_plural(self.tried, 'difference')}.")
        return "".join(c if c.isprintable() or c == "\n" else "?" for c in "\n".join(lines) + "\n")

    def _change(self, change: Change) -> str:
        none = _NONE.get(change[0], "not set")
        good, bad = (none if side is None else _short(side) or "empty" for side in self.values[change])
        if good == bad:
            return f"{bad} -> the other build of {good}" if change[0] == "package" else "the values differ"
        return f"{bad} -> {good}"

    def as_data(self, names: tuple[str, str], redacted: Callable[[Any], Any] = lambda text: text) -> dict[str, Any]:
        """`doctor.why-proof/1`. `redacted` is asked of each text, and not of the keys: a user may be called `good`."""
        rows = [(*change, *self.values[change]) for change in self.minimal]
        given = dict(zip(("good", "bad"), names, strict=True))
        texts = {"note": self.note, "left_out": list(self.left_out)}
        return {
            "schema": "doctor.why-proof/1",
            **{key: redacted(text) for key, text in {**given, **texts}.items()},
            "minimal": [dict(zip(("kind", "name", "good", "bad"), map(redacted, row), strict=True)) for row in rows],
            **{"runs": self.runs, "differences": self.tried, "interrupted": self.interrupted},
        }


def prove(good: Side, bad: Side, command: Sequence[str], limits: Limits, tell: Callable[[str], None]) -> Proof:
    """Raises InputError for what can't be tried."""
    with _trial(good, bad, limits.jobs, tell) as trial:
        runner, interrupted = Runner(trial, command, limits, tell), False
        tell(f"{trial.begins}{_plural(len(trial.found), 'difference')} can be carried over\n")
        try:
            minimum, note = _search(runner, trial)
        except (OutOfBudget, KeyboardInterrupt) as end:
            minimum, interrupted = runner.best or (), isinstance(end, KeyboardInterrupt)
            begun = f"{runner.flaky}{'Interrupted' if interrupted else 'The budget ended'}"
            note = f"{begun}; this is the smallest set so far." if minimum else f"{begun} too early."
        values = {change: _shown(change, trial.values(change)) for change in trial.found}
        return Proof(minimum, note, runner.number, len(trial.found), values, trial.left_out, interrupted)


@contextmanager
def _trial(good: Side, bad: Side, jobs: int, tell: Callable[[str], None]) -> Iterator[Trial]:
    if isinstance(good, Local) and isinstance(bad, Local):
        place = _place(bad.prefix)
        with tempfile.TemporaryDirectory(prefix="doctor-why-", dir=place, ignore_cleanup_errors=True) as folder:
            yield LocalTrial(good, bad, Path(folder))
    elif isinstance(good, Box) and isinstance(bad, Box):
        if jobs > 1:
            raise InputError("--jobs is for sides without a container: containers may share a port, a volume or a GPU")
        with tried(good, bad, tell) as trial:
            yield trial
    else:
        raise InputError("--prove carries between two containers or images, or between two sides without one")


def _search(runner: Runner, trial: Trial) -> tuple[tuple[Change, ...], str]:
    found = trial.found
    runner.ahead((which, attempt) for attempt in range(_TWICE) for which in ((), found))
    of_bad = runner.working((), _TWICE)
    if of_bad == _TWICE:
        return (), f"COMMAND works on BAD as it is: nothing to explain.{trial.as_it_is}"
    carried = runner.working(found, _TWICE)
    if of_bad == carried == 0:
        return (), _what_remains(runner, trial)
    if of_bad == 0 and carried == _TWICE:
        runner.best = found
        smallest = minimal(found, runner.passes, lambda parts: runner.ahead((part, 0) for part in parts), runner.jobs)
        checked = (smallest, (), *_rests(smallest))
        runner.ahead((which, attempt) for which in checked for attempt in range(_AGAIN - 1))  # the last ones run alone
        of_less = sum(runner.working(rest, _AGAIN) for rest in checked[1:])
        if of_less == 0 and runner.working(smallest, _AGAIN) == _AGAIN:
            return smallest, ""
    return _of_flaky(runner, found)


def _of_flaky(runner: Runner, found: tuple[Change, ...]) -> tuple[tuple[Change, ...], str]:
    """COMMAND answers both ways: nothing is claimed unless it works clearly more often with it."""
    of_bad, carried, runs = _ends(runner, found)
    if carried - of_bad < _APART:
        both = f"in {of_bad} of {runs} runs on BAD and in {carried} of {runs} with all that GOOD has"
        return (), f"COMMAND is flaky: it works {both}. This difference is too small to search for its cause."
    runner.is_flaky(of_bad, carried, _OFTEN)
    runner.best = found
    smallest = minimal(found, runner.passes)
    works = runner.working(smallest, _OFTEN)
    both = f"in {works} of {_OFTEN} runs with this, and in {of_bad} of {_OFTEN} on BAD"
    if works - of_bad < _APART:
        names = " and ".join(map(shown, smallest))
        return (), f"COMMAND is flaky: the search ended at {names}, but it works {both}."
    return smallest, f"COMMAND is flaky: it works {both}."


def _ends(runner: Runner, found: tuple[Change, ...]) -> tuple[int, int, int]:
    """How often it works on BAD, with all that GOOD has, and in how many runs of each. It ends where the runs that are
    left could not set them apart: the answer, and its chance of error, are those of all the runs."""
    of_bad = carried = 0
    for attempt in range(_OFTEN):
        of_bad, carried = of_bad + runner.once((), attempt), carried + runner.once(found, attempt)
        if carried - of_bad + _OFTEN - 1 - attempt < _APART:
            break
    return of_bad, carried, attempt + 1


def _rests(which: tuple[Change, ...]) -> Iterator[tuple[Change, ...]]:
    """Of several, all but one."""
    return combinations(which, len(which) - 1) if len(which) > 1 else iter(())


def _what_remains(runner: Runner, trial: Trial) -> str:
    """Both sides ran on this machine: only what GOOD does here tells its driver from the environments."""
    failed, differs = runner.last, bool(trial.found)
    if runner.on_good():
        carried = "with all of it carried over" if differs else "and nothing that can be carried over differs"
        return f"COMMAND works in GOOD and fails in BAD {carried}. What remains is {trial.remains[0]}."
    where = "here with all that GOOD has" if differs else "in BAD"
    return f"COMMAND fails {where} ({failed}), and in GOOD too. What remains is {trial.remains[1]}."


def _place(prefix: Path | None) -> str | None:
    """The temporary folder (None); the user's cache where only that is on the environment's disk, which may share
    blocks. TMPDIR is the user's word."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    if prefix is None or os.environ.get("TMPDIR") or not cache.is_dir() or not os.access(cache, os.W_OK):
        return None
    disk = prefix.stat().st_dev
    return str(cache) if Path(tempfile.gettempdir()).stat().st_dev != disk == cache.stat().st_dev else None


def _shown(change: Change, sides: tuple[str | None, str | None]) -> tuple[str | None, str | None]:
    good, bad = (raw if raw is None or change[0] != "variable" else secrets.variable(change[1], raw) for raw in sides)
    return good, bad


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _plural(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
