"""Runs jobs side by side in forked children, so that none of them can stop the others or us.

A few children take the jobs from one queue; another is started as soon as none of them gets on, so jobs that hang hold
nobody up, and jobs that do not cost no process each. What a job sends arrives as it is learnt (JSON lines over a pipe):
one that hangs loses only what it had not sent. At the deadline a child is killed with everything it started; one
that the kernel holds is named and left. Call it from a process with one thread.
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
class _Task:
    """A job on its way."""

    job: Job
    began: float | None = None
    state: Literal["finished", "timed-out", "crashed"] | None = None
    reason: str | None = None
    seconds: float = 0.0
    pid: int = 0
    """Of the child that took it; 0 until one has."""

    @property
    def overdue(self) -> bool:
        """Its child was at it when the time was up."""
        return self.state == "timed-out"

    def end(self, state: Literal["finished", "timed-out", "crashed"], reason: str | None = None) -> None:
        if self.state is None:
            self.state, self.reason = state, reason
            self.seconds = round(time.monotonic() - self.began, 3) if self.began is not None else 0.0


@dataclass
class _Child:
    """The parent's view of one child."""

    pid: int
    descriptor: int
    buffer: bytearray = field(default_factory=bytearray)
    groups: set[int] = field(default_factory=set)
    task: _Task | None = None
    """What it works at."""

    def kill(self) -> None:
        processes.kill_with_descendants(self.pid)
        for group in self.groups:
            processes.kill_group(group)


_tasks: list[_Task] = []


def at_work() -> list[str]:
    """The jobs that run now."""
    return [task.job.name for task in _tasks if task.began is not None and task.state is None]


def run_side_by_side(
    jobs: Sequence[Job], deadline_s: float, on_message: OnMessage, meanwhile: Callable[[], object] | None = None
) -> list[Outcome]:
    """All jobs, at most `deadline_s` seconds (and half a second for the killing); outcomes in the order of `jobs`.
    `on_message(name, data)` is called in this process for each message; `meanwhile` once, here, while the jobs run.
    On Ctrl-C, or when one of both raises, the children are killed and the exception goes on."""
    pool = _Pool([_Task(job) for job in jobs], on_message, deadline_s / (4 * max(1, len(jobs))))
    _tasks[:] = pool.tasks
    try:
        ends = time.monotonic() + deadline_s
        pool.start(min(len(jobs), _at_first()))
        if meanwhile:
            meanwhile()
        pool.listen(ends)
    finally:
        for task in pool.tasks:
            begun = "not done" if task.began is not None else "not begun, since others hung,"
            task.end("timed-out", f"{begun} within {deadline_s:g} s")
        stuck = pool.close()
    return [
        Outcome(t.job.name, t.state or "timed-out", t.reason, t.seconds, stuck.get(t.pid, ()) if t.overdue else ())
        for t in pool.tasks
    ]


def _at_first() -> int:
    """Children beyond the processors only take time from each other; one more works while another waits."""
    return len(os.sched_getaffinity(0)) + 1


