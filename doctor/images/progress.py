"""Lines of BuildKit or buildah -> the steps of a build; what moved in each, and how long the rest takes.

How long is guessed from an earlier build's steps, or for a first one from the sizes in the lock, and corrected by the
pace of the steps that have ended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_BEGUN = re.compile(r"#(\d{1,5}) (\[.{1,300}\].*|(?:exporting|importing|sending|writing).{0,200})$")
_DONE = re.compile(r"#(\d{1,5}) DONE (\d{1,6}\.\d)s$")
_CACHED = re.compile(r"#(\d{1,5}) CACHED$")
_LINE = re.compile(r"#(\d{1,5}) (?:\d{1,6}\.\d{1,4} )?(.*)$")
_BUILDAH = re.compile(r"(?:\[(\d{1,3})/(\d{1,3})\] )?STEP (\d{1,4})/(\d{1,4}): (.{1,2000})$")
_COUNT = re.compile(r"\[(?P<stage>[\w.-]{1,80} )?(?P<at>\d{1,4})/(?P<of>\d{1,4})\]")
_MOVED = re.compile(
    r"(?:sha256:[0-9a-f]{12,64} |transferring [\w.-]{1,80}: |Need to get |Downloading \S{1,200} \()"
    r"(?P<number>\d{1,6}(?:[.,]\d{1,3})?) ?(?P<unit>[kMG]?B)\b"
)
_UNIT = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_KEPT = 25
_DIGEST = re.compile(r"@?sha256:[0-9a-f]{64}|--(?:mount|network)=\S+\s*")
_PACE = (0.3, 4.0)
_SURE_S = 5.0


@dataclass
class Step:
    """`seconds` None while it runs; `moved`: bytes downloaded or sent in it; `lines`: its last ones."""

    name: str
    seconds: float | None = None
    cached: bool = False
    begun: float = 0.0
    moved: int = 0
    parts: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        """Its name without what differs from build to build."""
        return _DIGEST.sub("", self.name)

    def said(self, text: str) -> None:
        self.lines.append(text)
        del self.lines[:-_KEPT]
        if found := _MOVED.match(text.strip()):
            # A layer says again and again how far it is; each other line is a file of its own.
            what = text.strip().split(" ")[0] if text.lstrip().startswith("sha256:") else text.strip()
            self.parts[what] = int(float(found["number"].replace(",", "")) * _UNIT[found["unit"]])
            self.moved = sum(self.parts.values())


@dataclass(frozen=True)
class Outlook:
    """How far a build is. `of` and `left_s`: None where nothing tells; `written`: bytes of the archive so far."""

    done: int
    of: int | None
    left_s: float | None
    written: int = 0


Progress = Callable[["Step | None", Outlook], None]
"""Told of a step that begins or ends, and of None each second in between."""


class Steps:
    """The steps of one build. `expected`: part of a step's key → seconds; {} where nothing is known beforehand."""

    def __init__(self, expected: Mapping[str, float], whole: bool) -> None:
        self.rows: dict[str, Step] = {}
        self.expected = dict(expected)
        self.whole = whole
        """Whether `expected` names all steps, and not only those that take long."""

    def buildkit(self, text: str, now: float) -> tuple[Step, ...]:
        """The step that begins or ends with a line; () for a line of its output."""
        if (done := _DONE.match(text)) and (step := self.rows.get(done[1])):
            step.seconds = float(done[2])
            return (step,)
        if (cached := _CACHED.match(text)) and (step := self.rows.get(cached[1])):
            step.cached, step.seconds = True, 0.0
            return (step,)
        if (begun := _BEGUN.match(text)) and begun[1] not in self.rows:
            self.rows[begun[1]] = Step(begun[2], begun=now)
            return (self.rows[begun[1]],)
        if (line := _LINE.match(text)) and line[1] in self.rows:
            self.rows[line[1]].said(line[2])
        return ()

    def buildah(self, text: str, now: float) -> tuple[Step, ...]:
        """Its stages come one after another: a step ends where the next begins, and both are told."""
        found = _BUILDAH.match(text)
        last = next(reversed(self.rows.values()), None)
        if found is None:
            if last:
                last.said(text)
            return ()
        if last and last.seconds is None:
            last.seconds = round(now - last.begun, 1)
        stage = f"stage {found[1]} " if found[1] else ""
        step = Step(f"[{stage}{found[3]}/{found[4]}] {found[5]}", begun=now)
        self.rows[str(len(self.rows))] = step
        return (last, step) if last else (step,)

    def end(self, now: float) -> None:
        for step in self.rows.values():
            if step.seconds is None:
                step.seconds = round(now - step.begun, 1)

    def outlook(self, now: float, written: int = 0) -> Outlook:
        done = sum(1 for s in self.rows.values() if s.seconds is not None)
        return Outlook(done, self._total(), self._left(now), written)

    def _total(self) -> int | None:
        """Of an earlier build; else as the names count: `[os 1/2]`. The export is one more."""
        if self.whole:
            return max(len(self.expected), len(self.rows))
        counted: dict[str, int] = {}
        others = 0
        for step in self.rows.values():
            if found := _COUNT.match(step.name):
                counted[found["stage"] or ""] = int(found["of"])
            else:
                others += 1
        return sum(counted.values()) + others + (0 if "exporting" in self.text() else 1) if counted else None

    def text(self) -> str:
        return "\n".join(s.name for s in self.rows.values())

    def _left(self, now: float) -> float | None:
        if not self.expected:
            return None
        rest, planned, took = dict(self.expected), 0.0, 0.0
        running = 0.0
        for step in self.rows.values():
            key = next((k for k in rest if k in step.key), None)
            if key is None:
                continue
            wanted = rest.pop(key)
            if step.seconds is None:
                running += max(wanted - (now - step.begun), 0.0)
            elif not step.cached:
                planned, took = planned + wanted, took + step.seconds
        pace = min(max(took / planned, _PACE[0]), _PACE[1]) if planned >= _SURE_S else 1.0
        return running * pace + sum(rest.values()) * pace


