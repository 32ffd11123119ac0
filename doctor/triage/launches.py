"""Scripts and typed commands of a text that set variables and start programs elsewhere: sudo, containers, srun.

A fence without prompts is one script. What was typed behind one prompt is a session, without what it printed, and ends
where a command opens another shell.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.triage.fragments import Fragment

MOST = 20
_LONGEST = 60_000
_SETS = re.compile(r"\b[A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{1,60}\s?=")
_LAUNCHERS = re.compile(
    r"\b(?:sudo|su|env -i|docker|podman|nerdctl|kubectl|apptainer|singularity|ssh|srun|sbatch|mpirun|mpiexec|deepspeed"
    r"|ray|systemd-run|RUN export)\b|^\[(?:Unit|Service|Install)\]|_[A-Z]+ = ",
    re.MULTILINE,
)
_OPENS = re.compile(
    r"\s*(?:sudo\s+)?(?:docker|podman|nerdctl|kubectl|ssh|su|bash|sh|zsh|srun|tmux|screen|apptainer)\b|sudo -"
)
"""It may open a shell: what is typed next may be typed there."""


class Script(NamedTuple):
    first: int
    """Line of the text on which it begins."""
    text: str


class Scripts:
    def __init__(self) -> None:
        self.found: list[Script] = []
        self._first = self._next = 0
        self._prompt = ""
        self._lines: list[str] = []

    def take(self, fragment: Fragment) -> None:
        apart = fragment.first > self._next
        self._next = fragment.first + len(fragment.lines)
        output = bool(fragment.command) and not fragment.typed
        if apart or (not output and fragment.prompt != self._prompt):
            self.close()
        if output and (self._prompt or not self._lines):
            if fragment.command.startswith("cat "):
                self._keep(fragment.first, fragment.text)
            return
        if fragment.fenced or fragment.typed:
            self._first, self._prompt = (self._first if self._lines else fragment.first), fragment.prompt
            self._lines += [*[""] * (fragment.first - self._first - len(self._lines)), *fragment.lines]
        if fragment.prompt and _OPENS.match(fragment.text):
            self.close()

    def close(self) -> None:
        if self._lines:
            self._keep(self._first, "\n".join(self._lines))
        self._lines = []

    def _keep(self, first: int, text: str) -> None:
        if len(self.found) < MOST and len(text) < _LONGEST and _SETS.search(text) and _LAUNCHERS.search(text):
            self.found.append(Script(first, text))
