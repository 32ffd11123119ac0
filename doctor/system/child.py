"""Runs jobs side by side in forked children, so that none of them can stop the others or us.

What a child sends arrives as it is learnt (JSON lines over a pipe), so a job that hangs loses only what it had not said
yet. At the deadline a child is killed with everything it started; one that the kernel holds is named and left.
Call it from a process with one thread.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import selectors
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from doctor.system import processes

Send = Callable[[Any], None]
"""Hands plain JSON data to the parent at once. Raises ValueError where it is no such data or too much."""
OnMessage = Callable[[str, Any], None]

MESSAGE_LIMIT = 8 << 20
"""Bytes of one message."""
_FIRST_FREE_DESCRIPTOR = 10
"""Pipes live above, since 0, 1 and 2 are replaced in the child and may have been closed in us."""


@dataclass(frozen=True)
class Job:
    """A piece of work and the name that its messages and its outcome carry."""

    name: str
    work: Callable[[Send], None]


@dataclass(frozen=True)
class Outcome:
    """How a job ended. `stuck` are processes that could not be killed."""

    name: str
    state: Literal["finished", "timed-out", "crashed"]
    reason: str | None
    seconds: float
    stuck: tuple[processes.Stuck, ...] = ()


@dataclass
class _Child:
    """The parent's view of one child."""

    job: Job
    pid: int
    descriptor: int
    began: float
    buffer: bytearray = field(default_factory=bytearray)
    groups: set[int] = field(default_factory=set)
    state: Literal["finished", "timed-out", "crashed"] | None = None
    reason: str | None = None
    seconds: float = 0.0

    def end(self, state: Literal["finished", "timed-out", "crashed"], reason: str | None = None) -> None:
        if self.state is None:
            self.state, self.reason, self.seconds = state, reason, round(time.monotonic() - self.began, 3)

    def kill(self) -> None:
        processes.kill_with_descendants(self.pid)
        for group in self.groups:
            processes.kill_group(group)


def run_side_by_side(
    jobs: Sequence[Job], deadline_s: float, on_message: OnMessage, meanwhile: Callable[[], object] | None = None
) -> list[Outcome]:
    """All jobs at once, at most `deadline_s` seconds (and half a second for the killing); outcomes in the order of
    `jobs`. `on_message(name, data)` is called in this process for each message; `meanwhile` once, here, while the
    jobs run. On Ctrl-C, or when one of both raises, the children are killed and the exception goes on."""
    children: list[_Child] = []
    try:
        _start_all(jobs, children)
        ends = time.monotonic() + deadline_s
        if meanwhile:
            meanwhile()
        _listen(children, ends, on_message)
    finally:
        for child in children:
            child.end("timed-out", f"not done within {deadline_s:g} s")
            child.kill()
            os.close(child.descriptor)
        stuck = _reap(children)
    return [Outcome(c.job.name, c.state or "timed-out", c.reason, c.seconds, stuck.get(c.pid, ())) for c in children]


def _start_all(jobs: Sequence[Job], children: list[_Child]) -> None:
    gc.freeze()  # a collection in a child would copy every page that we share with it
    # A signal between a fork and its being noted would leave a child that nobody kills; a child unblocks its own.
    held = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        for job in jobs:
            children.append(_start(job, [c.descriptor for c in children]))
    finally:
        gc.unfreeze()
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _start(job: Job, others: Sequence[int]) -> _Child:
    reading, writing = os.pipe()
    high = fcntl.fcntl(writing, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_DESCRIPTOR)
    os.close(writing)
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _child_main(job, high, [reading, *others])
    os.close(high)
    return _Child(job, pid, reading, began)


def _child_main(job: Job, pipe: int, foreign: Sequence[int]) -> NoReturn:
    """Everything that the child does. Leaves with os._exit, so that nothing of the parent's runs twice."""
    try:
        _settle(foreign)
        processes.watcher = lambda group, began: _write(pipe, {"group": group, "began": began})
        job.work(lambda data: _write(pipe, {"data": data}))
        _write(pipe, {"done": True})
    except BaseException as error:  # noqa: BLE001  whatever it is, the parent is told and the child ends
        _tell_crash(pipe, error)
    finally:
        os._exit(0)


def _settle(foreign: Sequence[int]) -> None:
    """A session of its own, default signals, no descriptor of the parent's, and nothing that could write to its
    terminal."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for descriptor in foreign:
        os.close(descriptor)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def _write(pipe: int, message: dict[str, Any]) -> None:
    try:
        line = json.dumps(message).encode() + b"\n"
    except (TypeError, RecursionError) as error:
        raise ValueError(f"no plain data: {error}") from None
    if len(line) > MESSAGE_LIMIT:
        raise ValueError(f"a message of {len(line)} bytes; the limit is {MESSAGE_LIMIT}")
    view = memoryview(line)
    while view:
        view = view[os.write(pipe, view) :]


def _tell_crash(pipe: int, error: BaseException) -> None:
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})" if trace else ""
    try:
        _write(pipe, {"crash": f"{type(error).__name__}: {error}"[:300] + place})
    except (OSError, ValueError):
        return  # the parent is gone


def _listen(children: Sequence[_Child], ends: float, on_message: OnMessage) -> None:
    with selectors.DefaultSelector() as selector:
        for child in children:
            selector.register(child.descriptor, selectors.EVENT_READ, child)
        while selector.get_map() and (left := ends - time.monotonic()) > 0:
            for item, _ in selector.select(left):
                child = item.data
                part = os.read(child.descriptor, 1 << 18)
                child.buffer += part
                _take_lines(child, on_message)
                if not part:
                    child.end("crashed", _death(child.pid))
                if child.state:
                    selector.unregister(child.descriptor)


def _take_lines(child: _Child, on_message: OnMessage) -> None:
    *lines, rest = child.buffer.split(b"\n")
    child.buffer = bytearray(rest)
    for line in lines:
        message = json.loads(line)
        if "data" in message:
            on_message(child.job.name, message["data"])
        elif "group" in message:
            (child.groups.add if message["began"] else child.groups.discard)(message["group"])
        elif "crash" in message:
            child.end("crashed", message["crash"])
        else:
            child.end("finished")
    if len(child.buffer) > MESSAGE_LIMIT:
        child.end("crashed", f"a message of more than {MESSAGE_LIMIT} bytes")


def _death(pid: int) -> str:
    """Why a child went without a word."""
    processes.wait_for_exit(pid, 0.1)
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return "went silent"
    if ended.si_code == os.CLD_EXITED:
        return f"ended with code {ended.si_status}"
    return f"killed by {signal.Signals(ended.si_status).name}"


def _reap(children: Sequence[_Child]) -> dict[int, tuple[processes.Stuck, ...]]:
    """Takes leave of all children within GRACE_S together. What stays is returned by the child's pid: the child itself,
    and commands of its that were under way."""
    ends = time.monotonic() + processes.GRACE_S
    left: dict[int, tuple[processes.Stuck, ...]] = {}
    for child in children:
        held = [processes.stuck(group) for group in sorted(child.groups) if _stays(group, ends)]
        if processes.wait_for_exit(child.pid, ends - time.monotonic()):
            os.waitpid(child.pid, 0)
        else:
            held.append(processes.stuck(child.pid))
        left[child.pid] = tuple(held)
    return left


def _stays(pid: int, ends: float) -> bool:
    while processes.is_running(pid):
        if time.monotonic() >= ends:
            return True
        time.sleep(0.005)
    return False