class _Pool:
    """Children that take tasks from a queue: a pipe that holds their numbers, a byte each."""

    def __init__(self, tasks: list[_Task], on_message: OnMessage, patience_s: float) -> None:
        self.tasks, self.on_message, self.patience_s = tasks, on_message, patience_s
        self.children: list[_Child] = []
        self.progressed = time.monotonic()
        self.queue, filled = os.pipe()
        os.write(filled, bytes(range(len(tasks))))
        os.close(filled)

    def start(self, number: int) -> None:
        gc.freeze()  # a collection in a child would copy every page that we share with it
        # A signal between a fork and its being noted would leave a child that nobody kills; a child unblocks its own.
        held = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        try:
            for _ in range(number):
                self.children.append(self._fork())
        finally:
            gc.unfreeze()
            signal.pthread_sigmask(signal.SIG_SETMASK, held)

    def _fork(self) -> _Child:
        reading, writing = os.pipe()
        high = fcntl.fcntl(writing, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_DESCRIPTOR)
        os.close(writing)
        queue = fcntl.fcntl(self.queue, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_DESCRIPTOR)
        pid = os.fork()
        if pid == 0:
            foreign = [reading, self.queue, *(c.descriptor for c in self.children if c.descriptor >= 0)]
            _child_main([task.job for task in self.tasks], queue, high, foreign)
        os.close(high)
        os.close(queue)
        return _Child(pid, reading)

    def listen(self, ends: float) -> None:
        with selectors.DefaultSelector() as selector:
            listened = 0
            while any(task.state is None for task in self.tasks) and (left := ends - time.monotonic()) > 0:
                for child in self.children[listened:]:
                    selector.register(child.descriptor, selectors.EVENT_READ, child)
                listened = len(self.children)
                for item, _ in selector.select(min(left, self.patience_s)):
                    if not self._hear(item.data):
                        selector.unregister(item.fd)
                self._grow(bool(selector.get_map()))

    def _grow(self, any_left: bool) -> None:
        """Another child where the others do not get on, or are gone, and a task waits."""
        waits = any(task.began is None and task.state is None for task in self.tasks)
        stalled = time.monotonic() - self.progressed > self.patience_s
        if waits and (stalled or not any_left) and len(self.children) < 2 * len(self.tasks):
            self.start(1)
            self.progressed = time.monotonic()
        elif not waits and not any_left:
            for task in self.tasks:
                task.end("crashed", "its process went silent")

    def _hear(self, child: _Child) -> bool:
        """Whether the child goes on."""
        part = os.read(child.descriptor, 1 << 18)
        child.buffer += part
        self._take_lines(child)
        if not part and child.task is not None:
            child.task.end("crashed", _death(child.pid))
        return bool(part)

    def _take_lines(self, child: _Child) -> None:
        *lines, rest = child.buffer.split(b"\n")
        child.buffer = bytearray(rest)
        for line in lines:
            self._take(child, json.loads(line))
        if len(child.buffer) > MESSAGE_LIMIT and child.task is not None:
            child.task.end("crashed", f"a message of more than {MESSAGE_LIMIT} bytes")

    def _take(self, child: _Child, message: dict[str, Any]) -> None:
        if "begins" in message:
            task = child.task = self.tasks[message["begins"]]
            task.began, task.pid = time.monotonic(), child.pid
            self.progressed = task.began
        elif "group" in message:
            (child.groups.add if message["began"] else child.groups.discard)(message["group"])
        elif child.task is None:
            return
        elif "data" in message:
            self.on_message(child.task.job.name, message["data"])
        else:
            child.task.end("crashed" if "crash" in message else "finished", message.get("crash"))
            child.task, self.progressed = None, time.monotonic()

    def close(self) -> dict[int, tuple[processes.Stuck, ...]]:
        """Kills what still runs, and takes leave of all; what can't be killed, by the child's pid."""
        os.close(self.queue)
        for child in self.children:
            child.kill()
            os.close(child.descriptor)
        return _reap(self.children)


def _child_main(jobs: Sequence[Job], queue: int, pipe: int, foreign: Sequence[int]) -> NoReturn:
    """Everything that the child does. Leaves with os._exit, so that nothing of the parent's runs twice."""
    try:
        _settle(foreign)
        processes.watcher = lambda group, began: _write(pipe, {"group": group, "began": began})
        while number := os.read(queue, 1):
            _write(pipe, {"begins": number[0]})
            jobs[number[0]].work(lambda data: _write(pipe, {"data": data}))
            signal.setitimer(signal.ITIMER_REAL, 0)
            _write(pipe, {"done": True})
    except BaseException as error:  # noqa: BLE001  whatever it is, the parent gets it and the child ends
        _tell_crash(pipe, error)
    finally:
        os._exit(0)


def _settle(foreign: Sequence[int]) -> None:
    """A session of its own, default signals, no descriptor of the parent's, and nothing that could write to its
    terminal."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGCHLD, signal.SIGPIPE):
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
