"""Ends processes with all they started, and names those that the kernel does not let go.

A forked probe child tells its parent of each command's process group through `watcher`, so that the parent can end
commands whose probe hangs.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

watcher: Callable[[int, bool], None] | None = None
"""Called with (process group, began) around each command; set in forked children only."""

_SET_CHILD_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of linux/prctl.h."""
GRACE_S = 0.5
"""How long a killed process may take to go before it counts as stuck."""


class Stuck(NamedTuple):
    """A process that did not go on SIGKILL, and the kernel function that it waits in (`?` where that is hidden)."""

    pid: int
    wchan: str

    def __str__(self) -> str:
        return f"pid {self.pid} cannot be killed (waits in {self.wchan})"


def announce(group: int, began: bool) -> None:
    if watcher:
        watcher(group, began)


def kill_with_descendants(pid: int) -> None:
    """SIGKILL to the process, its group, and all descendants with their groups. `pid` must not be reaped yet."""
    for victim in [pid, *_descendants(pid, 4)]:
        kill_group(victim)
        _quietly(os.kill, victim)


def kill_descendants(pid: int) -> None:
    for victim in list(_descendants(pid, 4)):
        kill_group(victim)
        _quietly(os.kill, victim)


@contextlib.contextmanager
def keeping_orphans() -> Iterator[None]:
    """While it lasts, what a child's child leaves behind (a daemon in a session of its own) becomes ours, and is killed
    at the end. Linux alone; elsewhere such processes live on."""
    import ctypes

    before = set(_descendants(os.getpid(), 0))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        for orphan in set(_descendants(os.getpid(), 0)) - before:
            kill_with_descendants(orphan)
            if wait_for_exit(orphan, GRACE_S):
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(orphan, 0)
        libc.prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def kill_group(group: int) -> None:
    """SIGKILL to a process group, which may be gone."""
    _quietly(os.killpg, group)


def _quietly(send: Callable[[int, int], None], pid: int) -> None:
    try:
        send(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # gone already, or no longer ours (setuid): nothing left that we could do


def _descendants(pid: int, depth: int) -> Iterator[int]:
    """Children that the kernel lists; a process whose parent died belongs to init and is reached by its group only."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as listed:
            children = [int(word) for word in listed.read().split()]
    except (OSError, ValueError):
        return
    for child in children:
        yield child
        if depth:
            yield from _descendants(child, depth - 1)


def has_exited(pid: int) -> bool:
    """Whether a child of ours has ended; it stays unreaped, so its number and group are still its own."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def wait_for_exit(pid: int, seconds: float) -> bool:
    """Polls `has_exited`, because a wait for a process that is stuck in the kernel would not come back."""
    ends = time.monotonic() + seconds
    pause = 0.001
    while not has_exited(pid):
        if time.monotonic() >= ends:
            return False
        time.sleep(pause)
        pause = min(pause * 2, 0.02)
    return True


def stuck(pid: int) -> Stuck:
    """Names the kernel function that holds a process."""
    try:
        with open(f"/proc/{pid}/wchan", encoding="utf-8", errors="replace") as held:
            wchan = held.read(100).strip()
    except OSError:
        wchan = ""
    return Stuck(pid, wchan if wchan not in ("", "0") else "?")


def is_running(pid: int) -> bool:
    """Whether a process that is no child of ours is there and no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as held:
            return held.read(4096).rpartition(")")[2].split()[:1] not in (["Z"], ["X"])
    except OSError:
        return False


def resident_bytes(pid: int) -> int:
    """Memory of a process and its descendants, without pages that are files'; 0 where it is gone."""
    return sum(_resident(one) for one in (pid, *_descendants(pid, 4)))


def _resident(pid: int) -> int:
    """Shared pages are files' (a library of gigabytes) and the GPU's windows: no memory that runs out."""
    try:
        with open(f"/proc/{pid}/statm", encoding="utf-8") as held:
            words = held.read(200).split()
        return (int(words[1]) - int(words[2])) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
