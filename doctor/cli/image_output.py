"""What `doctor image build` says while it builds."""

from __future__ import annotations

import re

from doctor.cli.output import tell
from doctor.images.progress import Step, size
from doctor.parsers.lib.printable import clean


class ProgressOutput:
    """Steps as they begin and end, a line each, and on a terminal one that changes each
    second; without a terminal one each half minute, so that a long step is not silence."""

    _QUIET_S = 30

    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal
        self.running: Step | None = None
        self.waited = 0

    def __call__(self, step: Step | None, written: int) -> None:
        if step is not None and step.seconds is not None:
            self.waited = 0
            moved = f", {size(step.moved)}" if step.moved >= 500_000 else ""
            took = "cached" if step.cached else f"{step.seconds:.1f} s"
            start = "\r\x1b[K" if self.terminal else ""
            tell(f"{start}{took:>8}  {_named(step)}{moved}\n")
            self.running = None if step is self.running else self.running
            return
        self.running = step or self.running
        self.waited += step is None
        if self.running is None or not (self.terminal or (self.waited and self.waited % self._QUIET_S == 0)):
            return
        amount = written or self.running.moved
        line = f"… {_named(self.running)}{f', {size(amount)}' if amount else ''}"
        tell(f"\r\x1b[K{line}" if self.terminal else f"{line}\n")

    def end(self) -> None:
        if self.terminal:
            tell("\r\x1b[K")


def _named(step: Step) -> str:
    return clean(re.sub(r"--(?:mount|network)=\S+\s*", "", step.name))[:100]