def earlier(steps: list[Step]) -> dict[str, float]:
    """What the next build of the same expects. A step from a cache says nothing of how long it takes without."""
    return {s.key: s.seconds or 0.0 for s in steps if not s.cached}


def unpacked(wheel_bytes: int) -> float:
    """Bytes of an image with wheels of that size on a plain base."""
    return 200e6 + 2.1 * wheel_bytes


def guessed(wheel_bytes: int, compression: str) -> dict[str, float]:
    """For a first build: the steps that take long, by the rates of docs/images.md (two cores, 20 MB/s of wheels fetched
    and installed, which become twice as large; 12 MB/s compressed by zstd, a third of it by gzip)."""
    rate = 12e6 if compression == "zstd" else 4e6
    return {
        "install.sh runtime.txt": 30.0,
        "install.sh build.txt": 12.0,
        " -m venv ": 8.0,
        "requirements": 15.0 + wheel_bytes / 20e6,
        "exporting": 5.0 + unpacked(wheel_bytes) / rate,
    }


def words(outlook: Outlook) -> str:
    """`4 of 19, about 12 min left`"""
    counted = f"{outlook.done} of {outlook.of}" if outlook.of else f"{outlook.done} done"
    if outlook.left_s is None:
        return counted
    if outlook.left_s < 60:
        return f"{counted}, less than a minute left"
    return f"{counted}, about {outlook.left_s / 60:.0f} min left"


def size(number: int) -> str:
    """
    >>> size(2_944_424_777), size(63_500_000)
    ('2.9 GB', '64 MB')
    """
    return f"{number / 1e9:.1f} GB" if number >= 10**9 else f"{number / 1e6:.0f} MB"
