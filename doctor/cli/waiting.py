"""What is being done, on a line of stderr that goes away again; only where somebody watches."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import time
from collections.abc import Iterator

_QUIET_S = 2.0


def say(line: str) -> None:
    """Show this line in place of the last one."""
    if sys.stderr is not None and sys.stderr.isatty():
        width = min(shutil.get_terminal_size().columns, 101) - 1  # a line that wraps can't be taken away
        with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: while something else is being written
            sys.stderr.write(f"\r\x1b[K{line[: max(width, 1)]}")
            sys.stderr.flush()


def hush() -> None:
    """Take the line away."""
    say("")


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show what is being done, once it has taken two seconds, with the probes that run."""
    from doctor.system.child import at_work

    began = time.monotonic()

    def show(*_: object) -> None:
        probes = ", ".join(name.replace("_", " ") for name in at_work())
        say(f"{what}, {time.monotonic() - began:.0f} s{f': {probes}' if probes else ''}")
        signal.setitimer(signal.ITIMER_REAL, 1)

    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    before = signal.signal(signal.SIGALRM, show)
    signal.setitimer(signal.ITIMER_REAL, _QUIET_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        hush()
