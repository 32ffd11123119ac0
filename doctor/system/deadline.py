"""Runs one blocking piece of work under a deadline.

In the main thread a timer signal interrupts the system call that hangs; probes run in forked children with one thread,
so that is the usual case. In another thread the work goes on in a daemon thread that is left behind. A call that hangs
in the kernel without listening to signals is not interrupted: child.py ends the whole child then.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class TimedOut(Exception):
    """The work was not done in time."""


def within(seconds: float, work: Callable[[], T]) -> T:
    """The result of `work`, or TimedOut. What `work` raises is passed on."""
    if threading.current_thread() is threading.main_thread():
        return _by_signal(seconds, work)
    return _by_thread(seconds, work)


def _by_signal(seconds: float, work: Callable[[], T]) -> T:
    armed = True

    def expire(_signal: int, _frame: Any) -> None:
        if armed:  # a signal that was under way when the work ended must not hit what comes next
            raise TimedOut(f"{seconds:g} s")

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, expire)
    left, _ = signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        return work()
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:  # an outer deadline goes on
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 0.001))


def _by_thread(seconds: float, work: Callable[[], T]) -> T:
    results: list[T] = []
    errors: list[BaseException] = []

    def target() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001  whatever it is, it is raised in the asking thread
            errors.append(error)

    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimedOut(f"{seconds:g} s")
    return results[0]
