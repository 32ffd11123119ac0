"""Lines of BuildKit or buildah -> the steps of a build, and what moved in each."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

_BEGUN = re.compile(r"#(\d{1,5}) (\[.{1,300}\].*|(?:exporting|importing|sending|writing).{0,200})$")
_DONE = re.compile(r"#(\d{1,5}) DONE (\d{1,6}\.\d)s$")
_CACHED = re.compile(r"#(\d{1,5}) CACHED$")
_LINE = re.compile(r"#(\d{1,5}) (?:\d{1,6}\.\d{1,4} )?(.*)$")
_BUILDAH = re.compile(r"(?:\[(\d{1,3})/(\d{1,3})\] )?STEP (\d{1,4})/(\d{1,4}): (.{1,2000})$")
_MOVED = re.compile(
    r"(?:sha256:[0-9a-f]{12,64} |transferring [\w.-]{1,80}: |Need to get |Downloading \S{1,200} \()"
    r"(?P<number>\d{1,6}(?:[.,]\d{1,3})?) ?(?P<unit>[kMG]?B)\b"
)
_UNIT = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_KEPT = 25


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

    def add(self, text: str) -> None:
        self.lines.append(text)
        del self.lines[:-_KEPT]
        if found := _MOVED.match(text.strip()):
            # A layer says again and again how far it is; each other line is a file of its own.
            what = text.strip().split(" ")[0] if text.lstrip().startswith("sha256:") else text.strip()
            self.parts[what] = int(float(found["number"].replace(",", "")) * _UNIT[found["unit"]])
            self.moved = sum(self.parts.values())


Progress = Callable[["Step | None", int], None]
"""Called when a step begins or ends, and with None each second; with the bytes of the archive so far."""


class Steps:
    def __init__(self) -> None:
        self.rows: dict[str, Step] = {}

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
            self.rows[line[1]].add(line[2])
        return ()

    def buildah(self, text: str, now: float) -> tuple[Step, ...]:
        """Its stages come one after another: a step ends where the next begins."""
        found = _BUILDAH.match(text)
        last = next(reversed(self.rows.values()), None)
        if found is None:
            if last:
                last.add(text)
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


def size(number: int) -> str:
    """
    >>> size(2_944_424_777), size(63_500_000)
    ('2.9 GB', '64 MB')
    """
    return f"{number / 1e9:.1f} GB" if number >= 10**9 else f"{number / 1e6:.0f} MB"
